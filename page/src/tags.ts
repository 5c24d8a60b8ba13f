// Tags and notes of cases; kept in memory until they are exported.

import { computed, signal } from "@preact/signals-core";
import { derived, epoch } from "./cases";
import { R, flagColumn } from "./data";

export interface Tag {
  tag: string;
  note: string;
}

export const tags = signal<Map<number, Tag>>(new Map());
export const unsaved = signal(false);

export function setTags(changes: [row: number, patch: Partial<Tag>][]): void {
  const next = new Map(tags.value);
  for (const [row, patch] of changes) {
    const now = { ...(next.get(row) ?? { tag: "", note: "" }), ...patch };
    if (now.tag === "" && now.note === "") next.delete(row);
    else next.set(row, now);
  }
  tags.value = next;
  unsaved.value = next.size > 0;
  epoch.value++;
}

const column = computed(() => {
  const names = [
    ...new Set([...tags.value.values()].map(({ tag }) => tag).filter((tag) => tag !== "")),
  ].sort();
  const codes = new Uint8Array(R).fill(255);
  for (const [row, { tag }] of tags.value)
    if (tag !== "") codes[row] = Math.min(names.indexOf(tag), 254);
  return { ...flagColumn("tag", "tag", codes), kind: "category" as const, names };
});
derived.set("tag", () => column.value);

addEventListener("beforeunload", (event) => {
  if (unsaved.value) event.preventDefault();
});
