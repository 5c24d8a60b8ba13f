// Aleatoric × epistemic, or any two numbers: density on a canvas, brushed to select; or a reliability diagram.

import { computed, effect, signal } from "@preact/signals-core";
import { createRef } from "preact";
import { columnOf, contextOf, maskOf, numeric, titleOf, wrong } from "./cases";
import { ClassChoice, Count, Panel, Select } from "./count";
import { meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { type Range, cutsAt, placesIn, rangesOf } from "./ranges";
import { Reliability } from "./reliability";
import { Rows } from "./rows";
import { codesOfRange, equals, remembered, rowsIn } from "./selection";
import { go, meaning, now as current, select } from "./state";
import type { Column } from "./types";

const BINS = 64;
const EDGE = 40;
const MARGIN = { left: 46, bottom: 34, top: 6, right: 6 };

interface Scale {
  low: number;
  high: number;
  root: boolean;
}

/** One of the two axes: what it shows, and from where to where. */
interface Axis extends Scale {
  key: string;
  column: Column;
}

/** Square roots where all is positive and most is near 0, as uncertainty is. */
function axisOf(key: string, column: Column): Axis {
  const { edges } = column;
  const high = edges[edges.length - 1];
  const root = edges[0] >= 0 && /^(total|aleatoric|epistemic)/.test(column.name);
  const low = root ? 0 : edges[0];
  return { key, column, low, high: high > low ? high : low + 1, root };
}

function toUnit({ low, high, root }: Scale, x: number): number {
  const unit = Math.min(Math.max((x - low) / (high - low), 0), 1);
  return root ? Math.sqrt(unit) : unit;
}

function fromUnit({ low, high, root }: Scale, u: number): number {
  return low + (high - low) * (root ? u * u : u);
}

function ticksOf(scale: Scale): number[] {
  const span = scale.high - scale.low;
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= 5) ?? power;
  const found: number[] = [];
  for (let i = Math.ceil(scale.low / step); i * step <= scale.high + 1e-9 * span; i++)
    found.push(i * step);
  return found;
}

function binOfCodes(axis: Axis): Uint8Array {
  const bins = new Uint8Array(65536).fill(255);
  axis.column.centers.forEach((center, code) => {
    bins[code] = Math.min(Math.floor(toUnit(axis, center) * BINS), BINS - 1);
  });
  return bins;
}

interface Density {
  x: Axis;
  y: Axis;
  here: Float64Array;
  wrong: Float64Array;
  all: Float64Array;
}

const keys = computed<string[]>(() => [current.x, current.y]);
const context = contextOf(() => keys.value);

const density = computed<Density | null>(() => {
  const found = densityOf(context.value);
  const background = densityOf(maskOf([]));
  return !found || background === null ? null : { ...found, all: background.here };
});

function densityOf(mask: Uint8Array | null): Density | null {
  if (!mask) return null;
  const [x, y] = keys.value;
  return remembered(mask, `map ${x} ${y}`, () => countDensity(mask, x, y));
}

function countDensity(mask: Uint8Array, keyX: string, keyY: string): Density | null {
  const [columnX, columnY] = [columnOf(keyX), columnOf(keyY)];
  const errors = meta.labelled ? wrong.value : null;
  if (columnX?.kind !== "number" || columnY?.kind !== "number") return null;
  if (meta.labelled && !errors) return null;
  const [x, y] = [axisOf(keyX, columnX), axisOf(keyY, columnY)];
  const [bx, by] = [binOfCodes(x), binOfCodes(y)];
  const here = new Float64Array(BINS * BINS);
  const wrongs = new Float64Array(BINS * BINS);
  const [cx, cy, e] = [columnX.codes, columnY.codes, errors?.codes];
  const rows = rowsIn(mask);
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    const u = bx[cx[i]];
    const v = by[cy[i]];
    if (u === 255 || v === 255) continue;
    here[v * BINS + u]++;
    if (e !== undefined && e[i] === 1) wrongs[v * BINS + u]++;
  }
  return { x, y, here, wrong: wrongs, all: here };
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

function draw(canvas: HTMLCanvasElement, found: Density): void {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const context = canvas.getContext("2d");
  if (width < 80 || height < 80 || context === null) return;
  if (canvas.width !== Math.floor(width * ratio)) canvas.width = width * ratio;
  if (canvas.height !== Math.floor(height * ratio)) canvas.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const color = (name: string) => palette.value[name];
  const box = {
    left: MARGIN.left,
    top: MARGIN.top + EDGE,
    width: width - MARGIN.left - MARGIN.right - EDGE,
    height: height - MARGIN.top - MARGIN.bottom - EDGE,
  };
  drawAxes(context, found, box, color);
  drawCells(context, found, box, color);
  drawEdges(context, found, box, color);
}

