// The policy: which cases are referred, as a column like any other.

import { computed } from "@preact/signals";
import {
  columnOf,
  derived,
  flagColumn,
  inDistribution,
  predictedBits,
  truthBits,
  BYTES,
} from "./cases";
import { R, meta } from "./data";
import { embedded, membersAt, recomputed, switchedOn } from "./members";
import { ABSTAIN, ASK, type Costs, alarmOrder, chooseClass, decideLabel, meanOf } from "./measures";
import { rowsIn, sortedRows } from "./selection";
import { now as current } from "./state";
import type { Column } from "./types";

export interface Policy {
  kind: "all" | "each" | "class" | "costs";
  share: number;
  by: string;
  label: string;
}

/** `all:.1:total`, `each:.1:total`, `class:melanoma:.95:total` or `costs`. */
export function readPolicy(text: string): Policy {
  const parts = text.split(":");
  const kind = parts[0];
  const usual: Policy = { kind: "all", share: 0.1, by: "total", label: "" };
  if (kind === "costs") return { ...usual, kind };
  if (kind === "class") {
    const by = parts.pop() ?? "total";
    const share = Number(parts.pop());
    return {
      kind,
      share: share >= 0 && share <= 1 ? share : 0.95,
      by,
      label: parts.slice(1).join(":"),
    };
  }
  if (kind !== "all" && kind !== "each") return usual;
  const share = Number(parts[1]);
  return {
    ...usual,
    kind,
    share: share >= 0 && share <= 1 ? share : 0.1,
    by: parts[2] || "total",
  };
}

export function writePolicy({ kind, share, by, label }: Policy): string {
  if (kind === "costs") return kind;
  if (kind === "class") return `class:${label}:${share}:${by}`;
  return `${kind}:${share}:${by}`;
}

/** The column that cases are referred by; "p" is the probability of the policy's class. */
export function measureKey({ by, label }: Policy): string {
  if (by === "p") return `p:${label}`;
  return ["total", "aleatoric", "epistemic", "top"].includes(by) ? by : "total";
}

export const policy = computed(() => readPolicy(referText.value));
const referText = computed(() => current.refer);
const costsText = computed(() => current.costs);

/** Costs as typed: invalid texts are kept, and make the plan "not computed". */
export interface CostTexts {
  missed: string;
  alarm: string;
  abstain: string;
  ask: string;
  error: string;
  of: Record<string, [string, string]>;
}

export const NO_COSTS: CostTexts = {
  missed: "",
  alarm: "",
  abstain: "",
  ask: "",
  error: "",
  of: {},
};

export function readCosts(text: string): CostTexts {
  if (text === "") return costsGiven();
  try {
    return { ...NO_COSTS, ...(JSON.parse(text) as Partial<CostTexts>) };
  } catch {
    return NO_COSTS;
  }
}

/** The costs that came with the report. */
function costsGiven(): CostTexts {
  const given = meta.costs;
  if (given === null) return NO_COSTS;
  const table = given.tables?.[meta.multilabel ? "per_label" : "multiclass"] ?? {
    missed: given.missed ?? [],
    alarm: given.alarm ?? [],
  };
  const usual = mostCommon(table.missed);
  const usualAlarm = mostCommon(table.alarm);
  const of: CostTexts["of"] = {};
  table.missed.forEach((missed, k) => {
    const alarm = table.alarm[k];
    if (missed === usual && alarm === usualAlarm) return;
    of[meta.class_names[k]] = [
      missed === usual ? "" : String(missed),
      alarm === usualAlarm ? "" : String(alarm),
    ];
  });
  const text = (x: number | null) => (x === null ? "" : String(x));
  return {
    missed: text(usual),
    alarm: text(usualAlarm),
    abstain: text(given.abstain),
    ask: text(given.ask),
    error: given.error ? String(Number((100 * given.error).toPrecision(12))) : "",
    of,
  };
}

