// Three sentences to start with; each names its cases.

import { computed } from "@preact/signals";
import { columnOf, inDistribution, wrong } from "./cases";
import { R, meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { nearestEdge } from "./selection";

export interface Finding {
  name: string;
  before: string;
  n: number;
  after: string;
  filters: Filter[];
}

const SURE = 0.9;

/** Cells of truth × predicted that are wrong, with their numbers of cases and sums. */
const confusions = computed(() => {
  if (!meta.labelled || meta.multilabel) return [];
  const [truth, predicted] = [columnOf("truth"), columnOf("pred")];
  const [au, eu] = [columnOf("aleatoric"), columnOf("epistemic")];
  const base = inDistribution.value;
  if (!truth || !predicted || !au || !eu || !base) return [];
  const size = meta.class_names.length;
  const cells = new Map<number, { n: number; au: number; eu: number }>();
  for (let i = 0; i < R; i++) {
    const [t, p] = [truth.codes[i], predicted.codes[i]];
    if (t === p || base[i] === 0 || t === truth.missing || p === predicted.missing) continue;
    const key = t * size + p;
    let cell = cells.get(key);
    if (cell === undefined) cells.set(key, (cell = { n: 0, au: 0, eu: 0 }));
    cell.n++;
    cell.au += au.centers[au.codes[i]];
    cell.eu += eu.centers[eu.codes[i]];
  }
  return [...cells].map(([key, cell]) => ({
    truth: meta.class_names[Math.floor(key / size)],
    predicted: meta.class_names[key % size],
    n: cell.n,
    share: cell.au + cell.eu > 0 ? cell.eu / (cell.au + cell.eu) : 0,
  }));
});

export const findings = computed<Finding[]>(() => {
  const found: Finding[] = [];
  const top = columnOf("top");
  const base = inDistribution.value;
  const errors = meta.labelled ? wrong.value : null;
  if (top && errors && base && top.edges.length > 1) {
    const at = nearestEdge(top.edges, SURE);
    let n = 0;
    for (let i = 0; i < R; i++) {
      if (
        base[i] === 1 &&
        errors.codes[i] === 1 &&
        top.codes[i] >= at &&
        top.codes[i] !== top.missing
      )
        n++;
    }
    found.push({
      name: "sure",
      before: "Sure and wrong:",
      n,
      after: ` with at least ${format.percent(top.edges[at], 0)} for a wrong prediction.`,
      filters: [
        { key: "wrong", values: ["1"], not: false },
        { key: "top", values: [`${top.edges[at]}..`], not: false },
      ],
    });
  }
  const cells = confusions.value;
  const most = cells.reduce((best, cell) => (cell.n > (best?.n ?? 0) ? cell : best), cells[0]);
  const cell = (name: string, which: (typeof cells)[number], after: string) =>
    found.push({
      name,
      before: `${which.truth} taken for ${which.predicted}:`,
      n: which.n,
      after,
      filters: [
        { key: "truth", values: [which.truth], not: false },
        { key: "pred", values: [which.predicted], not: false },
      ],
    });
  if (most && most.n > 1) cell("most", most, ", the most frequent confusion.");
  const many = cells.filter((each) => each.n >= Math.max(meta.fewest ?? 10, 10));
  if (many.length > 1 && meta.second_order !== "none") {
    const apart = many.reduce((best, each) => (each.share > best.share ? each : best));
    const share = format.percent(apart.share, 0);
    if (apart !== most)
      cell("apart", apart, `, where the model disagrees with itself most (${share} epistemic).`);
  }
  return found;
});
