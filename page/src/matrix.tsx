// Truth × predicted; without labels predicted × second choice; multi-label: label × hit, false alarm, missed.

import { computed, signal } from "@preact/signals-core";
import {
  BYTES,
  LABEL_KEYS,
  columnOf,
  contextOf,
  padded,
  predictedBits,
  referKey,
  truthBits,
} from "./cases";
import { Count, Find, Panel, Segments } from "./count";
import { K, L, R, meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { MOST_SHOWN, neighbors, worstBlock } from "./order";
import { PAIR_KEYS, pairs } from "./pairs";
import { equals, remembered, rowsIn } from "./selection";
import { go, now as current } from "./state";

export interface Axis {
  names: string[];
  /** Names of the classes behind each entry. */
  members: string[][];
}

export interface Cells {
  rows: Axis;
  columns: Axis;
  counts: Float64Array;
  epistemic: Float64Array;
  total: Float64Array;
  flagged: Float64Array;
  keys: [string, string];
}

const OUTCOMES = ["hit", "missed", "alarm"];
const eventsPossible = meta.events !== null && meta.structure === "partition" && !meta.multilabel;

const shownClasses = computed<number[]>(() => {
  const find = current.rows.startsWith("find:") ? current.rows.slice(5).toLowerCase() : "";
  if (find !== "") {
    const found: number[] = [];
    for (let k = 0; k < K && found.length < MOST_SHOWN; k++) {
      if (meta.class_names[k].toLowerCase().includes(find)) found.push(k);
    }
    return neighbors(withConfused(found), pairs.value);
  }
  const chosen =
    K <= MOST_SHOWN
      ? Array.from({ length: K }, (_, k) => k)
      : worstBlock(pairs.value, K, MOST_SHOWN);
  // grades keep their order
  const ordered = meta.events !== null && meta.structure !== "partition";
  return ordered && K <= MOST_SHOWN ? chosen : neighbors(chosen, pairs.value);
});

/** The classes found, and those that they are most often confused with. */
function withConfused(found: number[]): number[] {
  const chosen = new Set(found);
  const wanted = new Set(found);
  for (const { first: a, second: b } of pairs.value) {
    if (chosen.size >= Math.min(MOST_SHOWN, 4 * found.length)) break;
    if (a !== b && (wanted.has(a) || wanted.has(b))) {
      chosen.add(a);
      if (chosen.size < MOST_SHOWN) chosen.add(b);
    }
  }
  return [...chosen];
}

const axis = computed<{ axis: Axis; place: Int16Array }>(() => {
  const place = new Int16Array(65536).fill(-1);
  if (eventsPossible && current.rows === "events") {
    meta.events?.forEach((event, e) => event.inside.forEach((k) => (place[k] = e)));
    const members = (meta.events ?? []).map((event) =>
      event.inside.map((k) => meta.class_names[k]),
    );
    return { axis: { names: meta.labels, members }, place };
  }
  const chosen = shownClasses.value;
  chosen.forEach((k, i) => (place[k] = i));
  const names = chosen.map((k) => meta.class_names[k]);
  return { axis: { names, members: names.map((name) => [name]) }, place };
});

const context = contextOf(() => (meta.multilabel ? LABEL_KEYS : PAIR_KEYS));

export const cells = computed<Cells | null>(() => {
  const mask = context.value;
  if (!mask) return null;
  const chosen = axis.value;
  return remembered(mask, `matrix ${current.rows} ${referKey.value}`, () =>
    meta.multilabel ? labelCells(mask) : classCells(mask, chosen.axis, chosen.place),
  );
});

function classCells(mask: Uint8Array, own: Axis, place: Int16Array): Cells | null {
  const n = own.names.length;
  const [row, column] = [columnOf(PAIR_KEYS[0]), columnOf(PAIR_KEYS[1])];
  const [au, eu, refer] = [columnOf("aleatoric"), columnOf("epistemic"), columnOf("flagged")];
  if (!row || !column || !au || !eu || !refer) return null;
  const found = emptyCells(own, own, PAIR_KEYS);
  const { counts, epistemic, total, flagged } = found;
  const [auCenter, euCenter] = [padded(au), padded(eu)];
  const [r, c, a, e, f] = [row.codes, column.codes, au.codes, eu.codes, refer.codes];
  const rows = rowsIn(mask);
  for (let j = 0; j < rows.length; j++) {
    const i = rows[j];
    const y = place[r[i]];
    const x = place[c[i]];
    if (y < 0 || x < 0) continue;
    const at = y * n + x;
    const between = euCenter[e[i]];
    counts[at]++;
    epistemic[at] += between;
    total[at] += between + auCenter[a[i]];
    if (f[i] === 1) flagged[at]++;
  }
  return found;
}

function emptyCells(rows: Axis, columns: Axis, keys: [string, string]): Cells {
  const size = rows.names.length * columns.names.length;
  const zeros = () => new Float64Array(size);
  return {
    rows,
    columns,
    keys,
    counts: zeros(),
    epistemic: zeros(),
    total: zeros(),
    flagged: zeros(),
  };
}

function labelCells(mask: Uint8Array): Cells | null {
  const [truth, said] = [truthBits.value, predictedBits.value];
  const [au, eu, refer] = [columnOf("aleatoric"), columnOf("epistemic"), columnOf("flagged")];
  if (!said || !au || !eu || !refer || (meta.labelled && !truth)) return null;
  const shown = L <= 2 * MOST_SHOWN ? L : 2 * MOST_SHOWN;
  const names = meta.labels.slice(0, shown);
  const outcomes = meta.labelled ? OUTCOMES : ["hit"];
  const found = emptyCells(
    { names, members: names.map((name) => [name]) },
    { names: outcomes, members: outcomes.map((name) => [name]) },
    ["", ""],
  );
  const width = outcomes.length;
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0) continue;
    const epistemic = eu.centers[eu.codes[i]] ?? 0;
    const total = epistemic + (au.centers[au.codes[i]] ?? 0);
    for (let k = 0; k < shown; k++) {
      const p = (said[i * BYTES + (k >> 3)] >> (k & 7)) & 1;
      const t = !truth ? p : (truth[i * BYTES + (k >> 3)] >> (k & 7)) & 1;
      if (p === 0 && t === 0) continue;
      const at = k * width + (t === 1 ? (p === 1 ? 0 : 1) : 2);
      found.counts[at]++;
      found.epistemic[at] += epistemic;
      found.total[at] += total;
      if (refer.codes[i] === 1) found.flagged[at]++;
    }
  }
  return found;
}

