// Label-wise uncertainty, as the library computes it: TU = G(mean), AU = mean of G, EU = mean divergence from the mean, never a difference.

/** The generalized entropy G(t) of each loss, with c = 1 − t. @type {Record<string, (t: number, c: number) => number>} */
const ENTROPY = {
  log: (t, c) => -(t > 0 ? t * Math.log2(t) : 0) - (c > 0 ? c * Math.log2(c) : 0),
  squared: (t, c) => t * c,
  spherical: (t, c) => (2 * t * c) / (1 + Math.hypot(t, c)),
  zero_one: (t, c) => Math.min(t, c),
};

/** x ln(x/m) − d ≥ 0 with d = x − m: of near numbers by a series in d/(x + m), without a logarithm. @param {number} x @param {number} m @param {number} d */
function klTerm(x, m, d) {
  if (x + m === 0) return 0;
  const s = d / (x + m), z = s * s;
  if (z >= 1 / 9) return Math.max((x > 0 ? x * Math.log(x / m) : 0) - d, 0);
  let tail = 0;
  for (let n = 33; n >= 3; n -= 2) tail = tail * z + 1 / n;
  return d * s * (1 + s * (1 + s) * tail);
}

/** The divergence of t (with c = 1 − t) from the mean m, d = t − m. @type {Record<string, (t: number, c: number, m: number, mc: number, d: number) => number>} */
const DIVERGENCE = {
  log: (t, c, m, mc, d) => (klTerm(t, m, d) + klTerm(c, mc, -d)) / Math.LN2,
  squared: (t, c, m, mc, d) => d * d,
  spherical: (t, c, m, mc, d) => (d * d) / (Math.hypot(m, mc) * (Math.hypot(t, c) * Math.hypot(m, mc) + t * m + c * mc)),
};

/**
 * Mean divergence of the members ts from their mean; for zero-one loss, whose entropy has a corner, the smaller of the mean regrets.
 * @param {string} loss @param {number[]} ts @param {number[]} weights @param {number} m @param {number} mc
 */
function spread(loss, ts, weights, m, mc) {
  let shift = 0, up = 0, down = 0, sum = 0;
  for (let j = 0; j < ts.length; j++) {
    shift += weights[j] * (ts[j] - ts[0]);
    up += weights[j] * Math.max(2 * ts[j] - 1, 0);
    down += weights[j] * Math.max(1 - 2 * ts[j], 0);
  }
  if (loss === "zero_one") return Math.min(up, down);
  for (let j = 0; j < ts.length; j++) sum += weights[j] * DIVERGENCE[loss](ts[j], 1 - ts[j], m, mc, ts[j] - ts[0] - shift);
  return sum;
}

const FINE = 65535;

/**
 * @typedef {object} Components
 * @property {Record<Part, Float64Array>} labels n × labels
 * @property {Record<Part, Float64Array>} sums n
 */

/** Probability of an event and of its complement under one probability vector. @param {Float64Array} p @param {number} from @param {EventSets} event @returns {[number, number]} */
function eventOf(p, from, event) {
  let inside = 0, rest = 0;
  for (const c of event.inside) inside += p[from + c];
  for (const c of event.rest) rest += p[from + c];
  if (!event.given) return [inside, rest];
  const whole = inside + rest;
  return whole > 0 ? [inside / whole, rest / whole] : [0.5, 0.5];
}

/** The probabilities that the questions are about: of the classes, or of the events (n × m × labels). @param {Sample} s @param {EventSets[] | null} events */
function asked(s, events) {
  if (events === null) return s.probs;
  const out = new Float64Array(s.n * s.m * events.length);
  for (let row = 0; row < s.n * s.m; row++) {
    for (let e = 0; e < events.length; e++) out[row * events.length + e] = eventOf(s.probs, row * s.k, events[e])[0];
  }
  return out;
}

/** Uncertainty of all cases about all labels by one loss. @param {Data} data @param {Sample} s @param {Float64Array} probs from `asked` @param {LossData} loss @returns {Components} */
function decompose(data, s, probs, loss) {
  const L = data.labels.length;
  const G = ENTROPY[loss.key];
  const size = s.n * L;
  const total = new Float64Array(size), aleatoric = new Float64Array(size), epistemic = new Float64Array(size);
  /** @type {number[]} */
  const ts = new Array(s.m).fill(0), weights = new Array(s.m).fill(0);
  const packed = s.parts === null ? null : s.parts[loss.key];
  for (let i = 0; i < s.n; i++) {
    for (let e = 0; e < L; e++) {
      const at = i * L + e;
      if (packed !== null) {
        aleatoric[at] = loss.maximum * (packed[2 * i * L + e] / FINE) ** 2;
        epistemic[at] = loss.maximum * (packed[(2 * i + 1) * L + e] / FINE) ** 2;
        total[at] = aleatoric[at] + epistemic[at];
        continue;
      }
      let mean = 0, inner = 0;
      for (let j = 0; j < s.m; j++) {
        const t = (ts[j] = Math.min(probs[(i * s.m + j) * L + e], 1));
        const w = (weights[j] = weightOf(s, i, j));
        mean += w * t;
        inner += w * G(t, 1 - t);
      }
      mean = Math.min(mean, 1);
      total[at] = G(mean, 1 - mean);
      epistemic[at] = spread(loss.key, ts, weights, mean, 1 - mean);
      aleatoric[at] = inner;
    }
  }
  const labels = { total, aleatoric, epistemic };
  const scale = data.averaged ? 1 / L : 1;
  const sums = /** @type {Record<Part, Float64Array>} */ ({});
  for (const part of PARTS) {
    const sum = new Float64Array(s.n);
    for (let i = 0; i < s.n; i++) {
      let x = 0;
      for (let e = 0; e < L; e++) x += labels[part][i * L + e];
      sum[i] = x * scale;
    }
    sums[part] = sum;
  }
  return { labels, sums };
}

/**
 * Which cases are rejected when a share is: 1, 0, or where equal scores go in random order the probability of it.
 * @param {Float64Array} score @param {number} share @returns {{out: Float64Array, number: number, threshold: number}}
 */
function rejected(score, share) {
  const n = score.length;
  const number = Math.min(Math.floor(n * (share + 1e-12)), n - 1);
  const threshold = number > 0 ? Float64Array.from(score).sort()[n - number] : Infinity;
  let above = 0, equal = 0;
  for (let i = 0; i < n; i++) {
    if (score[i] > threshold) above++;
    else if (score[i] === threshold) equal++;
  }
  const part = equal > 0 ? (number - above) / equal : 0;
  return { out: score.map((x) => (x > threshold ? 1 : x === threshold ? part : 0)), number, threshold };
}
