// A number's values in ranges that are cut at its edges.

import { codesOfRange } from "./selection";
import type { Column } from "./types";

/** Positions of the edges that are nearest to the values, without repetitions; and the ends. */
export function cutsAt(column: Column, values: number[]): number[] {
  const bins = column.centers.length;
  const cuts = values.map((value) => codesOfRange(column, `${value}..`)[0]);
  return [...new Set([0, ...cuts, bins])].filter((at) => at >= 0 && at <= bins);
}

/** For each code the range that it is in; −1 where it is missing. */
export function placesIn(cuts: number[]): Int8Array {
  const place = new Int8Array(65536).fill(-1);
  for (let g = 0; g + 1 < cuts.length; g++) place.fill(g, cuts[g], cuts[g + 1]);
  return place;
}

export interface Range {
  low: number;
  high: number;
  /** As the value of a filter; open at the ends. */
  text: string;
}

/** What lies between the cuts. */
export function rangesOf({ edges }: Column, cuts: number[]): Range[] {
  return cuts.slice(0, -1).map((cut, g) => {
    const [low, high] = [edges[cut], edges[cuts[g + 1]]];
    const from = g === 0 ? "" : String(low);
    const to = g + 2 === cuts.length ? "" : String(high);
    return { low, high, text: `${from}..${to}` };
  });
}
