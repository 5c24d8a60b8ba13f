// Aleatoric × epistemic, or any two numbers: density on a canvas, brushed to select; or a reliability diagram.

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { columnOf, contextOf, maskOf, numeric, titleOf, wrong } from "./cases";
import { ClassChoice, Count, Select } from "./count";
import { R, meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { Reliability } from "./reliability";
import { codesOfRange, equals, remembered, rowsIn, withoutKeys } from "./selection";
import { go, meaning, now as current, select, state } from "./state";
import type { Column } from "./types";

const BINS = 64;
const EDGE = 40;
const MARGIN = { left: 46, bottom: 34, top: 6, right: 6 };

export interface Scale {
  low: number;
  high: number;
  root: boolean;
}

/** Square roots where all is positive and most is near 0, as uncertainty is. */
function scaleOf(column: Column): Scale {
  const low = column.edges[0];
  const high = column.edges[column.edges.length - 1];
  const root = low >= 0 && /^(total|aleatoric|epistemic)/.test(column.name);
  return { low: root ? 0 : low, high: high > low ? high : low + 1, root };
}

function toUnit({ low, high, root }: Scale, x: number): number {
  const unit = Math.min(Math.max((x - low) / (high - low), 0), 1);
  return root ? Math.sqrt(unit) : unit;
}

function fromUnit({ low, high, root }: Scale, u: number): number {
  const unit = Math.min(Math.max(u, 0), 1);
  return low + (high - low) * (root ? unit * unit : unit);
}

function ticksOf(scale: Scale): number[] {
  const span = scale.high - scale.low;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= 5) ?? power;
  const found: number[] = [];
  for (let i = Math.ceil(scale.low / step); i * step <= scale.high + 1e-9 * span; i++)
    found.push(i * step);
  return found;
}

function binOfCodes(column: Column, scale: Scale): Uint8Array {
  const bins = new Uint8Array(65536).fill(255);
  column.centers.forEach((center, code) => {
    bins[code] = Math.min(Math.floor(toUnit(scale, center) * BINS), BINS - 1);
  });
  return bins;
}

const axes = computed<[string, string]>(() => [current.x, current.y]);

interface Density {
  x: Column;
  y: Column;
  sx: Scale;
  sy: Scale;
  here: Float64Array;
  wrong: Float64Array;
  all: Float64Array;
}

const everywhere = computed(() => {
  const mask = maskOf([]);
  return mask === null ? null : densityOf(mask);
});
const context = contextOf(() => axes.value);

export const density = computed<Density | null>(() => {
  const mask = context.value;
  const background = everywhere.value;
  const found = mask === null ? null : densityOf(mask);
  return found === null || background === null ? null : { ...found, all: background.here };
});

function densityOf(mask: Uint8Array): Density | null {
  const [kx, ky] = axes.value;
  return remembered(mask, `map ${kx} ${ky}`, () => countDensity(mask, columnOf(kx), columnOf(ky)));
}

function countDensity(mask: Uint8Array, x: Column | null, y: Column | null): Density | null {
  if (!x || !y || x.kind !== "number" || y.kind !== "number") return null;
  const errors = meta.labelled ? wrong.value : null;
  if (meta.labelled && errors === null) return null;
  const [sx, sy] = [scaleOf(x), scaleOf(y)];
  const [bx, by] = [binOfCodes(x, sx), binOfCodes(y, sy)];
  const here = new Float64Array(BINS * BINS);
  const wrongs = new Float64Array(BINS * BINS);
  const [cx, cy, e] = [x.codes, y.codes, errors?.codes];
  const rows = rowsIn(mask);
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    const u = bx[cx[i]];
    const v = by[cy[i]];
    if (u === 255 || v === 255) continue;
    here[v * BINS + u]++;
    if (e !== undefined && e[i] === 1) wrongs[v * BINS + u]++;
  }
  return { x, y, sx, sy, here, wrong: wrongs, all: here };
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

