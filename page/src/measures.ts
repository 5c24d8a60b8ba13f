// The page's own arithmetic; it repeats labelwise/losses/classic.py, losses/_special.py (kl_term), losses/cost.py (zero-one)
// and decisions/ (choose a class, decide on labels), and a test compares both to 1e-12.
// TU = G(mean), AU = mean of G, EU = mean divergence from the mean: never a difference.

export interface Parts {
  total: Float64Array;
  aleatoric: Float64Array;
  epistemic: Float64Array;
}

type Numbers = ArrayLike<number>;

const ENTROPY: Record<string, (t: number, c: number) => number> = {
  log: (t, c) => -(t > 0 ? t * Math.log2(t) : 0) - (c > 0 ? c * Math.log2(c) : 0),
  squared: (t, c) => t * c,
  spherical: (t, c) => (2 * t * c) / (1 + Math.sqrt(t * t + c * c)),
  zero_one: (t, c) => Math.min(t, c),
};

/** x ln(x/m) − d ≥ 0 with d = x − m: of near numbers by a series, without a logarithm. */
function klTerm(x: number, m: number, d: number): number {
  if (x + m === 0) return 0;
  const s = d / (x + m);
  const z = s * s;
  if (z >= 1 / 9) return Math.max((x > 0 ? x * Math.log(x / m) : 0) - d, 0);
  let tail = 0;
  for (let n = 33; n >= 3; n -= 2) tail = tail * z + 1 / n;
  return d * s * (1 + s * (1 + s) * tail);
}

function divergence(loss: string, t: number, m: number, d: number): number {
  if (loss === "squared") return d * d;
  const c = 1 - t;
  const mc = 1 - m;
  if (loss === "log") return (klTerm(t, m, d) + klTerm(c, mc, -d)) / Math.LN2;
  const norm = Math.sqrt(m * m + mc * mc);
  return (d * d) / (norm * (Math.sqrt(t * t + c * c) * norm + t * m + c * mc));
}

/** Label-wise uncertainty of one case; `probs` is members × labels. */
export function decompose(probs: Numbers, labels: number, weights: Numbers, loss: string): Parts {
  const entropy = ENTROPY[loss];
  if (entropy === undefined) throw new Error(`unknown loss: ${loss}`);
  const members = weights.length;
  const total = new Float64Array(labels);
  const aleatoric = new Float64Array(labels);
  const epistemic = new Float64Array(labels);
  for (let k = 0; k < labels; k++) {
    const first = Math.min(probs[k], 1);
    let mean = 0;
    let inner = 0;
    let shift = 0;
    let up = 0;
    let down = 0;
    for (let j = 0; j < members; j++) {
      const t = Math.min(probs[j * labels + k], 1);
      const w = weights[j];
      mean += w * t;
      inner += w * entropy(t, 1 - t);
      shift += w * (t - first);
      up += w * Math.max(2 * t - 1, 0);
      down += w * Math.max(1 - 2 * t, 0);
    }
    mean = Math.min(mean, 1);
    let between = 0;
    if (loss === "zero_one") between = Math.min(up, down);
    else {
      for (let j = 0; j < members; j++) {
        const t = Math.min(probs[j * labels + k], 1);
        between += weights[j] * divergence(loss, t, mean, t - first - shift);
      }
    }
    total[k] = entropy(mean, 1 - mean);
    aleatoric[k] = inner;
    epistemic[k] = between;
  }
  return { total, aleatoric, epistemic };
}

export function meanOf(probs: Numbers, labels: number, weights: Numbers): Float64Array {
  const mean = new Float64Array(labels);
  for (let j = 0; j < weights.length; j++) {
    for (let k = 0; k < labels; k++) mean[k] += weights[j] * probs[j * labels + k];
  }
  return mean;
}

export const ABSTAIN = -1;
export const ASK = -2;

/** Predicting j when the truth is k costs missed[k] + alarm[j]; null: the action is not possible. */
export interface Costs {
  missed: Float64Array;
  alarm: Float64Array;
  abstain: number | null;
  ask: number | null;
  error: number;
}