type Paint = (name: string) => string;

function drawAxes(context: CanvasRenderingContext2D, found: Density, box: Box, color: Paint): void {
  const bottom = box.top + box.height;
  const across = ticksOf(found.x).map((tick): [number, number] => [
    tick,
    box.left + toUnit(found.x, tick) * box.width,
  ]);
  const up = ticksOf(found.y).map((tick): [number, number] => [
    tick,
    bottom - toUnit(found.y, tick) * box.height,
  ]);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("line");
  for (const [, x] of across) context.fillRect(Math.round(x), box.top, 1, box.height);
  for (const [, y] of up) context.fillRect(box.left, Math.round(y), box.width, 1);
  context.fillStyle = color("soft");
  context.textAlign = "center";
  context.textBaseline = "top";
  let last = -Infinity;
  for (const [tick, x] of across) {
    if (x - last < 26) continue;
    context.fillText(format.number(tick), x, bottom + 4);
    last = x;
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  last = Infinity;
  for (const [tick, y] of up) {
    if (last - y < 14) continue;
    context.fillText(format.number(tick), box.left - 6, y);
    last = y;
  }
  context.textAlign = "center";
  context.fillStyle = color("ink");
  context.fillText(shortTitle(found.x.key), box.left + box.width / 2, bottom + MARGIN.bottom - 8);
  context.save();
  context.translate(11, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(shortTitle(found.y.key), 0, 0);
  context.restore();
}

function shortTitle(key: string): string {
  const title = titleOf(key);
  return `${title.length > 44 ? title.slice(0, 43) + "…" : title} →`;
}

/** All cases faint, those counted here by density; wrong ones as a square whose area is their share. */
function drawCells(
  context: CanvasRenderingContext2D,
  found: Density,
  box: Box,
  color: Paint,
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
        context.fillStyle = color("soft");
        context.fillRect(x + w * 0.3, y + h * 0.3, Math.max(w * 0.4, 1), Math.max(h * 0.4, 1));
        continue;
      }
      const strength = 0.22 + (0.73 * Math.log1p(n)) / Math.log1p(most);
      context.globalAlpha = strength;
      context.fillStyle = color("right");
      context.fillRect(x, y, w + 0.4, h + 0.4);
      const share = found.wrong[at] / n;
      if (share > 0) {
        const side = Math.sqrt(share);
        context.globalAlpha = Math.max(strength, 0.75);
        context.fillStyle = color("wrong");
        context.fillRect(x + (w * (1 - side)) / 2, y + (h * (1 - side)) / 2, w * side, h * side);
      }
    }
  }
  context.globalAlpha = 1;
}

/** Histograms along both axes, wrong cases over all. */
function drawEdges(
  context: CanvasRenderingContext2D,
  found: Density,
  box: Box,
  color: Paint,
): void {
  const [w, h] = [box.width / BINS, box.height / BINS];
  for (const upright of [true, false]) {
    const sums = [found.here, found.wrong].map((cells) => {
      const sum = new Float64Array(BINS);
      cells.forEach((n, at) => (sum[upright ? at % BINS : Math.floor(at / BINS)] += n));
      return sum;
    });
    const most = Math.sqrt(Math.max(...sums[0], 1));
    sums.forEach((sum, which) => {
      context.fillStyle = color(which === 0 ? "right" : "wrong");
      context.globalAlpha = which === 0 ? 0.55 : 0.9;
      sum.forEach((n, i) => {
        const size = (Math.sqrt(n) / most) * (EDGE - 6);
        if (upright) context.fillRect(box.left + i * w, box.top - 3 - size, w - 0.5, size);
        else {
          const y = box.top + box.height - (i + 1) * h;
          context.fillRect(box.left + box.width + 3, y, size, h - 0.5);
        }
      });
    });
  }
  context.globalAlpha = 1;
}

/** From where to where an axis is brushed, in units of the plot; null if it is not. */
function brushedOn(axis: Axis): [number, number] | null {
  const first = current.terms.find((term) => term.add);
  const filter = first?.filters.find((each) => each.key === axis.key && !each.not);
  if (filter === undefined) return null;
  const { edges } = axis.column;
  const [low, high] = codesOfRange(axis.column, filter.values[0]);
  return [toUnit(axis, edges[low]), toUnit(axis, edges[high])];
}

/** Left, bottom, right, top. */
type Brushed = [number, number, number, number];

function brushed({ x, y }: Density): Brushed | null {
  const [across, up] = [brushedOn(x), brushedOn(y)];
  if (across === null && up === null) return null;
  const [x1, x2] = across ?? [0, 1];
  const [y1, y2] = up ?? [0, 1];
  return [x1, y1, x2, y2];
}