/** The color of a cell from 0 to 1, by what the matrix is colored. */
export function shade(found: Cells, row: number, column: number, color: string): number {
  const width = found.columns.names.length;
  const at = row * width + column;
  const n = found.counts[at];
  if (n === 0) return 0;
  if (color === "epistemic") return found.total[at] > 0 ? found.epistemic[at] / found.total[at] : 0;
  if (color === "flagged") return found.flagged[at] / n;
  let sum = 0;
  for (let x = 0; x < width; x++) sum += found.counts[row * width + x];
  return n / sum;
}

/** The largest shade of wrong cells: colors are relative to it, or the diagonal would hide them. */
export function strongest(found: Cells, color: string): number {
  let most = 0;
  const width = found.columns.names.length;
  for (let y = 0; y < found.rows.names.length; y++) {
    for (let x = 0; x < width; x++) {
      if (color !== "epistemic" && (x === y || meta.multilabel)) continue;
      if (found.counts[y * width + x] >= 3 || color === "count")
        most = Math.max(most, shade(found, y, x, color));
    }
  }
  return most > 0 && !meta.multilabel ? most : 1;
}

function cellFilters(found: Cells, y: number, x: number): Filter[] {
  if (meta.multilabel) return [equals(found.columns.names[x], found.rows.names[y])];
  return [
    equals(found.keys[0], ...found.rows.members[y]),
    equals(found.keys[1], ...found.columns.members[x]),
  ];
}

/** Whether the selection is about these classes and has this cell. */
function isChosen(filters: Filter[]): boolean {
  return current.terms.some(({ add, filters: given }) => {
    const about = given.filter(({ key }) => filters.some((own) => own.key === key));
    const within = ({ key, values, not }: Filter) =>
      filters.every(
        (own) => own.key !== key || own.values.every((value) => values.includes(value) !== not),
      );
    return add && about.length > 0 && about.every(within);
  });
}

const focused = signal<[number, number]>([0, 0]);

