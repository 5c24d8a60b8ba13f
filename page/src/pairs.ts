// Truth and prediction, or without labels the first and second choice, of all cases: how often each pair occurs.

import { computed } from "@preact/signals-core";
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

const FEW = 1 << 20; // pairs of classes that have a place in an array from the start

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
  const found: Pair[] = [];
  const places = new Array<Pair | undefined>(size * size > FEW ? 0 : size * size);
  for (let i = 0; i < R; i++) {
    const [a, b] = [first.codes[i], second.codes[i]];
    if (base[i] === 0 || a === first.missing || b === second.missing) continue;
    let pair = places[a * size + b];
    if (pair === undefined) {
      pair = { first: a, second: b, n: 0, weight: 0, aleatoric: 0, epistemic: 0 };
      places[a * size + b] = pair;
      found.push(pair);
    }
    const wi = w[i];
    pair.n++;
    pair.weight += wi;
    pair.aleatoric += wi * auCenter[au.codes[i]];
    pair.epistemic += wi * euCenter[eu.codes[i]];
  }
  return found.sort((a, b) => b.weight - a.weight);
});
