// Truth and prediction, or without labels the first and second choice, of all cases: how often each pair occurs.

import { computed } from "@preact/signals";
import { columnOf, inDistribution, padded, weights } from "./cases";
import { R, meta } from "./data";

export const PAIR_KEYS: [string, string] = meta.labelled ? ["truth", "pred"] : ["pred", "second"];

export interface Pair {
  first: number;
  second: number;
  n: number;
  /** Weighted, where rows stand for several cases. */
  weight: number;
  aleatoric: number;
  epistemic: number;
}

/** The most frequent first. */
export const pairs = computed<Pair[]>(() => {
  if (meta.multilabel) return [];
  const [first, second] = PAIR_KEYS.map(columnOf);
  const [au, eu] = [columnOf("aleatoric"), columnOf("epistemic")];
  const base = inDistribution.value;
  if (!first || !second || !au || !eu || !base) return [];
  const size = meta.class_names.length;
  const [auCenter, euCenter] = [padded(au), padded(eu)];
  const w = weights.value;
  const found = new Map<number, Pair>();
  let last: Pair | undefined;
  for (let i = 0; i < R; i++) {
    const [a, b] = [first.codes[i], second.codes[i]];
    if (base[i] === 0 || a === first.missing || b === second.missing) continue;
    if (last?.first !== a || last.second !== b) {
      last = found.get(a * size + b);
      if (last === undefined) {
        last = { first: a, second: b, n: 0, weight: 0, aleatoric: 0, epistemic: 0 };
        found.set(a * size + b, last);
      }
    }
    const wi = w[i];
    last.n++;
    last.weight += wi;
    last.aleatoric += wi * auCenter[au.codes[i]];
    last.epistemic += wi * euCenter[eu.codes[i]];
  }
  return [...found.values()].sort((a, b) => b.weight - a.weight);
});
