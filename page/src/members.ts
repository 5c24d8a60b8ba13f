// The members of the embedded cases, and what the columns become without some of them.

import { computed } from "@preact/signals-core";
import {
  K,
  L,
  R,
  block,
  blockMeta,
  meta,
  metaOf,
  noCodes,
  numberColumn,
  storedColumn,
  withCodes,
  averaged,
} from "./data";
import { decompose, meanOf } from "./measures";
import { now as current } from "./state";
import type { Codes, Column } from "./types";

export interface CaseMembers {
  /** Classes or labels that the probabilities are of. */
  labels: Uint32Array;
  /** members × labels */
  probs: Float64Array;
  weights: Float64Array;
}

const STEPS = 65534;
let angles: Float64Array | null = null;

/** p = sin²(π i / 131068), as report/members.py stores it; 0, ½ and 1 exact. */
function probabilities(): Float64Array {
  if (angles === null) {
    angles = new Float64Array(STEPS + 1);
    for (let i = 0; i <= STEPS; i++) angles[i] = Math.sin((i * Math.PI) / (2 * STEPS)) ** 2;
    angles[STEPS / 2] = 0.5;
    angles[STEPS] = 1;
  }
  return angles;
}

export const embedded = computed(() => {
  const about = blockMeta("members");
  const codes = block("members") as Codes | null;
  const rows = block("members.rows") as Codes | null;
  if (about === null || !codes || !rows) return null;
  const sampling = block("members.weight") as Float32Array | null;
  const labels = block("members.labels") as Codes | null;
  const weights = block("members.weights") as Float64Array | null;
  if (sampling === null) return null;
  if (!labels && blockMeta("members.labels") !== null) return null;
  if (!weights && blockMeta("members.weights") !== null) return null;
  const [n, members, width] = about.shape;
  return { codes, rows, sampling, labels, weights, n, members, width };
});

