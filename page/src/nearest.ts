// The cases whose mean prediction is most like that of the open one.

import { computed } from "@preact/signals-core";
import { inDistribution } from "./cases";
import { currentRow } from "./current";
import { embedded, membersAt, positionOf } from "./members";
import { meanOf } from "./measures";

const SHOWN = 4;

/** Mean predictions of the embedded cases, each once. */
const means = computed(() => {
  const found = embedded.value;
  if (!found) return null;
  const values = new Float32Array(found.n * found.width);
  for (let at = 0; at < found.n; at++) {
    const members = membersAt(at);
    if (members !== null)
      values.set(meanOf(members.probs, found.width, members.weights), at * found.width);
  }
  return values;
});

export const nearest = computed<number[]>(() => {
  const row = currentRow.value;
  if (row === null) return [];
  const found = embedded.value;
  const at = !found ? -1 : positionOf(row, found.rows);
  const values = means.value;
  if (!found || at < 0 || !values) return [];
  const { width, labels, rows, n } = found;
  const own = new Map<number, number>();
  let whole = 0;
  for (let k = 0; k < width; k++) {
    const p = values[at * width + k];
    own.set(labels ? labels[at * width + k] : k, p);
    whole += p;
  }
  const sets = inDistribution.value;
  const mine = sets === null ? 1 : sets[row];
  return smallest(n, at, (other) => {
    if (sets !== null && sets[rows[other]] !== mine) return Infinity;
    let sum = labels ? whole : 0;
    for (let k = 0; k < width; k++) {
      const p = values[other * width + k];
      if (labels) {
        const same = own.get(labels[other * width + k]) ?? 0;
        sum += Math.abs(same - p) - same;
      } else sum += Math.abs(values[at * width + k] - p);
    }
    return sum;
  }).map((position) => rows[position]);
});

function smallest(n: number, self: number, distance: (other: number) => number): number[] {
  const best: { other: number; d: number }[] = [];
  for (let other = 0; other < n; other++) {
    if (other === self) continue;
    const d = distance(other);
    if (d === Infinity || (best.length === SHOWN && d >= best[SHOWN - 1].d)) continue;
    best.push({ other, d });
    best.sort((a, b) => a.d - b.d);
    if (best.length > SHOWN) best.pop();
  }
  return best.map(({ other }) => other);
}
