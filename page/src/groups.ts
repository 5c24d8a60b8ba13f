// The rows of the table: sums over the cases of each group.

import { computed } from "@preact/signals-core";
import {
  BYTES,
  LABEL_KEYS,
  columnOf,
  contextOf,
  predictedBits,
  referKey,
  truthBits,
  weights,
} from "./cases";
import { L, R, block, blockMeta, hasColumn, meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { wilson } from "./intervals";
import { recomputed } from "./members";
import { rangesOf } from "./ranges";
import { differs, equals, remembered, rowsIn } from "./selection";
import { now as current } from "./state";
import { type Sums, accuracyOf, effective, noSums, sumsBy } from "./sums";
import type { Codes, Column } from "./types";

export interface Group {
  name: string;
  n: number;
  wrong: number;
  /** Wrong, or missed, and flagged. */
  known: number;
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
  wrongFilters: Filter[];
  alarmFilters: Filter[];
}

export interface Grouped {
  by: string;
  keys: string[];
  groups: Group[];
  classes: boolean;
  /** The groups have an order of their own: bins of a number, set sizes. */
  ordered: boolean;
}

const NUMBER_GROUPS = 8;
const CLASS_KEYS = ["truth", "pred"];

function groupFrom(sums: Sums, name: string, is: Filter[]): Group {
  const accuracy = accuracyOf(sums);
  const share = sums.labelledWeight / sums.weight;
  const [low, high] = wilson(accuracy, effective(sums) * share);
  return {
    name,
    n: sums.n,
    wrong: sums.wrong,
    known: sums.known,
    alarms: 0,
    flagged: sums.flagged,
    accuracy,
    low,
    high,
    aleatoric: sums.aleatoric / sums.weight,
    epistemic: sums.epistemic / sums.weight,
    gap: sums.labelledTop / sums.labelledWeight - accuracy,
    coverage: sums.covered / sums.inSets,
    is,
    wrongFilters: [...is, equals("wrong", "1")],
    alarmFilters: [],
  };
}

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
  if (by === "member" || !mask) return null;
  // not with half of what is needed, which would be remembered
  if (by === "class" && hasLabelParts() && !(block("aleatoric") && block("epistemic"))) return null;
  return remembered(mask, `by ${by} ${referKey.value}`, () => {
    if (by === "class") return meta.multilabel ? byLabel(mask) : byClass(mask);
    const column = columnOf(by);
    if (!column) return null;
    return column.kind === "number" ? byNumber(by, column, mask) : byName(by, column, mask);
  });
});

/** The groups of these names and filters, and one more of rows where the value is missing. */
function groupsOf(
  by: string,
  mask: Uint8Array,
  column: Column,
  place: Int32Array,
  known: [string, Filter][],
  ordered: boolean,
): Grouped | null {
  place[place.length - 1] = known.length;
  const sums = sumsBy(mask, column.codes, place, known.length + 1);
  if (!sums) return null;
  const all: [string, Filter][] = [...known, ["missing", equals(by, "")]];
  const groups = all.map(([name, filter], g) => groupFrom(sums[g], name, [filter]));
  return { by, keys: [by], groups: groups.filter(({ n }) => n > 0), classes: false, ordered };
}

function placesOf(column: Column, size: number): Int32Array {
  return new Int32Array(Math.max(Math.min(column.missing, 65535), size) + 1).fill(-1);
}

function byName(by: string, column: Column, mask: Uint8Array): Grouped | null {
  const flag = column.kind === "flag";
  const names = flag ? ["no", "yes"] : column.names;
  const place = placesOf(column, names.length);
  for (let k = 0; k < names.length; k++) place[k] = k;
  const known = names.map((name, k): [string, Filter] => [
    name,
    equals(by, flag ? String(k) : name),
  ]);
  return groupsOf(by, mask, column, place, known, by === "set_size" || by === "dataset");
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
  const place = placesOf(column, bins);
  const cuts = [0];
  let taken = 0;
  for (let b = 0; b < bins; b++) {
    place[b] = cuts.length - 1;
    taken += counts[b];
    if (taken >= (cuts.length * n) / NUMBER_GROUPS && b + 1 < bins) cuts.push(b + 1);
  }
  const known = rangesOf(column, [...cuts, bins]).map(({ low, high, text }): [string, Filter] => [
    `${format.number(low)} to ${format.number(high)}`,
    equals(by, text),
  ]);
  return groupsOf(by, mask, column, place, known, true);
}