export function positionOf(row: number, rows: ArrayLike<number>): number {
  let low = 0;
  let high = rows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (rows[middle] === row) return middle;
    if (rows[middle] < row) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** The members of the case at a position among the embedded ones. */
export function membersAt(at: number): CaseMembers | null {
  const found = embedded.value;
  if (!found || at < 0) return null;
  const { codes, members, width } = found;
  const table = probabilities();
  const probs = new Float64Array(members * width);
  const complete = found.labels === null;
  for (let j = 0; j < members; j++) {
    const from = (at * members + j) * width;
    let sum = 0;
    for (let k = 0; k < width; k++) sum += probs[j * width + k] = table[codes[from + k]];
    if (complete && !meta.multilabel && sum > 0) {
      for (let k = 0; k < width; k++) probs[j * width + k] /= sum;
    }
  }
  const labels = new Uint32Array(width);
  for (let k = 0; k < width; k++) labels[k] = found.labels ? found.labels[at * width + k] : k;
  const weights = new Float64Array(members).fill(1 / members);
  if (found.weights) {
    const from = found.weights.length === members ? 0 : at * members;
    for (let j = 0; j < members; j++) weights[j] = found.weights[from + j];
  }
  return { labels, probs, weights };
}

export function membersOf(row: number): CaseMembers | null {
  const found = embedded.value;
  return !found ? null : membersAt(positionOf(row, found.rows));
}

export const memberNames = meta.members;

/** Positions of the members that are switched off. */
export const switchedOff = computed<Set<number>>(() => {
  const found = new Set<number>();
  for (const name of current.without) {
    const at = memberNames.indexOf(name);
    if (at >= 0) found.add(at);
  }
  return found.size < memberNames.length ? found : new Set();
});

const withoutKey = computed(() => [...switchedOff.value].sort((a, b) => a - b).join(","));

/** The members that are switched on, with weights that add up to 1. */
export function switchedOn(all: CaseMembers): CaseMembers {
  const off = switchedOff.value;
  if (off.size === 0) return all;
  const width = all.labels.length;
  const kept: number[] = [];
  for (let j = 0; j < all.weights.length; j++) if (!off.has(j)) kept.push(j);
  let sum = 0;
  for (const j of kept) sum += all.weights[j];
  const probs = new Float64Array(kept.length * width);
  const weights = new Float64Array(kept.length);
  kept.forEach((j, i) => {
    probs.set(all.probs.subarray(j * width, (j + 1) * width), i * width);
    weights[i] = sum > 0 ? all.weights[j] / sum : 1 / kept.length;
  });
  return { labels: all.labels, probs, weights };
}

/** Probabilities of the events that the uncertainty is about; of the classes if there are none. */
export function asked(members: CaseMembers): { probs: Float64Array; width: number } {
  const width = members.labels.length;
  const events = meta.events;
  if (events === null || width !== K) return { probs: members.probs, width };
  const count = members.weights.length;
  const probs = new Float64Array(count * events.length);
  for (let j = 0; j < count; j++) {
    events.forEach((event, e) => {
      let inside = 0;
      for (const c of event.inside) inside += members.probs[j * width + c];
      if (event.rest !== null) {
        let rest = 0;
        for (const c of event.rest) rest += members.probs[j * width + c];
        inside = inside + rest > 0 ? inside / (inside + rest) : 0.5;
      }
      probs[j * events.length + e] = inside;
    });
  }
  return { probs, width: events.length };
}

export interface Recomputed {
  columns: Map<string, Column>;
  weights: Float32Array;
  rows: Uint8Array;
}

/** Columns of the embedded cases without the members that are switched off; others are missing. */
export const recomputed = computed<Recomputed | null>(() => {
  const loss = current.loss;
  const found = withoutKey.value === "" ? null : embedded.value;
  if (!found) return null;
  const weights = new Float32Array(R);
  const rows = new Uint8Array(R);
  const choices = { predicted: noCodes(K), second: noCodes(K) };
  const numbers = () => new Float64Array(found.n);
  const sums = { total: numbers(), aleatoric: numbers(), epistemic: numbers(), top: numbers() };
  const bits = meta.multilabel ? new Uint8Array(R * Math.ceil(L / 8)) : null;
  for (let at = 0; at < found.n; at++) {
    const row = found.rows[at];
    const members = switchedOn(membersAt(at)!);
    const width = members.labels.length;
    const mean = meanOf(members.probs, width, members.weights);
    rows[row] = 1;
    weights[row] = found.sampling[at];
    if (bits !== null) sums.top[at] = predictLabels(mean, row, bits);
    else {
      const [first, second] = twoLargest(mean);
      choices.predicted[row] = members.labels[first];
      if (second >= 0) choices.second[row] = members.labels[second];
      sums.top[at] = mean[first];
    }
    const { probs, width: labels } = asked(members);
    const parts = decompose(probs, labels, members.weights, loss);
    const scale = averaged ? 1 / labels : 1;
    for (const part of ["total", "aleatoric", "epistemic"] as const) {
      let sum = 0;
      for (let k = 0; k < labels; k++) sum += parts[part][k];
      sums[part][at] = sum * scale;
    }
  }
  const columns = new Map<string, Column>();
  for (const [name, codes] of Object.entries(choices)) {
    const column = storedColumn(name);
    if (column !== null && !meta.multilabel) columns.set(name, withCodes(column, codes));
  }
  for (const [part, values] of Object.entries(sums)) {
    const name = part === "top" ? "top" : `${part}.${loss}`;
    const about = metaOf(name);
    if (!about?.edges) continue;
    const column = binned(name, about.title, values, about.edges);
    const codes = noCodes(column.centers.length);
    for (let at = 0; at < found.n; at++) codes[found.rows[at]] = column.codes[at];
    columns.set(name, withCodes(column, codes));
  }
  if (bits !== null) recomputedBits = bits;
  return { columns, weights, rows };
});

export let recomputedBits: Uint8Array | null = null;

function predictLabels(mean: Float64Array, row: number, bits: Uint8Array): number {
  const bytes = Math.ceil(L / 8);
  let top = 0;
  for (let k = 0; k < mean.length; k++) {
    top += Math.max(mean[k], 1 - mean[k]);
    if (mean[k] > 0.5) bits[row * bytes + (k >> 3)] |= 1 << (k & 7);
  }
  return top / mean.length;
}

function twoLargest(values: Float64Array): [number, number] {
  let first = 0;
  let second = -1;
  for (let k = 1; k < values.length; k++) {
    if (values[k] > values[first]) [first, second] = [k, first];
    else if (second < 0 || values[k] > values[second]) second = k;
  }
  return [first, second];
}

/** Values as codes by given edges; what lies beyond them is in the first or last bin. */
export function binned(name: string, title: string, values: Float64Array, edges: number[]): Column {
  const bins = edges.length - 1;
  const codes = noCodes(bins, values.length);
  const sums = new Float64Array(bins);
  const counts = new Float64Array(bins);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isNaN(value)) continue;
    let low = 0;
    let high = bins - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (edges[middle] <= value) low = middle;
      else high = middle - 1;
    }
    codes[i] = low;
    sums[low] += value;
    counts[low]++;
  }
  const centers = Float64Array.from(sums, (sum, b) =>
    counts[b] > 0 ? sum / counts[b] : (edges[b] + edges[b + 1]) / 2,
  );
  return numberColumn(name, title, codes, edges, centers);
}
