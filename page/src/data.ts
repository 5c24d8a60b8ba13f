// All cases as columns: stored ones, those that are derived from them, and dropped ones.

import { type Signal, computed, signal } from "@preact/signals-core";
import { asNumbers, bytesNamed } from "./columns";
import type { BlockMeta, Codes, Column, ColumnMeta, Meta } from "./types";

export const meta = JSON.parse(document.getElementById("meta")?.textContent ?? "{}") as Meta;
export const R = meta.rows;
export const K = meta.class_names.length;
export const L = meta.labels.length;

const named = meta.columns.find(({ name }) => name === "id");
/** Cases have ids; else a case is known by its number from 1, in a sample as a column of its own. */
export const hasIds = named !== undefined && !named.numbered;
/** Rows stand for several cases. */
export const sampled = "weight" in meta.blocks;
/** Uncertainty is the mean over events that overlap instead of their sum. */
export const averaged = /overlapping|pairs/.test(meta.structure);
const many = meta.members.length === 0 ? "draws" : "members";
export const secondOrder = meta.members.length === 1 ? "none" : many;

export const columnMetas = signal<ColumnMeta[]>(meta.columns);

type Numbers = Codes | Float32Array | Float64Array;

/** What is inflated when it is first asked for: null until then. */
class Lazy<T> {
  private cells = new Map<string, Signal<T | null>>();
  private loading = new Map<string, Promise<void>>();
  constructor(private load: (name: string) => Promise<T | null>) {}

  get(name: string): T | null {
    void this.wait(name);
    return this.cells.get(name)?.value ?? null;
  }

  wait(name: string): Promise<void> {
    let done = this.loading.get(name);
    if (done === undefined) {
      this.set(name, null);
      done = this.load(name).then((value) => this.set(name, value));
      this.loading.set(name, done);
    }
    return done;
  }

  set(name: string, value: T | null): void {
    const cell = this.cells.get(name);
    if (cell) cell.value = value;
    else this.cells.set(name, signal<T | null>(value));
    if (value !== null) this.loading.set(name, Promise.resolve());
  }
}

/** When these columns can be read at once. */
export async function loaded(names: string[]): Promise<void> {
  for (const name of names)
    await (metaOf(name)?.kind === "text" ? texts.wait(name) : stored.wait(name));
}

async function numbersNamed(name: string, dtype = "u1"): Promise<Numbers | null> {
  const bytes = await bytesNamed(name);
  return bytes && asNumbers(bytes, dtype);
}

const stored = new Lazy<Column>(async (name) => {
  const column = metaOf(name);
  if (column === undefined || column.kind === "text") return null;
  const codes = await numbersNamed(name, column.dtype);
  return codes && makeColumn(column, codes as Codes);
});

const texts = new Lazy<string[]>(async (name) => {
  const bytes = metaOf(name)?.kind === "text" ? await bytesNamed(name) : null;
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as string[]);
});

const blocks = new Lazy<Numbers>(async (name) => {
  const values = await numbersNamed(name, meta.blocks[name].dtype);
  if (values && meta.blocks[name].steps)
    for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
  return values;
});

export function hasColumn(name: string): boolean {
  return columnMetas.value.some((column) => column.name === name);
}

export function metaOf(name: string): ColumnMeta | undefined {
  return columnMetas.value.find((column) => column.name === name);
}

/** The largest code of its type is "missing". */
function missingOf(codes: Codes): number {
  return 256 ** codes.BYTES_PER_ELEMENT - 1;
}

/** "missing" for all rows, in the smallest type for so many codes. */
export function noCodes(size: number, rows = R): Codes {
  const codes = size < 255 ? new Uint8Array(rows) : new Uint16Array(rows);
  return codes.fill(missingOf(codes));
}

export function makeColumn(column: ColumnMeta, codes: Codes): Column {
  return {
    name: column.name,
    title: column.title,
    kind: column.kind as Column["kind"],
    codes,
    missing: missingOf(codes),
    names: column.names === "classes" ? meta.class_names : (column.names ?? []),
    edges: Float64Array.from(column.edges ?? []),
    centers: Float64Array.from(column.centers ?? []),
  };
}

/** The same with other codes, of which the largest is "missing". */
export function withCodes(column: Column, codes: Codes): Column {
  return { ...column, codes, missing: missingOf(codes) };
}

const NONE = new Float64Array(0);

/** Yes, no, or missing: 1, 0, 255. */
export function flagColumn(name: string, title: string, codes: Codes): Column {
  return { name, title, kind: "flag", codes, missing: 255, names: [], edges: NONE, centers: NONE };
}

/** Numbers as bins. */
export function numberColumn(
  name: string,
  title: string,
  codes: Codes,
  edges: ArrayLike<number>,
  centers: ArrayLike<number>,
): Column {
  return {
    ...flagColumn(name, title, codes),
    kind: "number",
    missing: missingOf(codes),
    edges: Float64Array.from(edges),
    centers: Float64Array.from(centers),
  };
}

/** A stored column, or null while it is being inflated. */
export function storedColumn(name: string): Column | null {
  return stored.get(name);
}

function addMeta(column: ColumnMeta): void {
  columnMetas.value = [...columnMetas.value.filter((x) => x.name !== column.name), column];
}

export function addColumn(column: ColumnMeta, codes: Codes): void {
  stored.set(column.name, makeColumn(column, codes));
  addMeta(column);
}

export function addTexts(column: ColumnMeta, values: string[]): void {
  texts.set(column.name, values);
  addMeta(column);
}

/** A column of texts, or null while it is being inflated. */
export function textColumn(name: string): string[] | null {
  return texts.get(name);
}

export function blockMeta(name: string): BlockMeta | null {
  return meta.blocks[name] ?? null;
}

/** The numbers of a block, or null while they are being inflated or if there are none. */
export function block(name: string): Numbers | null {
  return meta.blocks[name] ? blocks.get(name) : null;
}

export function setBlock(name: string, about: BlockMeta, values: Codes): void {
  meta.blocks[name] = about;
  blocks.set(name, values);
}

/** Weights of the rows where they are a sample of all cases; null while they are being inflated. */
export const storedWeights = computed(() => block("weight") as Float32Array | null);

const rowOf = computed<Map<string, number>>(() => {
  const ids = named ? textColumn("id") : null;
  return new Map((ids ?? []).map((id, row) => [id, row]));
});

/** How a row is called: its id, or its number from 1. */
export function nameOfRow(row: number): string {
  const ids = named ? textColumn("id") : null;
  return ids?.[row] ?? `#${row + 1}`;
}

export function rowNamed(name: string): number | null {
  const row = rowOf.value.get(name);
  if (row !== undefined || sampled) return row ?? null;
  const match = /^#(\d+)$/.exec(name);
  if (match === null) return null;
  const position = Number(match[1]) - 1;
  return position >= 0 && position < R ? position : null;
}

export function rowsByName(): Map<string, number> {
  return rowOf.value;
}