function plotBox(width: number, height: number): Box {
  return {
    left: MARGIN.left,
    top: MARGIN.top + EDGE,
    width: width - MARGIN.left - MARGIN.right - EDGE,
    height: height - MARGIN.top - MARGIN.bottom - EDGE,
  };
}

function colors(): Record<string, string> {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "soft", "line", "paper", "right", "wrong", "brush"];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue("--" + name).trim()]),
  );
}

function draw(canvas: HTMLCanvasElement, found: Density): void {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width < 80 || height < 80) return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(ratio, ratio);
  const color = colors();
  const box = plotBox(width, height);
  context.clearRect(0, 0, width, height);
  drawAxes(context, found, box, color);
  drawCells(context, found, box, color);
  drawEdges(context, found, box, color);
}

function drawAxes(
  context: CanvasRenderingContext2D,
  found: Density,
  box: Box,
  color: Record<string, string>,
): void {
  context.font = "11px system-ui, sans-serif";
  context.strokeStyle = color.line;
  context.fillStyle = color.soft;
  context.lineWidth = 1;
  context.textAlign = "center";
  context.textBaseline = "top";
  const bottom = box.top + box.height;
  let last = -Infinity;
  for (const tick of ticksOf(found.sx)) {
    const x = Math.round(box.left + toUnit(found.sx, tick) * box.width) + 0.5;
    line(context, x, box.top, x, bottom);
    if (x - last > 26) {
      context.fillText(format.number(tick), x, bottom + 4);
      last = x;
    }
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  last = Infinity;
  for (const tick of ticksOf(found.sy)) {
    const y = Math.round(bottom - toUnit(found.sy, tick) * box.height) + 0.5;
    line(context, box.left, y, box.left + box.width, y);
    if (last - y > 14) {
      context.fillText(format.number(tick), box.left - 6, y);
      last = y;
    }
  }
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillStyle = color.ink;
  context.fillText(
    `${shortTitle(state.peek().x)} →`,
    box.left + box.width / 2,
    bottom + MARGIN.bottom - 1,
  );
  context.save();
  context.translate(11, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(`${shortTitle(state.peek().y)} →`, 0, 5);
  context.restore();
}

function shortTitle(key: string): string {
  const title = titleOf(key);
  return title.length > 44 ? title.slice(0, 43) + "…" : title;
}

function line(
  context: CanvasRenderingContext2D,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/** All cases faint, those counted here by density; wrong ones as a square whose area is their share. */
function drawCells(
  context: CanvasRenderingContext2D,
  found: Density,
  box: Box,
  color: Record<string, string>,
): void {
  const [w, h] = [box.width / BINS, box.height / BINS];
  let [most, mostAll] = [1, 1];
  for (let i = 0; i < BINS * BINS; i++) {
    most = Math.max(most, found.here[i]);
    mostAll = Math.max(mostAll, found.all[i]);
  }
  for (let v = 0; v < BINS; v++) {
    for (let u = 0; u < BINS; u++) {
      const at = v * BINS + u;
      if (found.all[at] === 0) continue;
      const x = box.left + u * w;
      const y = box.top + box.height - (v + 1) * h;
      const n = found.here[at];
      if (n === 0) {
        context.globalAlpha = 0.12 + (0.2 * Math.log1p(found.all[at])) / Math.log1p(mostAll);
        context.fillStyle = color.soft;
        context.fillRect(x + w * 0.3, y + h * 0.3, Math.max(w * 0.4, 1), Math.max(h * 0.4, 1));
        continue;
      }
      const strength = 0.22 + (0.73 * Math.log1p(n)) / Math.log1p(most);
      context.globalAlpha = strength;
      context.fillStyle = color.right;
      context.fillRect(x, y, w + 0.4, h + 0.4);
      const share = found.wrong[at] / n;
      if (share > 0) {
        const side = Math.sqrt(share);
        context.globalAlpha = Math.max(strength, 0.75);
        context.fillStyle = color.wrong;
        context.fillRect(x + (w * (1 - side)) / 2, y + (h * (1 - side)) / 2, w * side, h * side);
      }
    }
  }
  context.globalAlpha = 1;
}

function drawEdges(
  context: CanvasRenderingContext2D,
  found: Density,
  box: Box,
  color: Record<string, string>,
): void {
  const [byX, byY] = [new Float64Array(BINS), new Float64Array(BINS)];
  const [wrongX, wrongY] = [new Float64Array(BINS), new Float64Array(BINS)];
  for (let v = 0; v < BINS; v++) {
    for (let u = 0; u < BINS; u++) {
      byX[u] += found.here[v * BINS + u];
      byY[v] += found.here[v * BINS + u];
      wrongX[u] += found.wrong[v * BINS + u];
      wrongY[v] += found.wrong[v * BINS + u];
    }
  }
  const tallest = Math.sqrt(Math.max(...byX, 1));
  const widest = Math.sqrt(Math.max(...byY, 1));
  const [w, h] = [box.width / BINS, box.height / BINS];
  const size = (n: number, most: number) => (Math.sqrt(n) / most) * (EDGE - 6);
  for (let i = 0; i < BINS; i++) {
    context.fillStyle = color.right;
    context.globalAlpha = 0.55;
    const up = size(byX[i], tallest);
    context.fillRect(box.left + i * w, box.top - 3 - up, w - 0.5, up);
    const out = size(byY[i], widest);
    const y = box.top + box.height - (i + 1) * h;
    context.fillRect(box.left + box.width + 3, y, out, h - 0.5);
    context.fillStyle = color.wrong;
    context.globalAlpha = 0.9;
    const wrongUp = size(wrongX[i], tallest);
    context.fillRect(box.left + i * w, box.top - 3 - wrongUp, w - 0.5, wrongUp);
    context.fillRect(box.left + box.width + 3, y, size(wrongY[i], widest), h - 0.5);
  }
  context.globalAlpha = 1;
}

/** The brush in units of the plot: from the filters of the state. */
function brushed(found: Density): [number, number, number, number] | null {
  const [kx, ky] = axes.value;
  const first = current.terms.find((term) => term.add);
  const of = (key: string, column: Column, scale: Scale): [number, number] | null => {
    const filter = first?.filters.find((each) => each.key === key && !each.not);
    if (filter === undefined) return null;
    const [low, high] = codesOfRange(column, filter.values[0]);
    return [toUnit(scale, column.edges[low]), toUnit(scale, column.edges[high])];
  };
  const x = of(kx, found.x, found.sx);
  const y = of(ky, found.y, found.sy);
  if (x === null && y === null) return null;
  const [x1, x2] = x ?? [0, 1];
  const [y1, y2] = y ?? [0, 1];
  return [x1, y1, x2, y2];
}

/** A range of units as a filter that is snapped to edges; null if it is everything. */
function rangeFilter(
  key: string,
  column: Column,
  scale: Scale,
  from: number,
  to: number,
): Filter | null {
  const { edges } = column;
  const [low, high] = codesOfRange(column, `${fromUnit(scale, from)}..${fromUnit(scale, to)}`);
  const lowest = low <= 0 ? "" : String(edges[low]);
  const highest = high >= edges.length - 1 ? "" : String(edges[Math.max(high, low + 1)]);
  return lowest === "" && highest === "" ? null : equals(key, `${lowest}..${highest}`);
}

const dragging = signal<[number, number, number, number] | null>(null);

function Brush({ found }: { found: Density }) {
  const layer = useRef<HTMLDivElement>(null);
  const place = (event: PointerEvent): [number, number] => {
    const bounds = layer.current!.getBoundingClientRect();
    return [
      Math.min(Math.max((event.clientX - bounds.left) / bounds.width, 0), 1),
      Math.min(Math.max(1 - (event.clientY - bounds.top) / bounds.height, 0), 1),
    ];
  };
  const apply = (box: [number, number, number, number], how: "push" | "replace") => {
    const [kx, ky] = axes.value;
    const [x1, x2] = [Math.min(box[0], box[2]), Math.max(box[0], box[2])];
    const [y1, y2] = [Math.min(box[1], box[3]), Math.max(box[1], box[3])];
    const filters = [
      rangeFilter(kx, found.x, found.sx, x1, x2),
      rangeFilter(ky, found.y, found.sy, y1, y2),
    ].filter((filter) => filter !== null);
    select(meaning(filters, [kx, ky]), "replace", how);
  };
  const shown = dragging.value ?? brushed(found);
  return (
    <div
      class="brush"
      ref={layer}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const [x, y] = place(event);
        dragging.value = [x, y, x, y];
      }}
      onPointerMove={(event) => {
        if (dragging.value === null) return;
        const [x, y] = place(event);
        dragging.value = [dragging.value[0], dragging.value[1], x, y];
        schedule(() => dragging.value && apply(dragging.value, "replace"));
      }}
      onPointerUp={(event) => {
        const box = dragging.value;
        if (box === null) return;
        const [x, y] = place(event);
        dragging.value = null;
        const small = Math.hypot(x - box[0], y - box[1]) < 0.01;
        if (small) select(meaning([], axes.value), "replace");
        else apply([box[0], box[1], x, y], "push");
      }}
      onPointerCancel={() => (dragging.value = null)}
    >
      {shown !== null && (
        <div
          class="box"
          style={{
            left: `${100 * Math.min(shown[0], shown[2])}%`,
            bottom: `${100 * Math.min(shown[1], shown[3])}%`,
            width: `${100 * Math.abs(shown[2] - shown[0])}%`,
            height: `${100 * Math.abs(shown[3] - shown[1])}%`,
          }}
        />
      )}
    </div>
  );
}

let scheduled = false;

/** At most once for each picture of the screen. */
function schedule(work: () => void): void {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    work();
  });
}

