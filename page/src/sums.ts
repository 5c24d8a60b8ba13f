// Sums over the rows of groups, in one pass: what the sentence, the table and the policy show.

import { computed } from "@preact/signals-core";
import { columnOf, maskOf, padded, referKey, selected, weights, wrong } from "./cases";
import { hasColumn, meta } from "./data";
import { remembered, rowsIn } from "./selection";
import type { Codes } from "./types";

/** Numbers of rows; and sums of their weights, which are 1 unless rows stand for several cases. */
export interface Sums {
  n: number;
  right: number;
  wrong: number;
  known: number;
  flagged: number;
  weight: number;
  squares: number;
  labelledWeight: number;
  rightWeight: number;
  flaggedWeight: number;
  aleatoric: number;
  epistemic: number;
  top: number;
  labelledTop: number;
  inSets: number;
  covered: number;
}

export function noSums(): Sums {
  return {
    n: 0,
    right: 0,
    wrong: 0,
    known: 0,
    flagged: 0,
    weight: 0,
    squares: 0,
    labelledWeight: 0,
    rightWeight: 0,
    flaggedWeight: 0,
    aleatoric: 0,
    epistemic: 0,
    top: 0,
    labelledTop: 0,
    inSets: 0,
    covered: 0,
  };
}

/** The number of cases that are worth as much as these rows with their weights. */
export function effective({ weight, squares }: Sums): number {
  return squares > 0 ? (weight * weight) / squares : 0;
}

export function accuracyOf(sums: Sums): number {
  return sums.rightWeight / sums.labelledWeight;
}

/** Sums by group; `place` gives the group of a code, or −1. Null while a column is loading. */
export function sumsBy(
  mask: Uint8Array,
  codes: Codes,
  place: Int32Array,
  size: number,
): Sums[] | null {
  const [au, eu, refer, top] = ["aleatoric", "epistemic", "flagged", "top"].map(columnOf);
  const errors = meta.labelled ? wrong.value : null;
  const cover = hasColumn("covered") ? columnOf("covered") : null;
  const w = weights.value;
  if (!au || !eu || !refer || !top) return null;
  if (meta.labelled && errors === null) return null;
  if (hasColumn("covered") && cover === null) return null;
  const sums = Array.from({ length: size }, noSums);
  const [auCenter, euCenter, topCenter] = [padded(au), padded(eu), padded(top)];
  const [a, e, f, t, x] = [au.codes, eu.codes, refer.codes, top.codes, errors?.codes];
  const last = place.length - 1;
  const rows = rowsIn(mask);
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    const g = place[Math.min(codes[i], last)];
    if (g < 0) continue;
    const own = sums[g];
    const wi = w[i];
    const sure = wi * topCenter[t[i]];
    own.n++;
    own.weight += wi;
    own.squares += wi * wi;
    own.aleatoric += wi * auCenter[a[i]];
    own.epistemic += wi * euCenter[e[i]];
    own.top += sure;
    if (f[i] === 1) {
      own.flagged++;
      own.flaggedWeight += wi;
    }
    if (x !== undefined && x[i] !== 255) {
      own.labelledWeight += wi;
      own.labelledTop += sure;
      if (x[i] === 0) {
        own.right++;
        own.rightWeight += wi;
      } else {
        own.wrong++;
        if (f[i] === 1) own.known++;
      }
    }
    if (cover !== null && cover.codes[i] !== 255) {
      own.inSets += wi;
      own.covered += wi * cover.codes[i];
    }
  }
  return sums;
}

const ALL = new Int32Array(1);

function sumsOf(mask: Uint8Array | null): Sums | null {
  const aleatoric = columnOf("aleatoric");
  if (mask === null || aleatoric === null) return null;
  return remembered(mask, "sums " + referKey.value, () => {
    const sums = sumsBy(mask, aleatoric.codes, ALL, 1);
    return sums && sums[0];
  });
}

/** Sums over what is selected, and over all cases. */
export const figures = computed(() => sumsOf(selected.value));
export const allFigures = computed(() => sumsOf(maskOf([])));
