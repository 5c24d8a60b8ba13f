// All cases as columns: stored ones, those that are derived from them, and dropped ones.

import { type Signal, computed, signal } from "@preact/signals";
import { asNumbers, bytesNamed, numbersNamed, textsNamed } from "./columns";
import type { BlockMeta, Codes, Column, ColumnMeta, Meta } from "./types";

export const meta = JSON.parse(document.getElementById("meta")?.textContent ?? "{}") as Meta;
export const R = meta.rows;
export const K = meta.class_names.length;
export const L = meta.labels.length;
const NONE = new Float64Array(0);

export const columnMetas = signal<ColumnMeta[]>(meta.columns);
const stored = new Map<string, Signal<Column | null>>();
const texts = new Map<string, Signal<string[] | null>>();
const blocks = new Map<string, Signal<Codes | Float32Array | Float64Array | null>>();

export function hasColumn(name: string): boolean {
  return columnMetas.value.some((column) => column.name === name);
}

export function metaOf(name: string): ColumnMeta | undefined {
  return columnMetas.value.find((column) => column.name === name);
}

export function missingCode(dtype: string): number {
  return { u1: 255, u2: 65535, u4: 4294967295 }[dtype] ?? 4294967295;
}

function namesOf(column: ColumnMeta): string[] {
  if (column.names === "classes") return meta.class_names;
  if (column.names === "members") return meta.members?.names ?? [];
  return column.names ?? [];
}

export function makeColumn(column: ColumnMeta, codes: Codes): Column {
  return {
    name: column.name,
    title: column.title,
    kind: column.kind as Column["kind"],
    codes,
    missing: missingCode(column.dtype),
    names: namesOf(column),
    edges: column.edges ? Float64Array.from(column.edges) : NONE,
    centers: column.centers ? Float64Array.from(column.centers) : NONE,
    source: column.source ?? "",
    note: column.note ?? "",
  };
}

/** A stored column, or null while it is being inflated. */
export function storedColumn(name: string): Column | null {
  let found = stored.get(name);
  if (found === undefined) {
    const cell = signal<Column | null>(null);
    found = cell;
    stored.set(name, cell);
    const column = metaOf(name);
    if (column !== undefined && column.kind !== "text") {
      void numbersNamed(name, column.dtype).then((codes) => {
        if (codes !== null) cell.value = makeColumn(column, codes as Codes);
      });
    }
  }
  return found.value;
}

export function addColumn(column: ColumnMeta, codes: Codes): void {
  stored.set(column.name, signal<Column | null>(makeColumn(column, codes)));
  columnMetas.value = [...columnMetas.value.filter((x) => x.name !== column.name), column];
}

export function addTexts(column: ColumnMeta, values: string[]): void {
  texts.set(column.name, signal<string[] | null>(values));
  columnMetas.value = [...columnMetas.value.filter((x) => x.name !== column.name), column];
}

/** A column of texts, or null while it is being inflated. */
export function textColumn(name: string): string[] | null {
  let found = texts.get(name);
  if (found === undefined) {
    const cell = signal<string[] | null>(null);
    found = cell;
    texts.set(name, cell);
    if (metaOf(name)?.kind === "text") void textsNamed(name).then((list) => (cell.value = list));
  }
  return found.value;
}

export function blockMeta(name: string): BlockMeta | null {
  return meta.blocks[name] ?? null;
}

/** The numbers of a block, or null while they are being inflated or if there are none. */
export function block(name: string): Codes | Float32Array | Float64Array | null {
  const about = meta.blocks[name];
  if (about === undefined) return null;
  let found = blocks.get(name);
  if (found === undefined) {
    const cell = signal<Codes | Float32Array | Float64Array | null>(null);
    found = cell;
    blocks.set(name, cell);
    void bytesNamed(name).then((bytes) => {
      if (bytes === null) return;
      const values = asNumbers(bytes, about.dtype);
      if (about.steps) for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
      cell.value = values;
    });
  }
  return found.value;
}

export function setBlock(name: string, about: BlockMeta, values: Codes): void {
  meta.blocks[name] = about;
  blocks.set(name, signal<Codes | Float32Array | Float64Array | null>(values));
}

/** Weights of the rows where they are a sample of all cases. */
export const storedWeights = computed<Float32Array | null>(() => {
  const name = metaOf("weight") ? "weight" : null;
  if (name === null) return null;
  weightCell ??= signal<Float32Array | null>(null);
  if (!weightStarted) {
    weightStarted = true;
    void numbersNamed("weight", "f4").then((values) => {
      if (weightCell) weightCell.value = values as Float32Array;
    });
  }
  return weightCell.value;
});
let weightCell: Signal<Float32Array | null> | null = null;
let weightStarted = false;

const rowOf = computed<Map<string, number>>(() => {
  const ids = meta.ids ? textColumn("id") : null;
  return new Map((ids ?? []).map((id, row) => [id, row]));
});

/** How a row is called: its id, or its number from 1. */
export function nameOfRow(row: number): string {
  const ids = meta.ids ? textColumn("id") : null;
  return ids?.[row] ?? `#${row + 1}`;
}

export function rowNamed(name: string): number | null {
  const row = meta.ids ? rowOf.value.get(name) : undefined;
  if (row !== undefined) return row;
  const match = /^#(\d+)$/.exec(name);
  if (match === null) return null;
  const position = Number(match[1]) - 1;
  return position >= 0 && position < R ? position : null;
}

export function rowsByName(): Map<string, number> {
  return rowOf.value;
}
