// The rows of the table: sums over the cases of each group, in one pass.

import { computed } from "@preact/signals";
import {
  BYTES,
  columnOf,
  contextOf,
  padded,
  predictedBits,
  referKey,
  truthBits,
  weights,
  wrong,
} from "./cases";
import { L, R, block, blockMeta, hasColumn, meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { wilson } from "./intervals";
import { recomputed } from "./members";
import { differs, equals, remembered, rowsIn } from "./selection";
import { now as current } from "./state";
import type { Codes, Column } from "./types";

export interface Group {
  name: string;
  n: number;
  wrong: number;
  missed: number;
  missedFlagged: number;
  alarms: number;
  flagged: number;
  accuracy: number;
  low: number;
  high: number;
  aleatoric: number;
  epistemic: number;
  gap: number;
  coverage: number;
  is: Filter[];
  missedFilters: Filter[];
  alarmFilters: Filter[];
}

export interface Grouped {
  by: string;
  keys: string[];
  groups: Group[];
  classes: boolean;
  /** The groups have an order of their own: bins of a number, set sizes. */
  ordered: boolean;
  note: string;
}

const NUMBER_GROUPS = 8;

class Sums {
  n: Float64Array;
  labelled: Float64Array;
  wrong: Float64Array;
  known: Float64Array;
  flagged: Float64Array;
  aleatoric: Float64Array;
  epistemic: Float64Array;
  top: Float64Array;
  covered: Float64Array;
  sets: Float64Array;
  weight: Float64Array;

  constructor(size: number) {
    this.n = new Float64Array(size);
    this.labelled = new Float64Array(size);
    this.wrong = new Float64Array(size);
    this.known = new Float64Array(size);
    this.flagged = new Float64Array(size);
    this.aleatoric = new Float64Array(size);
    this.epistemic = new Float64Array(size);
    this.top = new Float64Array(size);
    this.covered = new Float64Array(size);
    this.sets = new Float64Array(size);
    this.weight = new Float64Array(size);
  }
}

/** Sums by group; `place` gives the group of a code, or −1. */
function sumsBy(mask: Uint8Array, codes: Codes, place: Int32Array, size: number): Sums | null {
  const [au, eu, refer, top] = ["aleatoric", "epistemic", "flagged", "top"].map(columnOf);
  const errors = meta.labelled ? wrong.value : null;
  const cover = hasColumn("covered") ? columnOf("covered") : null;
  if (!au || !eu || !refer || !top || (meta.labelled && !errors)) return null;
  if (hasColumn("covered") && cover === null) return null;
  if (meta.sampled && weights.value === null) return null;
  const sums = new Sums(size);
  const [auCenter, euCenter, topCenter] = [padded(au), padded(eu), padded(top)];
  const [a, e, f, t, x] = [au.codes, eu.codes, refer.codes, top.codes, errors?.codes];
  const w = weights.value;
  const last = place.length - 1;
  const rows = rowsIn(mask);
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    const g = place[Math.min(codes[i], last)];
    if (g < 0) continue;
    const wi = w === null ? 1 : w[i];
    sums.n[g]++;
    sums.weight[g] += wi;
    sums.aleatoric[g] += wi * auCenter[a[i]];
    sums.epistemic[g] += wi * euCenter[e[i]];
    if (f[i] === 1) sums.flagged[g]++;
    if (x !== undefined && x[i] !== 255) {
      sums.labelled[g]++;
      sums.top[g] += topCenter[t[i]];
      if (x[i] === 1) {
        sums.wrong[g]++;
        if (f[i] === 1) sums.known[g]++;
      }
    }
    if (cover !== null && cover.codes[i] !== 255) {
      sums.sets[g]++;
      sums.covered[g] += cover.codes[i];
    }
  }
  return sums;
}

function groupFrom(sums: Sums, g: number, name: string, is: Filter[]): Group {
  const accuracy = 1 - sums.wrong[g] / sums.labelled[g];
  const [low, high] = wilson(accuracy, sums.labelled[g]);
  return {
    name,
    n: sums.n[g],
    wrong: sums.wrong[g],
    missed: sums.wrong[g],
    missedFlagged: sums.known[g],
    alarms: 0,
    flagged: sums.flagged[g],
    accuracy,
    low,
    high,
    aleatoric: sums.aleatoric[g] / sums.weight[g],
    epistemic: sums.epistemic[g] / sums.weight[g],
    gap: sums.top[g] / sums.labelled[g] - accuracy,
    coverage: sums.covered[g] / sums.sets[g],
    is,
    missedFilters: [],
    alarmFilters: [],
  };
}

const CLASS_KEYS = ["truth", "pred"];
const LABEL_KEYS = ["hit", "missed", "alarm", "has"];
const context = contextOf(
  () => {
    if (current.by !== "class") return [current.by];
    return meta.multilabel ? LABEL_KEYS : CLASS_KEYS;
  },
  () => current.by === "dataset",
);

