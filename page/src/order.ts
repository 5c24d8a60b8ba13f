// Which classes the matrix shows, and in which order: confused classes are neighbors.

import type { Pair as Counted } from "./pairs";

type Pair = Pick<Counted, "first" | "second" | "weight">;

export const MOST_SHOWN = 30;

/** The classes of the worst block: grown along the most frequent confusions, which come first; then the others. */
export function worstBlock(pairs: Pair[], size: number, most: number): number[] {
  const chosen = new Set<number>();
  for (const { first: a, second: b } of pairs.filter((pair) => pair.first !== pair.second)) {
    const more = Number(!chosen.has(a)) + Number(!chosen.has(b));
    if (chosen.size + more > most) continue;
    chosen.add(a);
    chosen.add(b);
    if (chosen.size === most) break;
  }
  for (const { first, second } of pairs) {
    if (chosen.size < most && first === second) chosen.add(first);
  }
  for (let k = 0; k < size && chosen.size < Math.min(most, size); k++) chosen.add(k);
  return [...chosen];
}

/** A chain that appends, at either end, the class most confused with that end. */
export function neighbors(classes: number[], pairs: Pair[]): number[] {
  if (classes.length < 3) return [...classes].sort((a, b) => a - b);
  const position = new Map(classes.map((k, i) => [k, i]));
  const n = classes.length;
  const affinity = new Float64Array(n * n);
  for (const pair of pairs) {
    const [i, j] = [position.get(pair.first), position.get(pair.second)];
    if (i === undefined || j === undefined || i === j) continue;
    affinity[i * n + j] += pair.weight;
    affinity[j * n + i] += pair.weight;
  }
  let [first, second] = [0, 1];
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      if (affinity[i * n + j] > affinity[first * n + second]) [first, second] = [i, j];
    }
  }
  const chain = [first, second];
  const left = new Set(classes.keys());
  left.delete(first);
  left.delete(second);
  while (left.size > 0) {
    let best = { at: -1, end: true, value: -1 };
    for (const k of left) {
      const front = affinity[chain[0] * n + k];
      const back = affinity[chain[chain.length - 1] * n + k];
      if (back > best.value) best = { at: k, end: true, value: back };
      if (front > best.value) best = { at: k, end: false, value: front };
    }
    left.delete(best.at);
    if (best.end) chain.push(best.at);
    else chain.unshift(best.at);
  }
  return chain.map((i) => classes[i]);
}
