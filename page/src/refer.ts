// The policy: which cases are referred, as a column like any other.

import { computed } from "@preact/signals-core";
import {
  columnOf,
  derived,
  inDistribution,
  predictedBits,
  truthBits,
  BYTES,
  weights,
} from "./cases";
import { K, R, flagColumn, meta } from "./data";
import { embedded, membersAt, switchedOn } from "./members";
import { ABSTAIN, ASK, type Costs, alarmOrder, chooseClass, decideLabel, meanOf } from "./measures";
import { now as current } from "./state";
import type { Codes, Column } from "./types";

export interface Policy {
  kind: "all" | "each" | "class" | "costs";
  share: number;
  by: string;
  label: string;
}

/** `all:.1:total`, `each:.1:total`, `class:melanoma:.95:total` or `costs`. */
export function readPolicy(text: string): Policy {
  const [kind, ...rest] = text.split(":");
  const usual: Policy = { kind: "all", share: 0.1, by: "total", label: "" };
  if (kind === "costs") return { ...usual, kind };
  if (kind !== "all" && kind !== "each" && kind !== "class") return usual;
  // the name of a class may have colons of its own
  const at = kind === "class" ? rest.length - 2 : 0;
  const share = Number(rest[at]);
  const given = share >= 0 && share <= 1;
  return {
    kind,
    share: given ? share : kind === "class" ? 0.95 : 0.1,
    by: rest[at + 1] || "total",
    label: rest.slice(0, Math.max(at, 0)).join(":"),
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

export const policy = computed(() => readPolicy(current.refer));

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
  if (!given) return NO_COSTS;
  const [missed, alarm] = [usual(given.missed), usual(given.alarm)];
  const of: CostTexts["of"] = {};
  meta.class_names.forEach((name, k) => {
    const own = [given.missed[k], given.alarm[k]];
    if (own[0] !== missed || own[1] !== alarm)
      of[name] = [own[0] === missed ? "" : String(own[0]), own[1] === alarm ? "" : String(own[1])];
  });
  const text = (x: number | null) => (x === null ? "" : String(x));
  return {
    missed: String(missed),
    alarm: String(alarm),
    abstain: text(given.abstain),
    ask: text(given.ask),
    error: given.error ? String(Number((100 * given.error).toPrecision(12))) : "",
    of,
  };
}

/** The median: what most classes have, if there is such a cost. */
function usual(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

/** A cost as typed, `otherwise` if there is none; throws what is wrong with it. */
function amount<T>(text: string, what: string, otherwise: T): number | T {
  if (text.trim() === "") return otherwise;
  const x = Number(text);
  if (x >= 0 && x < Infinity) return x;
  throw new Error(`The ${what} must be a nonnegative number; got “${text}”.`);
}

/** The costs as numbers; null if none were given. */
function parseCosts({ missed, alarm, abstain, ask, error, of }: CostTexts): Costs | null {
  const own = Object.entries(of);
  const given = [missed, alarm, abstain, ask, ...Object.values(of).flat()];
  if (given.every((text) => text.trim() === "")) return null;
  const each = (x: number) => new Float64Array(K).fill(x);
  const costs: Costs = {
    missed: each(amount(missed, "cost of a miss", 1)),
    alarm: each(amount(alarm, "cost of a false alarm", meta.multilabel ? 1 : 0)),
    abstain: amount(abstain, "cost of abstaining", null),
    ask: amount(ask, "cost of asking", null),
    error: amount(error, "expert’s error rate", 0) / 100,
  };
  if (costs.error >= 1) throw new Error("The expert’s error rate must be below 100 %.");
  for (const [name, [ofMiss, ofAlarm]] of own) {
    const k = meta.class_names.indexOf(name);
    if (k < 0) continue;
    costs.missed[k] = amount(ofMiss, `cost of missing ${name}`, costs.missed[k]);
    costs.alarm[k] = amount(ofAlarm, `cost of a false alarm of ${name}`, costs.alarm[k]);
  }
  return costs;
}

export const costTexts = computed(() => readCosts(current.costs));
/** The costs, or what is wrong with them; null if none were given. */
export const costs = computed<Costs | string | null>(() => {
  try {
    return parseCosts(costTexts.value);
  } catch (error) {
    return (error as Error).message;
  }
});

export interface Plan {
  /** Per row: 0 predict, 1 abstain, 2 ask; 255 where the members are not embedded. */
  action: Uint8Array;
  /** By position among the cases with embedded members. */
  cost: Float64Array;
}

/** What the costs say about each embedded case. */
export const plan = computed<Plan | null>(() => {
  const given = costs.value;
  const found = embedded.value;
  if (!given || typeof given === "string" || !found) return null;
  const action = new Uint8Array(R).fill(255);
  const cost = new Float64Array(found.n);
  const partial = found.labels !== null;
  const order = partial ? undefined : alarmOrder(given);
  for (let at = 0; at < found.n; at++) {
    const members = switchedOn(membersAt(at)!);
    const row = found.rows[at];
    const mean = meanOf(members.probs, members.labels.length, members.weights);
    if (meta.multilabel) {
      action[row] = 0;
      for (let k = 0; k < mean.length; k++) {
        const one = decideLabel(Math.min(mean[k], 1), members.labels[k], given);
        cost[at] += one.cost;
        if (one.action === ASK) action[row] = 2;
        else if (one.action === ABSTAIN && action[row] === 0) action[row] = 1;
      }
      continue;
    }
    const one = chooseClass(mean, partial ? costsOf(given, members.labels) : given, order);
    cost[at] = one.cost;
    action[row] = one.action === ASK ? 2 : one.action === ABSTAIN ? 1 : 0;
  }
  return { action, cost };
});

/** How many of the rows with embedded members there is each action for; and their mean cost, weighted by how many cases each stands for. */
export function planOf(rows: Uint8Array): { counts: number[]; cost: number; n: number } {
  const counts = [0, 0, 0];
  let [cost, weight, n] = [0, 0, 0];
  const [now, found] = [plan.value, embedded.value];
  if (now === null || !found) return { counts, cost: NaN, n };
  for (let at = 0; at < found.n; at++) {
    const row = found.rows[at];
    if (rows[row] === 0) continue;
    counts[now.action[row]]++;
    cost += found.sampling[at] * now.cost[at];
    weight += found.sampling[at];
    n++;
  }
  return { counts, cost: cost / weight, n };
}

function costsOf(costs: Costs, labels: Uint32Array): Costs {
  const of = (values: Float64Array) => Float64Array.from(labels, (label) => values[label]);
  return { ...costs, missed: of(costs.missed), alarm: of(costs.alarm) };
}

/** `top` is certainty: its lowest values are the most uncertain. */
export function isFalling(by: string): boolean {
  return by !== "top";
}

/** Groups that are counted at once: a table of groups × bins must stay small for any number of classes. */
const TABLE = 1 << 20;

/** For each group the code from which on its most uncertain cases are referred: of all edges the one whose share is nearest. */
function cutsOfShare(
  column: Column,
  share: number,
  base: Uint8Array,
  falling: boolean,
  groups: Codes,
  size: number,
): Int32Array {
  const { codes, missing } = column;
  const bins = column.centers.length;
  const cuts = new Int32Array(size).fill(falling ? bins : -1);
  const w = weights.value;
  const atOnce = Math.max(1, Math.floor(TABLE / bins));
  for (let first = 0; first < size; first += atOnce) {
    const some = Math.min(atOnce, size - first);
    const table = new Float64Array(some * bins);
    const sums = new Float64Array(some);
    for (let i = 0; i < R; i++) {
      const g = groups[i] - first;
      if (base[i] === 0 || g < 0 || g >= some) continue;
      if (codes[i] !== missing) table[g * bins + codes[i]] += w[i];
      sums[g] += w[i];
    }
    for (let g = 0; g < some; g++) {
      if (sums[g] === 0) continue; // of very many classes, most are never predicted
      const counts = table.subarray(g * bins, (g + 1) * bins);
      cuts[first + g] = cutOf(counts, share * sums[g], falling);
    }
  }
  return cuts;
}

function cutOf(counts: Float64Array, wanted: number, falling: boolean): number {
  const bins = counts.length;
  let cut = falling ? bins : -1;
  let taken = 0;
  for (let b = 0; b < bins; b++) {
    const code = falling ? bins - 1 - b : b;
    if (counts[code] === 0) continue;
    const next = taken + counts[code];
    if (Math.abs(next - wanted) >= Math.abs(taken - wanted)) break;
    taken = next;
    cut = code;
  }
  return cut;
}

/** Rows at or beyond the cut of their group; 255 where the number is missing. */
function beyond(column: Column, falling: boolean, cuts: Int32Array, groups: Codes): Uint8Array {
  const out = new Uint8Array(R);
  const { codes, missing } = column;
  const last = cuts.length - 1;
  for (let i = 0; i < R; i++) {
    const code = codes[i];
    const cut = cuts[Math.min(groups[i], last)];
    if (code === missing) out[i] = 255;
    else if (falling ? code >= cut : code <= cut) out[i] = 1;
  }
  return out;
}

/** Refer cases not predicted as the class, most suspicious first, until enough of the class is caught. */
function referForClass(
  column: Column,
  { label, share }: Policy,
  base: Uint8Array,
  falling: boolean,
): Uint8Array {
  const bins = column.centers.length;
  const missed = new Float64Array(bins);
  const { has, says } = labelRows(meta.labels.indexOf(label));
  const w = weights.value;
  let [positives, caught] = [0, 0];
  for (let i = 0; i < R; i++) {
    if (base[i] === 0 || has[i] === 0) continue;
    positives += w[i];
    if (says[i] === 1) caught += w[i];
    else if (column.codes[i] !== column.missing) missed[column.codes[i]] += w[i];
  }
  const step = falling ? -1 : 1;
  const never = falling ? bins : -1;
  let cut = never;
  while (caught < share * positives - 1e-9 && cut + step >= 0 && cut + step < bins) {
    cut += step;
    caught += missed[cut];
  }
  return beyond(column, falling, Int32Array.from([cut, never]), says);
}

/** 1 for rows that have a label, and for those where it is predicted; of classes, events or multi-label data. */
export function labelRows(label: number): { has: Uint8Array; says: Uint8Array } {
  const [has, says] = [new Uint8Array(R), new Uint8Array(R)];
  if (meta.multilabel) {
    const [byte, bit] = [label >> 3, label & 7];
    const mark = (out: Uint8Array, bits: Uint8Array | null) => {
      if (bits) for (let i = 0; i < R; i++) out[i] = (bits[i * BYTES + byte] >> bit) & 1;
    };
    mark(has, truthBits.value);
    mark(says, predictedBits.value);
    return { has, says };
  }
  const inside = new Uint8Array(65536);
  if (!meta.events) inside[label] = 1;
  else for (const k of meta.events[label]?.inside ?? []) inside[k] = 1;
  const mark = (out: Uint8Array, codes: Codes | undefined) => {
    if (codes) for (let i = 0; i < R; i++) out[i] = inside[codes[i]];
  };
  mark(has, columnOf("truth")?.codes);
  mark(says, columnOf("pred")?.codes);
  return { has, says };
}

export const refer = computed<Column | null>(() => {
  const now = policy.value;
  const base = inDistribution.value;
  if (!base) return null;
  let codes: Uint8Array;
  if (now.kind === "costs") {
    codes = new Uint8Array(R).fill(255);
    const found = plan.value;
    if (found !== null)
      for (let i = 0; i < R; i++)
        codes[i] = Math.min(found.action[i], found.action[i] === 255 ? 255 : 1);
  } else {
    const column = columnOf(measureKey(now));
    const predicted = columnOf("pred");
    if (column?.kind !== "number" || (!meta.multilabel && !predicted)) return null;
    const falling = isFalling(now.by);
    if (now.kind === "class") codes = referForClass(column, now, base, falling);
    else {
      const each = now.kind === "each" && predicted !== null;
      const [groups, size] = each ? [predicted.codes, K] : [new Uint8Array(R), 1];
      const cuts = cutsOfShare(column, now.share, base, falling, groups, size);
      codes = beyond(column, falling, cuts, groups);
    }
  }
  return flagColumn("flagged", "flagged", codes);
});
derived.set("flagged", () => refer.value);

export const decision = computed<Column | null>(() => {
  const found = plan.value;
  if (!found) return null;
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