function mostCommon(values: number[]): number | null {
  const times = new Map<number, number>();
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1);
  let best: number | null = null;
  for (const [value, n] of times) if (best === null || n > (times.get(best) ?? 0)) best = value;
  return best;
}

/** The costs as numbers, or what is wrong with them; null if none were given. */
export function parseCosts(texts: CostTexts): Costs | string | null {
  const given = [
    texts.missed,
    texts.alarm,
    texts.abstain,
    texts.ask,
    ...Object.values(texts.of).flat(),
  ];
  if (given.every((text) => text.trim() === "")) return null;
  const read = (text: string, what: string): number | null | string => {
    if (text.trim() === "") return null;
    const x = Number(text);
    return Number.isFinite(x) && x >= 0
      ? x
      : `${what} must be a nonnegative number; got “${text}”.`;
  };
  const missed = read(texts.missed, "The cost of a miss");
  const alarm = read(texts.alarm, "The cost of a false alarm");
  const abstain = read(texts.abstain, "The cost of abstaining");
  const ask = read(texts.ask, "The cost of asking");
  const error = read(texts.error, "The expert’s error rate");
  for (const value of [missed, alarm, abstain, ask, error])
    if (typeof value === "string") return value;
  if (Number(error ?? 0) >= 100) return "The expert’s error rate must be below 100 %.";
  const names = meta.class_names;
  const costs: Costs = {
    missed: new Float64Array(names.length).fill(Number(missed ?? 1)),
    alarm: new Float64Array(names.length).fill(Number(alarm ?? (meta.multilabel ? 1 : 0))),
    abstain: abstain as number | null,
    ask: ask as number | null,
    error: Number(error ?? 0) / 100,
  };
  for (const [name, [ofMiss, ofAlarm]] of Object.entries(texts.of)) {
    const k = names.indexOf(name);
    const own = read(ofMiss, `The cost of missing ${name}`);
    const false_ = read(ofAlarm, `The cost of a false alarm of ${name}`);
    if (typeof own === "string") return own;
    if (typeof false_ === "string") return false_;
    if (k >= 0 && own !== null) costs.missed[k] = own;
    if (k >= 0 && false_ !== null) costs.alarm[k] = false_;
  }
  return costs;
}

export const costTexts = computed(() => readCosts(costsText.value));
export const costs = computed(() => parseCosts(costTexts.value));

export interface Plan {
  /** Per row: 0 predict, 1 abstain, 2 ask; 255 where the members are not embedded. */
  action: Uint8Array;
  cost: Float64Array;
  choice: Int32Array;
}

/** What the costs say about each embedded case. */
export const plan = computed<Plan | null>(() => {
  const given = costs.value;
  const found = embedded.value;
  if (given === null || typeof given === "string" || found === null) return null;
  const action = new Uint8Array(R).fill(255);
  const cost = new Float64Array(R).fill(NaN);
  const choice = new Int32Array(R).fill(-1);
  const partial = found.labels !== undefined;
  const order = partial ? undefined : alarmOrder(given);
  for (let at = 0; at < found.n; at++) {
    const members = switchedOn(membersAt(at)!);
    const row = found.rows[at];
    const mean = meanOf(members.probs, members.labels.length, members.weights);
    if (meta.multilabel) {
      action[row] = 0;
      cost[row] = 0;
      for (let k = 0; k < mean.length; k++) {
        const one = decideLabel(Math.min(mean[k], 1), members.labels[k], given);
        cost[row] += one.cost;
        if (one.action === ASK) action[row] = 2;
        else if (one.action === ABSTAIN && action[row] === 0) action[row] = 1;
      }
      continue;
    }
    const one = chooseClass(mean, partial ? costsOf(given, members.labels) : given, order);
    cost[row] = one.cost;
    if (one.action >= 0) choice[row] = members.labels[one.action];
    action[row] = one.action === ASK ? 2 : one.action === ABSTAIN ? 1 : 0;
  }
  return { action, cost, choice };
});

