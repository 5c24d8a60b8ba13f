// Which column a key means, which rows a selection has, and the figures of these rows.

import { computed, signal } from "@preact/signals-core";
import {
  L,
  R,
  block,
  columnMetas,
  flagColumn,
  hasColumn,
  meta,
  metaOf,
  noCodes,
  numberColumn,
  storedColumn,
  storedWeights,
  textColumn,
  sampled,
} from "./data";
import { type Filter, type Term, writeTerms } from "./hash";
import { recomputed, recomputedBits, switchedOff } from "./members";
import { passing, restrict, rowsIn, sortedRows, withoutKeys } from "./selection";
import { now as current, state } from "./state";
import type { Codes, Column } from "./types";

const PARTS = ["total", "aleatoric", "epistemic"];
export const ALIASES: Record<string, string> = { pred: "predicted" };
export const LABEL_KEYS = ["hit", "missed", "alarm", "has"];

/** Columns that other modules derive: refer, decision, tag, and probabilities of classes. */
export const derived = new Map<string, () => Column | null>();
/** Counts up when a derived or dropped column changes without a change of the state. */
export const epoch = signal(0);

export function isKnown(key: string): boolean {
  if (LABEL_KEYS.includes(key)) return meta.multilabel;
  if (key.startsWith("p:")) return meta.labels.includes(key.slice(2));
  if (derived.has(key) || PARTS.includes(key)) return true;
  return hasColumn(ALIASES[key] ?? key);
}

export function columnName(key: string): string {
  if (PARTS.includes(key)) return `${key}.${current.loss}`;
  return ALIASES[key] ?? key;
}

/** The column that a key of the state means; null while it is loading. */
export function columnOf(key: string): Column | null {
  const make = derived.get(key);
  if (make !== undefined) return make();
  if (key.startsWith("p:")) return probabilityColumn(meta.labels.indexOf(key.slice(2)));
  const name = columnName(key);
  return recomputed.value?.columns.get(name) ?? storedColumn(name);
}

const ofTheModel = /^(predicted|second|truth|(total|aleatoric|epistemic)\..*)$/;

/** Columns that cases can be grouped by. */
export const groupable = computed(() =>
  columnMetas.value.filter(
    ({ name, kind }) => ["category", "number"].includes(kind) && !ofTheModel.test(name),
  ),
);

export const numeric = computed(() => groupable.value.filter(({ kind }) => kind === "number"));

const slices = new Map<number, Column>();

/** The probability of one label by the mean, where it is embedded for all cases. */
function probabilityColumn(label: number): Column | null {
  const about = meta.blocks["mean"];
  const codes = block("mean") as Codes | null;
  if (label < 0 || about === undefined || !codes || !about.edges || !about.values) return null;
  let found = slices.get(label);
  if (found === undefined) {
    const own = noCodes(about.values.length);
    for (let i = 0; i < R; i++) own[i] = codes[i * L + label];
    const name = meta.labels[label];
    found = numberColumn("p:" + name, "probability of " + name, own, about.edges, about.values);
    slices.set(label, found);
  }
  return found;
}

export const truthBits = computed(() => block("truth_labels") as Uint8Array | null);
export const predictedBits = computed(() => {
  const now = recomputed.value;
  return now !== null && recomputedBits !== null
    ? recomputedBits
    : (block("predicted_labels") as Uint8Array | null);
});
export const BYTES = Math.ceil(L / 8);

/** Whether each row is wrong: 1, 0, or 255 without truth; multi-label: any label. */
export const wrong = computed<Column | null>(() => {
  if (!meta.labelled) return null;
  const codes = new Uint8Array(R);
  if (meta.multilabel) {
    const [truth, said] = [truthBits.value, predictedBits.value];
    if (!truth || !said) return null;
    for (let i = 0; i < R; i++) {
      for (let b = i * BYTES; b < (i + 1) * BYTES; b++) if (truth[b] !== said[b]) codes[i] = 1;
    }
    const set = hasColumn("dataset") ? storedColumn("dataset") : null;
    if (set !== null) for (let i = 0; i < R; i++) if (set.codes[i] !== 0) codes[i] = 255;
  } else {
    const truth = columnOf("truth");
    const predicted = columnOf("pred");
    if (!truth || !predicted) return null;
    const [t, p] = [truth.codes, predicted.codes];
    for (let i = 0; i < R; i++) {
      if (t[i] === truth.missing || p[i] === predicted.missing) codes[i] = 255;
      else codes[i] = t[i] === p[i] ? 0 : 1;
    }
  }
  return flagColumn("wrong", "wrong", codes);
});
derived.set("wrong", () => wrong.value);

/** Rows where any of the labels was hit, missed or falsely predicted. */
function labelMask(filter: Filter): Uint8Array | null {
  const said = predictedBits.value;
  // without labels a hit is what is predicted
  const truth = meta.labelled ? truthBits.value : said;
  if (!truth || !said) return null;
  const out = new Uint8Array(R);
  const wanted = { hit: [1, 1], missed: [1, 0], alarm: [0, 1] }[filter.key] ?? [1, 1];
  for (const name of filter.values) {
    const label = meta.labels.indexOf(name);
    if (label < 0) continue;
    const [byte, bit] = [label >> 3, label & 7];
    for (let i = 0; i < R; i++) {
      const t = (truth[i * BYTES + byte] >> bit) & 1;
      const p = (said[i * BYTES + byte] >> bit) & 1;
      if (t === wanted[0] && (p === wanted[1] || filter.key === "has")) out[i] = 1;
    }
  }
  if (filter.not) for (let i = 0; i < R; i++) out[i] ^= 1;
  return out;
}