/** A range of units as filters that are snapped to edges; none if it is everything. */
function rangeFilters(axis: Axis, from: number, to: number): Filter[] {
  const { column, key } = axis;
  const last = column.edges.length - 1;
  const [low, high] = codesOfRange(column, `${fromUnit(axis, from)}..${fromUnit(axis, to)}`);
  const lowest = low <= 0 ? "" : String(column.edges[low]);
  const highest = high >= last ? "" : String(column.edges[Math.max(high, low + 1)]);
  return lowest + highest === "" ? [] : [equals(key, `${lowest}..${highest}`)];
}

const dragging = signal<Brushed | null>(null);

const layer = createRef<HTMLDivElement>();

function Brush({ found }: { found: Density }) {
  const place = (event: PointerEvent): [number, number] => {
    const bounds = layer.current!.getBoundingClientRect();
    return [
      Math.min(Math.max((event.clientX - bounds.left) / bounds.width, 0), 1),
      Math.min(Math.max(1 - (event.clientY - bounds.top) / bounds.height, 0), 1),
    ];
  };
  const apply = (box: Brushed, how: "push" | "replace") => {
    const filters = [
      ...rangeFilters(found.x, Math.min(box[0], box[2]), Math.max(box[0], box[2])),
      ...rangeFilters(found.y, Math.min(box[1], box[3]), Math.max(box[1], box[3])),
    ];
    select(meaning(filters, keys.value), "replace", how);
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
        if (small) select(meaning([], keys.value), "replace");
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
/** Colors of the style sheet: looked up once, as it takes as long as all drawing. */
const palette = computed(() => {
  void colorScheme.value;
  const style = getComputedStyle(document.documentElement);
  const names = ["line", "soft", "ink", "right", "wrong"];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue("--" + name).trim()]),
  );
});
for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  matchMedia(query).addEventListener("change", () => colorScheme.value++);
}
const resized = signal(0);

let stopDrawing = () => {};

/** Draw on the canvas as long as it is in the document. */
function keepDrawing(element: HTMLCanvasElement | null): void {
  stopDrawing();
  if (element === null) return;
  const observer = new ResizeObserver(() => (resized.value = element.clientWidth));
  observer.observe(element);
  const stop = effect(() => {
    void resized.value;
    const now = density.value;
    if (now !== null) draw(element, now);
  });
  stopDrawing = () => {
    observer.disconnect();
    stop();
  };
}

function Picture({ found }: { found: Density }) {
  return (
    <div class="map">
      <canvas
        ref={keepDrawing}
        id="map-canvas"
        role="img"
        aria-label={`${titleOf(current.x)} against ${titleOf(current.y)}; the same as a table below`}
      />
      <Brush found={found} />
    </div>
  );
}

const QUARTERS = [0.25, 0.5, 0.75];

/** The same in words: cells of equal width on the axes, each a button. */
function AsTable({ found }: { found: Density }) {
  const mask = context.value;
  if (!mask) return null;
  const [x, y] = [found.x, found.y].map((axis) => {
    const cuts = cutsAt(
      axis.column,
      QUARTERS.map((u) => fromUnit(axis, u)),
    );
    return { ...axis, place: placesIn(cuts), ranges: rangesOf(axis.column, cuts) };
  });
  const width = x.ranges.length;
  const counts = new Float64Array(width * y.ranges.length);
  for (const i of rowsIn(mask)) {
    const [u, v] = [x.place[x.column.codes[i]], y.place[y.column.codes[i]]];
    if (u >= 0 && v >= 0) counts[v * width + u]++;
  }
  const words = ({ low, high }: Range) => `${format.number(low)}–${format.number(high)}`;
  return (
    <div class="scroller">
      <Rows
        class="small"
        label="Cases of the map"
        rows={[...y.ranges.keys()].reverse()}
        name={(v) => words(y.ranges[v])}
        first={{
          key: "y",
          title: `${titleOf(y.key)}, by ${titleOf(x.key)}`,
          cell: (v) => words(y.ranges[v]),
        }}
        views={x.ranges.map((range, u) => ({
          key: range.text,
          title: words(range),
          cell: (v: number) => (
            <Count
              n={counts[v * width + u]}
              filters={[equals(x.key, range.text), equals(y.key, y.ranges[v].text)]}
              keys={keys.value}
              name={`map.${v}.${u}`}
            />
          ),
        }))}
      />
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
    <Panel
      id="map"
      title={reliability ? "Reliability" : "Map"}
      tools={
        <>
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
        </>
      }
    >
      {reliability && <Reliability />}
      {!reliability && !found && <p class="soft">Counting …</p>}
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
    </Panel>
  );
}