/** Classes or events: cases by truth, missed by it, false alarms by prediction. */
function byClass(mask: Uint8Array): Grouped | null {
  const sets = meta.events?.map(({ inside }) => inside) ?? meta.class_names.map((_, k) => [k]);
  const parts = labelParts(mask);
  // events that overlap are counted one by one
  const apart = meta.events !== null && meta.structure !== "partition";
  const groups: Group[] = [];
  for (const [first, some] of apart
    ? sets.map((inside, e) => [e, [inside]] as const)
    : ([[0, sets]] as const)) {
    const found = groupsOfClasses(mask, some, first, parts);
    if (!found) return null;
    groups.push(...found);
  }
  return { by: "class", keys: CLASS_KEYS, groups, classes: true, ordered: false };
}

/** Groups of classes of which each class has at most one; their labels from the `first` on. */
function groupsOfClasses(
  mask: Uint8Array,
  sets: readonly number[][],
  first: number,
  parts: PartsByLabel | null,
): Group[] | null {
  const predicted = columnOf("pred");
  const truth = meta.labelled ? columnOf("truth") : predicted;
  const refer = columnOf("flagged");
  if (!predicted || !truth || !refer) return null;
  const place = new Int32Array(65536).fill(-1);
  sets.forEach((inside, g) => inside.forEach((k) => (place[k] = g)));
  const sums = sumsBy(mask, truth.codes, place, sets.length);
  if (!sums) return null;
  const [missed, known, alarms] = [0, 1, 2].map(() => new Uint32Array(sets.length));
  const rows = rowsIn(mask);
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    const [t, p] = [place[truth.codes[i]], place[predicted.codes[i]]];
    if (t === p || truth.codes[i] === truth.missing) continue;
    if (p >= 0) alarms[p]++;
    if (t >= 0) {
      missed[t]++;
      if (refer.codes[i] === 1) known[t]++;
    }
  }
  const groups: Group[] = [];
  const absent = hasColumn("dataset") ? [""] : [];
  sets.forEach((inside, g) => {
    if (sums[g].n === 0 && alarms[g] === 0) return;
    const names = inside.map((k) => meta.class_names[k]);
    const is = equals(meta.labelled ? "truth" : "pred", ...names);
    const group = groupFrom(sums[g], meta.labels[first + g], [is]);
    [group.wrong, group.known, group.alarms] = [missed[g], known[g], alarms[g]];
    group.wrongFilters = [is, differs("pred", ...names)];
    group.alarmFilters = [differs("truth", ...names, ...absent), equals("pred", ...names)];
    withParts(group, parts, first + g);
    groups.push(group);
  });
  return groups;
}

function byLabel(mask: Uint8Array): Grouped | null {
  const [truth, said] = [truthBits.value, predictedBits.value];
  const refer = columnOf("flagged");
  if (!said || !refer || (meta.labelled && !truth)) return null;
  const parts = labelParts(mask);
  const groups = meta.labels.map((name, k) => {
    const is = equals(meta.labelled ? "has" : "hit", name);
    const group = groupFrom(noSums(), name, [is]);
    group.wrongFilters = [equals("missed", name)];
    group.alarmFilters = [equals("alarm", name)];
    withParts(group, parts, k);
    return group;
  });
  const rows = rowsIn(mask);
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    for (let k = 0; k < L; k++) {
      const at = i * BYTES + (k >> 3);
      const p = (said[at] >> (k & 7)) & 1;
      const t = !truth ? p : (truth[at] >> (k & 7)) & 1;
      if (t === 1) {
        groups[k].n++;
        if (refer.codes[i] === 1) groups[k].flagged++;
      }
      if (t === 1 && p === 0) {
        groups[k].wrong++;
        if (refer.codes[i] === 1) groups[k].known++;
      } else if (t === 0 && p === 1) groups[k].alarms++;
    }
  }
  return { by: "class", keys: LABEL_KEYS, groups, classes: true, ordered: false };
}

type PartsByLabel = [Float64Array, Float64Array];

function withParts(group: Group, parts: PartsByLabel | null, k: number): void {
  if (parts !== null) [group.aleatoric, group.epistemic] = [parts[0][k], parts[1][k]];
}

/** Whether uncertainty (log loss) is embedded for every label of every case. */
export function hasLabelParts(): boolean {
  return blockMeta("aleatoric") !== null && current.loss === "log" && recomputed.value === null;
}

/** Mean label-wise uncertainty over a mask. */
function labelParts(mask: Uint8Array): PartsByLabel | null {
  if (!hasLabelParts()) return null;
  const w = weights.value;
  const [aleatoric, epistemic] = ["aleatoric", "epistemic"].map((part) => {
    const values = blockMeta(part)?.values ?? [];
    const codes = block(part) as Codes;
    const sums = new Float64Array(L);
    let whole = 0;
    for (const i of rowsIn(mask)) {
      const wi = w[i];
      whole += wi;
      for (let k = 0; k < L; k++) sums[k] += wi * values[codes[i * L + k]];
    }
    return sums.map((sum) => sum / whole);
  });
  return [aleatoric, epistemic];
}
