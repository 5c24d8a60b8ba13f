import { BYTES, predictedBits, truthBits } from "./cases";
import { meta } from "./data";

/** Names of the labels of a multi-label case. */
export function labelNames(row: number, key: "pred" | "truth" | "second"): string[] {
  const bits = key === "truth" ? truthBits.value : predictedBits.value;
  if (!bits) return [];
  return meta.labels.filter((_, k) => ((bits[row * BYTES + (k >> 3)] >> (k & 7)) & 1) === 1);
}
