// Three sentences to start with; each names its cases.

import { computed } from "@preact/signals-core";
import { columnOf, maskOf } from "./cases";
import { meta, secondOrder } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { type Pair, pairs } from "./pairs";
import { countOnes, equals, nearestEdge } from "./selection";

export interface Finding {
  name: string;
  before: string;
  n: number;
  after: string;
  filters: Filter[];
}

const SURE = 0.9;
const FEWEST = 10; // cases of a confusion whose share is compared

export const findings = computed<Finding[]>(() => {
  const found: Finding[] = [];
  const top = columnOf("top");
  if (meta.labelled && top && top.edges.length > 1) {
    // an edge from which on there are cases
    const edge = top.edges[Math.min(nearestEdge(top.edges, SURE), top.edges.length - 2)];
    const filters = [equals("wrong", "1"), equals("top", `${edge}..`)];
    const mask = maskOf([{ add: true, filters }]);
    if (mask !== null)
      found.push({
        name: "sure",
        before: "Sure and wrong:",
        n: countOnes(mask),
        after: ` with at least ${format.percent(edge, 0)} for a wrong prediction.`,
        filters,
      });
  }
  if (!meta.labelled) return found;
  const confused = pairs.value.filter(({ first, second }) => first !== second);
  const add = (name: string, { first, second, n }: Pair, after: string) => {
    const names = [meta.class_names[first], meta.class_names[second]];
    const filters = [equals("truth", names[0]), equals("pred", names[1])];
    const [truth, predicted] = names.map(format.isolated);
    found.push({ name, before: `${truth} taken for ${predicted}:`, n, after, filters });
  };
  const most = confused.find(({ n }) => n > 1);
  if (most) add("most", most, ", the most frequent confusion.");
  const many = confused.filter(({ n }) => n >= FEWEST);
  if (many.length > 1 && secondOrder !== "none") {
    const share = ({ aleatoric, epistemic }: Pair) => epistemic / (aleatoric + epistemic || 1);
    const apart = many.reduce((best, pair) => (share(pair) > share(best) ? pair : best));
    const words = format.percent(share(apart), 0);
    if (apart !== most)
      add("apart", apart, `, where the model disagrees with itself most (${words} epistemic).`);
  }
  return found;
});