/** Rows whose text (an id, say) contains one of the values. */
function applyText(mask: Uint8Array, filter: Filter): boolean {
  const texts = textColumn(filter.key);
  if (!texts) return false;
  const wanted = filter.values.map((value) => value.toLowerCase());
  for (let i = 0; i < mask.length; i++) {
    if (mask[i] === 0) continue;
    const text = (texts[i] ?? "").toLowerCase();
    if (wanted.some((value) => text.includes(value)) === filter.not) mask[i] = 0;
  }
  return true;
}

function applyFilter(mask: Uint8Array, filter: Filter): boolean {
  if (LABEL_KEYS.includes(filter.key)) {
    const own = labelMask(filter);
    if (own === null) return false;
    for (let i = 0; i < mask.length; i++) mask[i] &= own[i];
    return true;
  }
  if (metaOf(filter.key)?.kind === "text") return applyText(mask, filter);
  const column = columnOf(filter.key);
  if (!column) return false;
  restrict(mask, column.codes, passing(column, filter));
  return true;
}

/** Rows that take part at all: in distribution, and embedded while members are switched off. */
export const inDistribution = computed<Uint8Array | null>(() => {
  if (sampled && storedWeights.value === null) return null;
  const mask = everyRow();
  if (hasColumn("dataset")) {
    const set = storedColumn("dataset");
    if (set === null) return null;
    for (let i = 0; i < R; i++) if (set.codes[i] !== 0) mask[i] = 0;
  }
  return mask;
});

function everyRow(): Uint8Array {
  return recomputed.value?.rows.slice() ?? new Uint8Array(R).fill(1);
}

const cache = new Map<string, Uint8Array>();
const MOST_CACHED = R > 300_000 ? 8 : 24;

const settings = computed(() =>
  [current.loss, [...switchedOff.value], recomputed.value !== null, epoch.value].join("|"),
);
/** What the policy is; part of the name of all that depends on it. */
export const referKey = computed(() => `${current.refer}|${current.costs}`);

/** The rows of a selection as 0 and 1; null while a column is loading. Must not be changed. */
export function maskOf(terms: Term[], everywhere = false): Uint8Array | null {
  const flagged = terms.some(({ filters }) =>
    filters.some(({ key }) => key === "flagged" || key === "decision"),
  );
  const policy = flagged ? referKey.value : "";
  const key = `${everywhere}#${settings.value}#${policy}#${writeTerms(terms)}`;
  const known = cache.get(key);
  if (known !== undefined) {
    cache.delete(key);
    cache.set(key, known);
    return known;
  }
  const mask = makeMask(terms, everywhere);
  if (!mask) return null;
  if (cache.size >= MOST_CACHED) cache.delete(cache.keys().next().value as string);
  cache.set(key, mask);
  return mask;
}

function makeMask(terms: Term[], everywhere: boolean): Uint8Array | null {
  const all: Term[] = terms[0]?.add ? [] : [{ add: true, filters: [] }];
  let mask: Uint8Array | null = null;
  for (const { add, filters } of [...all, ...terms]) {
    const anywhere = everywhere || filters.some(({ key }) => key === "dataset");
    const own = anywhere ? everyRow() : inDistribution.value?.slice();
    if (own === undefined) return null;
    for (const filter of filters) if (!applyFilter(own, filter)) return null;
    if (!mask) mask = own;
    else if (add) for (let i = 0; i < R; i++) mask[i] |= own[i];
    else for (let i = 0; i < R; i++) mask[i] &= own[i] ^ 1;
  }
  return mask;
}

/** The selection but for a view's own keys; the same array as long as the rest is the same. */
export function contextOf(keys: () => string[], everywhere: () => boolean = () => false) {
  return computed(() => maskOf(withoutKeys(current.terms, keys()), everywhere()));
}

const termsKey = computed(() => writeTerms(current.terms));
export const selected = computed(() => {
  void termsKey.value;
  return maskOf(state.peek().terms);
});

const ONES = new Uint8Array(R).fill(1);

/** How many cases each row stands for: 1, unless they are a sample or members are switched off. */
export const weights = computed(() => recomputed.value?.weights ?? storedWeights.value ?? ONES);

const paddings = new WeakMap<Float64Array, Float64Array>();

/** Centers with 0 for codes that are missing, so that sums need no test. */
export function padded(column: Column): Float64Array {
  let found = paddings.get(column.centers);
  if (found === undefined) {
    found = new Float64Array(Math.min(column.missing, 65535) + 1);
    found.set(column.centers);
    paddings.set(column.centers, found);
  }
  return found;
}

const order = new Uint32Array(R);

/** The selected rows in the order of the list; written over by the next selection. */
export const listed = computed<Uint32Array | null>(() => {
  const mask = selected.value;
  const sort = current.sort;
  if (!mask) return null;
  const falling = sort.startsWith("-");
  const column = columnOf(falling ? sort.slice(1) : sort);
  if (!column) return null;
  return sortedRows(rowsIn(mask), column.codes, column.missing, falling, order);
});

export function titleOf(key: string): string {
  if (key.startsWith("p:")) return `probability of ${key.slice(2)}`;
  if (PARTS.includes(key)) {
    return current.loss === "log" ? `${key}, bits` : key;
  }
  return metaOf(columnName(key))?.title ?? key;
}