function move(event: KeyboardEvent, found: Cells): void {
  const steps: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const step = steps[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const [height, width] = [found.rows.names.length, found.columns.names.length];
  let [y, x] = focused.value;
  // to the next cell that has cases
  for (let tries = 0; tries < height + width; tries++) {
    y += step[0];
    x += step[1];
    if (y < 0 || x < 0 || y >= height || x >= width) return;
    if (found.counts[y * width + x] > 0) break;
  }
  focused.value = [y, x];
  const table = (event.currentTarget as HTMLElement).closest("table");
  table?.querySelector<HTMLElement>(`[data-cell="${y},${x}"] button`)?.focus();
}

function startingCell(found: Cells): [number, number] {
  const [y, x] = focused.value;
  const width = found.columns.names.length;
  if (y < found.rows.names.length && x < width && found.counts[y * width + x] > 0) return [y, x];
  const at = found.counts.findIndex((n) => n > 0);
  return at < 0 ? [0, 0] : [Math.floor(at / width), at % width];
}

const COLORS: [string, string][] = [
  ["count", "count"],
  ["epistemic", "epistemic share"],
  ["flagged", "flagged"],
];

export function Matrix() {
  const found = cells.value;
  const { color, rows } = current;
  const title = meta.multilabel
    ? "Labels"
    : meta.labelled
      ? "Truth × predicted"
      : "Predicted × second choice";
  return (
    <Panel
      id="matrix"
      title={title}
      tools={
        <>
          <Segments
            label="Color by"
            value={color}
            options={COLORS}
            change={(value) => go({ color: value })}
          />
          {eventsPossible && (
            <Segments
              label="Rows"
              value={rows === "events" ? rows : "classes"}
              options={[
                ["classes", "classes"],
                ["events", "events"],
              ]}
              change={(value) => go({ rows: value })}
            />
          )}
          {K > MOST_SHOWN && !meta.multilabel && <ClassSearch />}
        </>
      }
    >
      {!found ? <p class="soft">Counting …</p> : <Grid found={found} color={color} />}
      <p class="legend">{legendWords(color)}</p>
    </Panel>
  );
}

function legendWords(color: string): string {
  const worst =
    K > MOST_SHOWN && !meta.multilabel && !current.rows.startsWith("find:")
      ? ` The ${MOST_SHOWN} of ${format.count(K)} classes that are confused most; search for others.`
      : "";
  if (color === "epistemic") return `Darker: more of the uncertainty is epistemic.${worst}`;
  if (color === "flagged") return `Darker: more of the cell’s cases are flagged.${worst}`;
  if (meta.multilabel) return "Darker: a larger share of the row.";
  return `Darker: a larger share of the row; ${meta.labelled ? "errors" : "unequal choices"} hatched.${worst}`;
}

function ClassSearch() {
  const { rows } = current;
  return (
    <Find
      label="find classes"
      value={rows.startsWith("find:") ? rows.slice(5) : ""}
      change={(text) => go({ rows: text === "" ? "classes" : `find:${text}` }, "replace")}
    />
  );
}

/** The matrix reads the same on paper; a cell is a button. */
function Grid({ found, color }: { found: Cells; color: string }) {
  const { rows, columns, counts } = found;
  const width = columns.names.length;
  const scale = strongest(found, color);
  const [startY, startX] = startingCell(found);
  const words = columns.names.map((name) =>
    meta.multilabel && name === "alarm" ? "false alarm" : name,
  );
  const square = !meta.multilabel;
  const recall = meta.labelled && square;
  return (
    <div class="scroller">
      <table
        class={`matrix by-${color} ${width > 12 ? "dense" : ""} ${square ? "square" : "plain"}`}
        role="grid"
        aria-labelledby="matrix-title"
      >
        <thead>
          <tr>
            <td />
            {words.map((name, x) => (
              <th key={x} scope="col" class="upright" title={name}>
                <span>{name}</span>
              </th>
            ))}
            {recall && (
              <th scope="col" class="upright recall">
                <span>recall</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody onKeyDown={(event) => move(event, found)}>
          {rows.names.map((name, y) => {
            let sum = 0;
            for (let x = 0; x < width; x++) sum += counts[y * width + x];
            return (
              <tr key={name}>
                <th scope="row" title={name}>
                  <span>{name}</span>
                </th>
                {columns.names.map((other, x) => {
                  const n = counts[y * width + x];
                  const filters = cellFilters(found, y, x);
                  const strength = Math.min(
                    shade(found, y, x, color) / (x === y && color === "count" ? 1 : scale),
                    1,
                  );
                  return (
                    <td
                      key={other}
                      role="gridcell"
                      data-cell={`${y},${x}`}
                      class={`${(square ? x === y : other === "hit") ? "right" : "wrong"} ${n > 0 && isChosen(filters) ? "chosen" : ""} ${n === 0 ? "none" : ""}`}
                      style={{
                        "--shade": n === 0 ? 0 : Math.round(4 + 56 * strength),
                      }}
                    >
                      {n > 0 && (
                        <Count
                          n={n}
                          filters={filters}
                          keys={square ? PAIR_KEYS : LABEL_KEYS}
                          name={`matrix.${name}.${other}`}
                          tabIndex={y === startY && x === startX ? 0 : -1}
                          label={
                            square
                              ? `${name}, ${meta.labelled ? "predicted" : "second choice"} ${other}`
                              : `${name}: ${words[x]}`
                          }
                        >
                          {color === "count"
                            ? format.count(n)
                            : format.percent(shade(found, y, x, color), 0)}
                        </Count>
                      )}
                    </td>
                  );
                })}
                {recall && (
                  <td
                    class="recall"
                    data-key={`recall.${name}`}
                    data-value={sum > 0 ? counts[y * width + y] / sum : ""}
                  >
                    {sum > 0 ? format.percent(counts[y * width + y] / sum, 0) : "–"}
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