export const grouped = computed<Grouped | null>(() => {
  const { by } = current;
  const mask = context.value;
  if (by === "member" || mask === null) return null;
  // not with half of what is needed, which would be remembered
  if (by === "class" && hasLabelParts() && !(block("aleatoric") && block("epistemic"))) return null;
  return remembered(mask, `by ${by} ${referKey.value}`, () => {
    if (by === "class") return meta.multilabel ? byLabel(mask) : byClass(mask);
    const column = columnOf(by);
    if (column === null) return null;
    return column.kind === "number" ? byNumber(by, column, mask) : byName(by, column, mask);
  });
});

function byName(by: string, column: Column, mask: Uint8Array): Grouped | null {
  const names = column.kind === "flag" ? ["no", "yes"] : column.names;
  const place = new Int32Array(
    Math.max(Math.min(column.missing, 65535) + 1, names.length + 1),
  ).fill(-1);
  for (let k = 0; k < names.length; k++) place[k] = k;
  place[place.length - 1] = names.length;
  const sums = sumsBy(mask, column.codes, place, names.length + 1);
  if (sums === null) return null;
  const groups: Group[] = [];
  for (let k = 0; k <= names.length; k++) {
    if (sums.n[k] === 0) continue;
    const value = k === names.length ? "" : column.kind === "flag" ? String(k) : names[k];
    groups.push(groupFrom(sums, k, k === names.length ? "missing" : names[k], [equals(by, value)]));
  }
  const ordered = by === "set_size" || by === "dataset";
  return { by, keys: [by], groups, classes: false, ordered, note: column.note };
}

/** A number in about eight groups of like size, cut at its edges. */
function byNumber(by: string, column: Column, mask: Uint8Array): Grouped | null {
  const bins = column.centers.length;
  const counts = new Uint32Array(bins);
  let n = 0;
  for (let i = 0; i < R; i++) {
    if (mask[i] === 1 && column.codes[i] !== column.missing) {
      counts[column.codes[i]]++;
      n++;
    }
  }
  const place = new Int32Array(Math.min(column.missing, 65535) + 1).fill(-1);
  const cuts = [0];
  let taken = 0;
  for (let b = 0; b < bins; b++) {
    place[b] = cuts.length - 1;
    taken += counts[b];
    if (taken >= (cuts.length * n) / NUMBER_GROUPS && b + 1 < bins) cuts.push(b + 1);
  }
  cuts.push(bins);
  place[place.length - 1] = cuts.length - 1;
  const sums = sumsBy(mask, column.codes, place, cuts.length);
  if (sums === null) return null;
  const groups: Group[] = [];
  for (let g = 0; g < cuts.length; g++) {
    if (sums.n[g] === 0) continue;
    if (g === cuts.length - 1) {
      groups.push(groupFrom(sums, g, "missing", [equals(by, "")]));
      continue;
    }
    const [low, high] = [column.edges[cuts[g]], column.edges[cuts[g + 1]]];
    const from = g === 0 ? "" : String(low);
    const to = g === cuts.length - 2 ? "" : String(high);
    groups.push(
      groupFrom(sums, g, `${format.number(low)} to ${format.number(high)}`, [
        equals(by, `${from}..${to}`),
      ]),
    );
  }
  return { by, keys: [by], groups, classes: false, ordered: true, note: column.note };
}

/** Classes or events: cases by truth, missed by it, false alarms by prediction. */
function byClass(mask: Uint8Array): Grouped | null {
  const predicted = columnOf("pred");
  const truth = meta.labelled ? columnOf("truth") : null;
  if (!predicted || (meta.labelled && !truth)) return null;
  const own = truth ?? predicted;
  const key = truth === null ? "pred" : "truth";
  const sets = meta.events?.map((event) => event.inside) ?? null;
  if (sets !== null && !meta.partition) return byOverlappingEvents(mask, sets, own, predicted, key);
  const place = new Int32Array(65536).fill(-1);
  if (sets === null) for (let k = 0; k < meta.class_names.length; k++) place[k] = k;
  else sets.forEach((inside, e) => inside.forEach((k) => (place[k] = e)));
  const sums = sumsBy(mask, own.codes, place, L);
  const refer = columnOf("flagged");
  if (sums === null || refer === null) return null;
  const [missed, known, alarms] = [new Float64Array(L), new Float64Array(L), new Float64Array(L)];
  if (truth !== null) {
    const rows = rowsIn(mask);
    for (let r = 0; r < rows.length; r++) {
      const i = rows[r];
      const t = place[truth.codes[i]];
      const p = place[predicted.codes[i]];
      if (t === p || t < 0 || p < 0) continue;
      missed[t]++;
      alarms[p]++;
      if (refer.codes[i] === 1) known[t]++;
    }
  }
  const parts = labelParts(mask);
  const groups: Group[] = [];
  for (let k = 0; k < L; k++) {
    if (sums.n[k] === 0 && alarms[k] === 0) continue;
    const names = sets === null ? [meta.class_names[k]] : sets[k].map((c) => meta.class_names[c]);
    const group = groupFrom(sums, k, meta.labels[k], [equals(key, ...names)]);
    group.missed = missed[k];
    group.missedFlagged = known[k];
    group.alarms = alarms[k];
    group.missedFilters = [equals("truth", ...names), differs("pred", ...names)];
    group.alarmFilters = [differs("truth", ...names), equals("pred", ...names)];
    withParts(group, parts, k);
    groups.push(group);
  }
  return {
    by: "class",
    keys: CLASS_KEYS,
    groups,
    classes: true,
    ordered: false,
    note: parts === null ? "" : LABEL_NOTE,
  };
}