export interface Decision {
  action: number;
  cost: number;
}

/** Lines intercept + slope · x, of which the lowest is asked for many x ≥ 0: O(log) each instead of O(K). */
class Envelope {
  private lines: { slope: number; intercept: number; start: number }[] = [];

  /** Slopes must come in falling order. */
  add(slope: number, intercept: number): void {
    let start = -Infinity;
    for (;;) {
      const last = this.lines.at(-1);
      if (last === undefined) break;
      if (slope === last.slope && intercept >= last.intercept) return;
      start = (intercept - last.intercept) / (last.slope - slope);
      if (start > last.start && slope !== last.slope) break;
      this.lines.pop();
      start = -Infinity;
    }
    this.lines.push({ slope, intercept, start });
  }

  lowest(x: number): number {
    let low = 0;
    let high = this.lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lines[middle].start <= x) low = middle;
      else high = middle - 1;
    }
    return this.lines[low].intercept + this.lines[low].slope * x;
  }
}

/** Positions of the classes by falling cost of a false alarm; once for all cases. */
export function alarmOrder(costs: Costs): Uint32Array {
  const order = Uint32Array.from(costs.alarm, (_, i) => i);
  return order.sort((a, b) => costs.alarm[b] - costs.alarm[a] || a - b);
}

/** The cheapest of predicting a class, abstaining, asking an expert. O(K log K) at worst. */
export function chooseClass(mean: Numbers, costs: Costs, order = alarmOrder(costs)): Decision {
  const k = mean.length;
  const { missed, alarm, abstain, ask, error } = costs;
  const risks = new Float64Array(k);
  let whole = 0;
  let misses = 0;
  for (let j = 0; j < k; j++) {
    whole += mean[j];
    misses += mean[j] * missed[j];
  }
  let action = 0;
  for (let j = 0; j < k; j++) {
    const rest = Math.max(whole - mean[j], 0);
    risks[j] = Math.max(misses - mean[j] * missed[j], 0) + alarm[j] * rest;
    if (risks[j] < risks[action]) action = j;
  }
  let cost = risks[action];
  if (abstain !== null && abstain * whole < cost) [action, cost] = [ABSTAIN, abstain * whole];
  if (ask === null) return { action, cost };
  const wrong = error / (k - 1);
  const excess = 1 - error - wrong;
  const others = new Envelope();
  for (let i = 0; i < k; i++) {
    const j = order[i];
    others.add(alarm[j], wrong * risks[j]);
  }
  let after = 0;
  for (let a = 0; a < k; a++) {
    // after the answer a the prediction a costs wrong · risks[a]; another j also misses a
    const x = excess * mean[a];
    let value = Math.min(wrong * risks[a], others.lowest(x) + x * missed[a]);
    if (abstain !== null) value = Math.min(value, abstain * (wrong * whole + x));
    after += value;
  }
  if (ask + after < cost) [action, cost] = [ASK, ask + after];
  return { action, cost };
}

/** The cheapest of acting on a label, leaving it, abstaining, asking; t is its probability. */
export function decideLabel(t: number, k: number, costs: Costs): Decision {
  const { missed, alarm, abstain, ask, error } = costs;
  const price = (present: number, absent: number) => {
    const now = Math.min(missed[k] * present, alarm[k] * absent);
    return abstain === null ? now : Math.min(now, abstain * (present + absent));
  };
  const u = 1 - t;
  const now = price(t, u);
  let action = alarm[k] * u < missed[k] * t ? 1 : 0;
  if (abstain !== null && abstain < Math.min(missed[k] * t, alarm[k] * u)) action = ABSTAIN;
  if (ask === null) return { action, cost: now };
  const right = 1 - error;
  const after = price(right * t, error * u) + price(error * t, right * u);
  if (ask + after < now) return { action: ASK, cost: ask + after };
  return { action, cost: now };
}