function costsOf(costs: Costs, labels: Uint32Array): Costs {
  const of = (values: Float64Array) => Float64Array.from(labels, (label) => values[label]);
  return { ...costs, missed: of(costs.missed), alarm: of(costs.alarm) };
}

/** Rows with the highest codes, cut at the edge whose number is nearest to the one wanted. */
function mostUncertain(column: Column, wanted: number, base: Uint8Array, falling: boolean): number {
  const counts = new Uint32Array(column.centers.length);
  for (let i = 0; i < R; i++)
    if (base[i] === 1 && column.codes[i] !== column.missing) counts[column.codes[i]]++;
  let taken = 0;
  const order = Array.from(counts.keys());
  if (falling) order.reverse();
  let cut = 0;
  for (const code of order) {
    if (Math.abs(taken + counts[code] - wanted) >= Math.abs(taken - wanted) && counts[code] > 0)
      break;
    taken += counts[code];
    cut++;
  }
  return cut;
}

/** `top` is certainty: its lowest values are the most uncertain. */
export function isFalling(by: string): boolean {
  return by !== "top";
}

function referAll(column: Column, share: number, base: Uint8Array, falling: boolean): Uint8Array {
  let n = 0;
  for (let i = 0; i < R; i++) n += base[i];
  const cut = mostUncertain(column, share * n, base, falling);
  const out = new Uint8Array(R);
  const bins = column.centers.length;
  for (let i = 0; i < R; i++) {
    const code = column.codes[i];
    if (code === column.missing) out[i] = 255;
    else if (falling ? code >= bins - cut : code < cut) out[i] = 1;
  }
  return out;
}

/** The same share of each predicted class; each cut at an edge of its own. */
function referEach(column: Column, share: number, base: Uint8Array, falling: boolean): Uint8Array {
  const out = new Uint8Array(R);
  const predicted = columnOf("pred");
  if (predicted === null) return referAll(column, share, base, falling);
  const size = meta.class_names.length;
  const wanted = new Float64Array(size);
  for (let i = 0; i < R; i++) if (base[i] === 1) wanted[predicted.codes[i]] += share;
  const taken = new Float64Array(size);
  const open = new Uint8Array(size).fill(1);
  const cuts = new Int32Array(size).fill(falling ? column.centers.length : -1);
  const inBin = new Uint32Array(size);
  const rows = sortedRows(rowsIn(base), column.codes, column.missing, falling);
  for (let i = 0; i < rows.length;) {
    const code = column.codes[rows[i]];
    if (code === column.missing) break;
    const touched: number[] = [];
    for (; i < rows.length && column.codes[rows[i]] === code; i++) {
      const c = predicted.codes[rows[i]];
      if (inBin[c]++ === 0) touched.push(c);
    }
    for (const c of touched) {
      if (open[c] === 1) {
        const more = Math.abs(taken[c] + inBin[c] - wanted[c]) < Math.abs(taken[c] - wanted[c]);
        if (more) {
          taken[c] += inBin[c];
          cuts[c] = code;
        } else open[c] = 0;
      }
      inBin[c] = 0;
    }
  }
  for (let i = 0; i < R; i++) {
    const code = column.codes[i];
    const c = predicted.codes[i];
    if (code === column.missing || c === predicted.missing) out[i] = 255;
    else if (falling ? code >= cuts[c] : code <= cuts[c]) out[i] = 1;
  }
  return out;
}

