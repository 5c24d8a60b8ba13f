// Selections: ordered terms, each a conjunction of filters; and the scan that finds their rows.

import type { Filter, Term } from "./hash";
import type { Codes, Column } from "./types";

/** The selection as if nothing were filtered by `keys`: what a view about these keys counts. */
export function withoutKeys(terms: Term[], keys: string[]): Term[] {
  const found: Term[] = [];
  for (const { add, filters } of terms) {
    const rest = filters.filter((filter) => !keys.includes(filter.key));
    if (add || rest.length === filters.length) found.push({ add, filters: rest });
  }
  if (found.some((term) => term.add && term.filters.length === 0)) {
    // a term without filters is everything, whatever was added before it
    const last = found.findLastIndex((term) => term.add && term.filters.length === 0);
    return found.slice(last + 1).filter((term) => !term.add);
  }
  return found;
}

/** The part of the selection where `filters` hold as well. */
export function narrowed(terms: Term[], filters: Filter[]): Term[] {
  if (filters.length === 0) return terms;
  const start = terms[0]?.add ? [] : [{ add: true, filters: [] as Filter[] }];
  return [...start, ...terms].map((term) =>
    term.add ? { add: true, filters: merged([...term.filters, ...filters]) } : term,
  );
}

function merged(filters: Filter[]): Filter[] {
  const seen = new Set<string>();
  return filters.filter((filter) => {
    const text = JSON.stringify([filter.key, filter.not, filter.values]);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

/** The selection without one of its conditions. */
export function withoutFilter(terms: Term[], at: number, which: number): Term[] {
  return terms
    .map((term, i) =>
      i === at ? { ...term, filters: term.filters.filter((_, j) => j !== which) } : term,
    )
    .filter(({ filters }) => filters.length > 0);
}

export function equals(key: string, ...values: string[]): Filter {
  return { key, values, not: false };
}

export function differs(key: string, ...values: string[]): Filter {
  return { key, values, not: true };
}

/** The position of the edge that is nearest to a number. */
export function nearestEdge(edges: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = edges.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] < value) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && value - edges[low - 1] <= edges[low] - value) return low - 1;
  return low;
}

/** The codes of a range `lo..hi`, snapped to edges: from the first, to before the second. */
export function codesOfRange(column: Column, text: string): [number, number] {
  const at = text.indexOf("..");
  const [from, to] = at < 0 ? [text, text] : [text.slice(0, at), text.slice(at + 2)];
  const bins = column.centers.length;
  const low = from === "" ? 0 : nearestEdge(column.edges, Number(from));
  const high = to === "" ? bins : nearestEdge(column.edges, Number(to));
  return [Math.min(low, bins), Math.max(high, low)];
}

/** For each code whether it passes; null if nothing of it is known. */
export function passing(column: Column, filter: Filter): Uint8Array {
  const passes = new Uint8Array(tableSize(column));
  if (column.kind === "number") {
    for (const value of filter.values) {
      if (value === "") passes[column.missing] = 1;
      else passes.fill(1, ...codesOfRange(column, value));
    }
  } else {
    for (const value of filter.values) {
      const code = codeOf(column, value);
      if (code !== null) passes[code] = 1;
    }
  }
  if (filter.not) for (let i = 0; i < passes.length; i++) passes[i] ^= 1;
  return passes;
}

function tableSize(column: Column): number {
  if (column.codes instanceof Uint8Array) return 256;
  if (column.codes instanceof Uint16Array) return 65536;
  return Math.max(column.names.length, column.centers.length) + 1;
}

const positions = new WeakMap<string[], Map<string, number>>();

/** The code of a name; the empty name is "missing". */
export function codeOf(column: Column, value: string): number | null {
  if (column.kind === "flag") {
    if (value === "") return column.missing;
    return value === "1" ? 1 : 0;
  }
  let byName = positions.get(column.names);
  if (byName === undefined) {
    byName = new Map(column.names.map((name, i) => [name, i]));
    positions.set(column.names, byName);
  }
  const code = byName.get(value);
  if (code !== undefined) return code;
  return value === "" ? column.missing : null;
}

/** mask[i] &= passes[codes[i]]; 32-bit codes beyond the table are "missing", its last entry. */
export function restrict(mask: Uint8Array, codes: Codes, passes: Uint8Array): void {
  const last = passes.length - 1;
  if (codes instanceof Uint32Array) {
    for (let i = 0; i < mask.length; i++) mask[i] &= passes[Math.min(codes[i], last)];
  } else for (let i = 0; i < mask.length; i++) mask[i] &= passes[codes[i]];
}

export function countOnes(mask: Uint8Array): number {
  let n = 0;
  for (let i = 0; i < mask.length; i++) n += mask[i];
  return n;
}

// one list for all masks: four bytes a row for each of them would be most of what the page takes
let list = new Uint32Array(0);
let listedMask: Uint8Array | null = null;
let listedRows = list;

/** The rows of a mask, which must not change any more; valid until those of another are asked for. */
export function rowsIn(mask: Uint8Array): Uint32Array {
  if (mask !== listedMask) {
    if (list.length < mask.length) list = new Uint32Array(mask.length);
    let n = 0;
    for (let i = 0; i < mask.length; i++) {
      list[n] = i;
      n += mask[i];
    }
    listedMask = mask;
    listedRows = list.subarray(0, n);
  }
  return listedRows;
}

const results = new WeakMap<object, Map<string, unknown>>();

/** What was computed of a mask before; `key` says what, and by which settings. */
export function remembered<T>(mask: Uint8Array, key: string, compute: () => T | null): T | null {
  let known = results.get(mask);
  if (known === undefined) results.set(mask, (known = new Map()));
  if (known.has(key)) return known.get(key) as T;
  const found = compute();
  if (found !== null) known.set(key, found);
  return found;
}

/** Rows by code, counted into place: O(rows + codes). Missing values come last. */
export function sortedRows(
  among: Uint32Array,
  codes: Codes,
  missing: number,
  falling: boolean,
  into = new Uint32Array(among.length),
): Uint32Array {
  let largest = 0;
  const n = among.length;
  for (let i = 0; i < n; i++) {
    const code = codes[among[i]];
    if (code !== missing && code > largest) largest = code;
  }
  const bins = largest + 2;
  const place = new Uint32Array(bins);
  for (let code = 0; code <= largest; code++) place[code] = falling ? largest - code : code;
  const last = bins - 1;
  const start = new Uint32Array(bins + 1);
  for (let i = 0; i < n; i++) {
    const code = codes[among[i]];
    start[(code === missing ? last : place[code]) + 1]++;
  }
  for (let b = 0; b < bins; b++) start[b + 1] += start[b];
  const rows = into.subarray(0, n);
  for (let i = 0; i < n; i++) {
    const row = among[i];
    const code = codes[row];
    rows[start[code === missing ? last : place[code]]++] = row;
  }
  return rows;
}