const colorScheme = signal(0);
for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(query).addEventListener("change", () => colorScheme.value++);
}
const resized = signal(0);

function Picture({ found }: { found: Density }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => (resized.value = element.clientWidth));
    observer.observe(element);
    const stop = effect(() => {
      void colorScheme.value;
      void resized.value;
      const now = density.value;
      if (now !== null) draw(element, now);
    });
    return () => {
      observer.disconnect();
      stop();
    };
  }, []);
  return (
    <div class="map">
      <canvas
        ref={canvas}
        id="map-canvas"
        role="img"
        aria-label={`${titleOf(current.x)} against ${titleOf(current.y)}; the same as a table below`}
      />
      <Brush found={found} />
    </div>
  );
}

const COARSE = 4;

/** The same in words: cells of equal width on the axes, each a button. */
function AsTable({ found }: { found: Density }) {
  const [kx, ky] = axes.value;
  const mask = maskOf(withoutKeys(current.terms, [kx, ky]));
  if (mask === null) return null;
  const cuts = (column: Column, scale: Scale) => {
    const at: number[] = [0];
    for (let i = 1; i < COARSE; i++) {
      const [low] = codesOfRange(column, `${fromUnit(scale, i / COARSE)}..`);
      if (low > at[at.length - 1] && low < column.centers.length) at.push(low);
    }
    return [...at, column.centers.length];
  };
  const [cx, cy] = [cuts(found.x, found.sx), cuts(found.y, found.sy)];
  const place = (cut: number[]) => {
    const of = new Int8Array(65536).fill(-1);
    for (let g = 0; g + 1 < cut.length; g++) of.fill(g, cut[g], cut[g + 1]);
    return of;
  };
  const [px, py] = [place(cx), place(cy)];
  const width = cx.length - 1;
  const counts = new Float64Array(width * (cy.length - 1));
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0) continue;
    const [u, v] = [px[found.x.codes[i]], py[found.y.codes[i]]];
    if (u >= 0 && v >= 0) counts[v * width + u]++;
  }
  const range = (column: Column, cut: number[], g: number) => {
    const from = g === 0 ? "" : String(column.edges[cut[g]]);
    const to = g + 2 === cut.length ? "" : String(column.edges[cut[g + 1]]);
    return `${from}..${to}`;
  };
  const words = (column: Column, cut: number[], g: number) =>
    `${format.number(column.edges[cut[g]])}–${format.number(column.edges[cut[g + 1]])}`;
  const rows = Array.from({ length: cy.length - 1 }, (_, v) => cy.length - 2 - v);
  return (
    <div class="scroller">
      <table class="rows small">
        <caption>
          Cases by {titleOf(kx)} (columns) and {titleOf(ky)} (rows)
        </caption>
        <thead>
          <tr>
            <td />
            {Array.from({ length: width }, (_, u) => (
              <th scope="col" class="number" key={u}>
                {words(found.x, cx, u)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((v) => (
            <tr key={v}>
              <th scope="row">{words(found.y, cy, v)}</th>
              {Array.from({ length: width }, (_, u) => (
                <td class="number" key={u}>
                  <Count
                    n={counts[v * width + u]}
                    filters={[equals(kx, range(found.x, cx, u)), equals(ky, range(found.y, cy, v))]}
                    keys={[kx, ky]}
                    name={`map.${v}.${u}`}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const tableOpen = signal(false);

function axisOptions(vertical: boolean): [string, string][] {
  const found: [string, string][] = [
    ["aleatoric", "aleatoric"],
    ["epistemic", "epistemic"],
    ["total", "total"],
  ];
  for (const { name, title } of numeric.value)
    found.push([name, name === "top" ? "probability" : title || name]);
  if (!vertical && meta.blocks["mean"]?.edges) found.push(["p", "P(class) …"]);
  if (vertical && meta.labelled)
    found.push(["right", meta.multilabel ? "share present" : "share right"]);
  return found;
}

export function MapView() {
  const { x, y } = current;
  const reliability = y === "right";
  const ofClass = x.startsWith("p:");
  const found = reliability ? null : density.value;
  return (
    <section class="panel" id="map" aria-labelledby="map-title" tabIndex={-1}>
      <header>
        <h2 id="map-title">{reliability ? "Reliability" : "Map"}</h2>
        <Select
          label="x"
          value={ofClass ? "p" : x}
          options={axisOptions(false)}
          change={(value) => {
            if (value === "p") go({ x: "p:" + meta.labels[0], y: "right" });
            else go({ x: value });
          }}
        />
        {ofClass && (
          <ClassChoice
            label="class"
            value={x.slice(2)}
            names={meta.labels}
            change={(name) => go({ x: "p:" + name })}
          />
        )}
        <Select
          label="y"
          value={y}
          options={axisOptions(true)}
          change={(value) => {
            if (value !== "right") go({ y: value, x: ofClass ? "aleatoric" : x });
            else if (ofClass || x === "top") go({ y: value });
            else if (meta.multilabel) go({ y: value, x: "p:" + meta.labels[0] });
            else go({ y: value, x: "top" });
          }}
        />
      </header>
      {reliability && <Reliability />}
      {!reliability && found === null && <p class="soft">Counting …</p>}
      {found !== null && (
        <>
          <Picture found={found} />
          <p class="legend">
            {meta.labelled && (
              <>
                <span class="key right" /> right <span class="key wrong" /> wrong ·{" "}
              </>
            )}
            drag to select, click to clear
          </p>
          <details
            open={tableOpen.value}
            onToggle={(event) => (tableOpen.value = event.currentTarget.open)}
          >
            <summary>as table</summary>
            {tableOpen.value && <AsTable found={found} />}
          </details>
        </>
      )}
    </section>
  );
}