/** Refer cases not predicted as the class, most suspicious first, until enough of the class is caught. */
function referForClass(
  column: Column,
  policy: Policy,
  base: Uint8Array,
  falling: boolean,
): Uint8Array {
  const out = new Uint8Array(R);
  const label = meta.labels.indexOf(policy.label);
  const bins = column.centers.length;
  const missed = new Uint32Array(bins);
  const { has, says } = labelTests(label);
  let positives = 0;
  let caught = 0;
  for (let i = 0; i < R; i++) {
    if (base[i] === 0 || !has(i)) continue;
    positives++;
    if (says(i)) caught++;
    else if (column.codes[i] !== column.missing) missed[column.codes[i]]++;
  }
  let cut = falling ? bins : -1;
  const step = falling ? -1 : 1;
  while (caught < policy.share * positives - 1e-9 && cut + step >= 0 && cut + step < bins) {
    cut += step;
    caught += missed[cut];
  }
  for (let i = 0; i < R; i++) {
    const code = column.codes[i];
    if (code === column.missing) out[i] = 255;
    else if (!says(i) && (falling ? code >= cut : code <= cut)) out[i] = 1;
  }
  return out;
}

/** Whether a row has a label, and whether it is predicted; of classes, events or multi-label data. */
export function labelTests(label: number): {
  has: (i: number) => boolean;
  says: (i: number) => boolean;
} {
  if (meta.multilabel) {
    const [truth, said] = [truthBits.value, predictedBits.value];
    const test = (bits: Uint8Array | null) => (i: number) =>
      bits !== null && ((bits[i * BYTES + (label >> 3)] >> (label & 7)) & 1) === 1;
    return { has: test(truth), says: test(said) };
  }
  const inside = new Uint8Array(65536);
  if (meta.events === null) inside[label] = 1;
  else for (const k of meta.events[label]?.inside ?? []) inside[k] = 1;
  const truth = columnOf("truth")?.codes;
  const predicted = columnOf("pred")?.codes;
  return {
    has: (i) => truth !== undefined && inside[truth[i]] === 1,
    says: (i) => predicted !== undefined && inside[predicted[i]] === 1,
  };
}

export const refer = computed<Column | null>(() => {
  const now = policy.value;
  const base = inDistribution.value;
  if (base === null) return null;
  let codes: Uint8Array;
  if (now.kind === "costs") {
    codes = new Uint8Array(R).fill(255);
    const found = plan.value;
    if (found !== null)
      for (let i = 0; i < R; i++)
        codes[i] = Math.min(found.action[i], found.action[i] === 255 ? 255 : 1);
  } else {
    const column = columnOf(measureKey(now));
    if (
      column === null ||
      column.kind !== "number" ||
      (!meta.multilabel && columnOf("pred") === null)
    )
      return null;
    const rows = recomputed.value?.rows;
    const within = rows === undefined ? base : base.map((x, i) => x & rows[i]);
    const falling = isFalling(now.by);
    if (now.kind === "each" && !meta.multilabel)
      codes = referEach(column, now.share, within, falling);
    else if (now.kind === "class") codes = referForClass(column, now, within, falling);
    else codes = referAll(column, now.share, within, falling);
  }
  return flagColumn("flagged", "flagged", codes);
});
derived.set("flagged", () => refer.value);

export const decision = computed<Column | null>(() => {
  const found = plan.value;
  if (found === null) return null;
  const column = flagColumn("decision", "decision", found.action);
  return { ...column, kind: "category", names: ["predict", "abstain", "ask"] };
});
derived.set("decision", () => decision.value);

/** The policy in words. */
export const policyWords = computed(() => {
  const { kind, share, by, label } = policy.value;
  const percentage = Number((100 * share).toPrecision(6));
  const measure =
    by === "top"
      ? "the lowest probability"
      : by === "p"
        ? `the highest probability of ${label}`
        : `the most ${by} uncertainty`;
  if (kind === "costs") return "abstain or ask, by the costs given";
  if (kind === "each") return `the ${percentage} % of each predicted class with ${measure}`;
  if (kind === "class")
    return `so many that ${percentage} % of ${label} are predicted or referred, by ${measure}`;
  return `the ${percentage} % of all cases with ${measure}`;
});
