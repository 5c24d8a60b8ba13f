// The open case: the one named in the state, else the first of the list.

import { computed } from "@preact/signals-core";
import { listed } from "./cases";
import { nameOfRow, rowNamed } from "./data";
import { go, now as current } from "./state";

export const currentRow = computed<number | null>(() => {
  const name = current.case;
  if (name !== "") return rowNamed(name);
  return listed.value?.[0] ?? null;
});

export const placeInList = computed<number>(() => {
  const row = currentRow.value;
  return row === null || listed.value === null ? -1 : listed.value.indexOf(row);
});

export function openCase(row: number, how: "push" | "replace" = "push"): void {
  go({ case: nameOfRow(row) }, how);
}

export function step(by: number): void {
  const rows = listed.value;
  if (!rows || rows.length === 0) return;
  const next = Math.min(Math.max(placeInList.value + by, 0), rows.length - 1);
  openCase(rows[next], "replace");
}