const LABEL_NOTE = "uncertainty about the label, over all cases counted here";

function withParts(group: Group, parts: [Float64Array, Float64Array] | null, k: number): void {
  if (parts === null) return;
  group.aleatoric = parts[0][k];
  group.epistemic = parts[1][k];
}

function byOverlappingEvents(
  mask: Uint8Array,
  sets: number[][],
  own: Column,
  predicted: Column,
  key: string,
): Grouped | null {
  const refer = columnOf("flagged");
  if (refer === null) return null;
  const parts = labelParts(mask);
  const groups: Group[] = [];
  for (let e = 0; e < sets.length; e++) {
    const place = new Int32Array(65536).fill(-1);
    for (const k of sets[e]) place[k] = 0;
    const sums = sumsBy(mask, own.codes, place, 1);
    if (sums === null) return null;
    const names = sets[e].map((k) => meta.class_names[k]);
    const group = groupFrom(sums, 0, meta.labels[e], [equals(key, ...names)]);
    [group.missed, group.missedFlagged] = [0, 0];
    if (meta.labelled) {
      for (let i = 0; i < R; i++) {
        if (mask[i] === 0 || own.codes[i] === own.missing) continue;
        const [t, p] = [place[own.codes[i]], place[predicted.codes[i]]];
        if (t === 0 && p < 0) {
          group.missed++;
          if (refer.codes[i] === 1) group.missedFlagged++;
        } else if (t < 0 && p === 0) group.alarms++;
      }
    }
    group.missedFilters = [equals("truth", ...names), differs("pred", ...names)];
    group.alarmFilters = [differs("truth", ...names, ""), equals("pred", ...names)];
    withParts(group, parts, e);
    groups.push(group);
  }
  return {
    by: "class",
    keys: CLASS_KEYS,
    groups,
    classes: true,
    ordered: false,
    note: parts === null ? "" : LABEL_NOTE,
  };
}

function byLabel(mask: Uint8Array): Grouped | null {
  const [truth, said] = [truthBits.value, predictedBits.value];
  const refer = columnOf("flagged");
  if (!said || !refer || (meta.labelled && !truth)) return null;
  const [n, missed, known, alarms] = [0, 1, 2, 3].map(() => new Float64Array(L));
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0) continue;
    for (let k = 0; k < L; k++) {
      const p = (said[i * BYTES + (k >> 3)] >> (k & 7)) & 1;
      const t = truth === null ? p : (truth[i * BYTES + (k >> 3)] >> (k & 7)) & 1;
      if (t === 1) n[k]++;
      if (t === 1 && p === 0) {
        missed[k]++;
        if (refer.codes[i] === 1) known[k]++;
      } else if (t === 0 && p === 1) alarms[k]++;
    }
  }
  const parts = labelParts(mask);
  const empty = new Sums(1);
  const groups = meta.labels.map((name, k) => {
    const group = groupFrom(
      empty,
      0,
      name,
      meta.labelled ? [{ key: "has", values: [name], not: false }] : [equals("hit", name)],
    );
    Object.assign(group, {
      n: n[k],
      missed: missed[k],
      missedFlagged: known[k],
      alarms: alarms[k],
      flagged: 0,
    });
    group.missedFilters = [equals("missed", name)];
    group.alarmFilters = [equals("alarm", name)];
    withParts(group, parts, k);
    return group;
  });
  return {
    by: "class",
    keys: LABEL_KEYS,
    groups,
    classes: true,
    ordered: false,
    note: LABEL_NOTE,
  };
}

/** Whether uncertainty (log loss) is embedded for every label of every case. */
function hasLabelParts(): boolean {
  const whole = blockMeta("aleatoric")?.shape[1] === L && blockMeta("label") === null;
  return whole && current.loss === "log" && recomputed.value === null;
}

/** Mean label-wise uncertainty over a mask. */
function labelParts(mask: Uint8Array): [Float64Array, Float64Array] | null {
  if (!hasLabelParts()) return null;
  const [about, other] = [blockMeta("aleatoric"), blockMeta("epistemic")];
  const [au, eu] = [block("aleatoric") as Codes | null, block("epistemic") as Codes | null];
  if (!au || !eu || !about?.values || !other?.values) return null;
  const [aleatoric, epistemic] = [new Float64Array(L), new Float64Array(L)];
  let n = 0;
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0) continue;
    n++;
    for (let k = 0; k < L; k++) {
      aleatoric[k] += about.values[au[i * L + k]];
      epistemic[k] += other.values[eu[i * L + k]];
    }
  }
  for (let k = 0; k < L; k++) {
    aleatoric[k] /= n;
    epistemic[k] /= n;
  }
  return [aleatoric, epistemic];
}
