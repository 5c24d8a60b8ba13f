// The data of the page: summaries, and the unpacked predictions.

/** @typedef {"total" | "aleatoric" | "epistemic"} Part */
/** @typedef {Record<Part, number>} Three */
/** @typedef {Record<Part | "epistemic_share" | "cases", (number | null)[]>} LabelMeans */
/** @typedef {{value: number[], area: number, normalized: number | null, augrc: number}} Curve */
/**
 * @typedef {object} LossData
 * @property {string} key
 * @property {string} name
 * @property {string} unit
 * @property {number} maximum
 * @property {number | null} maximum_of_sum
 * @property {Three} mean
 * @property {Record<string, LabelMeans>} labels
 * @property {Record<Part, Curve>} rejection
 */
/** @typedef {{auroc: number, low: number, high: number, aupr: number, fpr95: number, edges: number[], inside: number[], outside: number[]}} Told */
/** @typedef {{name: string, n: number, losses: Record<string, Record<Part, Told>>}} Detection */
/** @typedef {{inside: number[], rest: number[], given: boolean}} EventSets */
/** @typedef {{task: string, tables: Record<string, {missed: number[], alarm: number[]}>, abstain: number | null, ask: number | null, error: number}} GivenCosts */
/**
 * @typedef {object} PackedSample
 * @property {number} n
 * @property {number} m
 * @property {string} probs
 * @property {string | null} index
 * @property {string} predicted
 * @property {string[] | null} ids
 * @property {string | null} y
 * @property {string | null} weights
 * @property {string | null} mean
 * @property {Record<string, string> | null} parts
 * @property {Record<string, number> | null} error
 */
/**
 * @typedef {object} Data
 * @property {string} title
 * @property {string} version
 * @property {number} n
 * @property {number | null} members
 * @property {boolean} weighted
 * @property {boolean} multilabel
 * @property {string[]} class_names
 * @property {boolean} named whether the classes have names of their own
 * @property {string[]} labels
 * @property {EventSets[] | null} events
 * @property {boolean} averaged
 * @property {number | null} accuracy
 * @property {number} expected_accuracy
 * @property {number} [exact_match]
 * @property {[number, number, number][]} confusions
 * @property {{predicted: number[], true?: number[], right?: number[]}} classes
 * @property {{sentence: string, bad: boolean, overconfidence: number, low: number | null, high: number | null, ece: number | null} | null} calibration
 * @property {LossData[]} losses
 * @property {{grid: number[], n_rejected: number[], kind: string, random: number, oracle: number[], top: number[], top_normalized: number | null}} rejection
 * @property {Record<Part, (number | null)[][]>} agreement
 * @property {GivenCosts | null} costs
 * @property {Detection[]} detection
 * @property {SetCoverage | null} sets
 * @property {{ok: boolean, sentence: string} | null} check what is wrong with the members
 * @property {SourcesData | null} sources
 * @property {boolean} intervals whether the predictions are intervals of probabilities
 * @property {string} parts_explained what aleatoric and epistemic uncertainty are
 * @property {number} fewest of fewer cases of a class, the page says that they are too few
 * @property {boolean} grouped whether cases belong to groups, such as patients
 * @property {PackedSample} sample
 * @property {{at: number[], png: string[]} | null} images
 */
/**
 * @typedef {object} SourcesData where the members' disagreement comes from
 * @property {string} sentence
 * @property {string[]} names factors, interaction, replicates
 * @property {number[][]} means sources × labels; empty if the design is not a complete crossing
 * @property {(number | null)[]} p of each factor
 * @property {(number | null)[][]} label_p factors × labels
 * @property {(number | null)[]} smallest_p that the design allows each factor
 */
/**
 * @typedef {object} SetCoverage coverage and size of prediction sets
 * @property {number} target
 * @property {string} unit
 * @property {string} guarantee
 * @property {string} note of intervals over groups
 * @property {{name: string, n: number, coverage: number | null, low: number | null, high: number | null, size: number | null, guaranteed: boolean}[]} rows
 * @property {number[]} size_counts cases by set size
 */
/**
 * @typedef {object} Sample
 * @property {number} n instances
 * @property {number} m members, or draws of a continuous distribution
 * @property {number} k classes
 * @property {Float64Array} probs n × m × k
 * @property {Float64Array} mean n × k
 * @property {Float64Array | null} weights m, or n × m; they sum to 1
 * @property {ArrayLike<number>} predicted
 * @property {ArrayLike<number> | null} y classes, or n × k for labels that may occur together
 * @property {ArrayLike<number> | null} index
 * @property {Record<string, Uint16Array> | null} parts aleatoric and epistemic uncertainty of a continuous distribution, by loss
 * @property {boolean} multilabel
 */

/** @type {Part[]} */
const PARTS = ["total", "aleatoric", "epistemic"];
const STEPS = 65534;

/** @param {string} text @returns {ArrayBuffer} */
function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

/** Numbers as the file stores them, little-endian. @param {string} text @param {number} size bytes of each @returns {Uint8Array | Uint16Array | Uint32Array} */
function integers(text, size) {
  const buffer = bytes(text);
  return size === 1 ? new Uint8Array(buffer) : size === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer);
}

/** Probabilities from their two bytes. @param {Uint16Array} codes @param {number} k @param {boolean} normalize @returns {Float64Array} */
function restore(codes, k, normalize) {
  const table = new Float64Array(STEPS + 1);
  for (let i = 0; i <= STEPS; i++) table[i] = Math.sin((i * Math.PI) / (2 * STEPS)) ** 2;
  table[STEPS / 2] = 0.5;
  table[STEPS] = 1;
  const out = new Float64Array(codes.length);
  for (let i = 0; i < codes.length; i += k) {
    let sum = 0;
    for (let j = i; j < i + k; j++) sum += out[j] = table[codes[j]];
    if (normalize) for (let j = i; j < i + k; j++) out[j] /= sum;
  }
  return out;
}

/** The weighted mean over members. @param {Float64Array} probs @param {Float64Array | null} weights @param {number} n @param {number} m @param {number} k */
function meanOf(probs, weights, n, m, k) {
  const mean = new Float64Array(n * k);
  const own = weights !== null && weights.length === n * m && n > 1;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      const w = weights === null ? 1 / m : weights[own ? i * m + j : j];
      const from = (i * m + j) * k;
      for (let c = 0; c < k; c++) mean[i * k + c] += w * probs[from + c];
    }
  }
  return mean;
}

/** @param {Data} data @returns {Sample} */
function unpack(data) {
  const { n, m, weights, y, index, parts } = data.sample;
  const k = data.class_names.length;
  const wide = k <= 65536 ? 2 : 4;
  const probs = restore(/** @type {Uint16Array} */ (integers(data.sample.probs, 2)), k, !data.multilabel);
  const w = weights === null ? null : new Float64Array(bytes(weights));
  const mean =
    data.sample.mean === null
      ? meanOf(probs, w, n, m, k)
      : restore(/** @type {Uint16Array} */ (integers(data.sample.mean, 2)), k, !data.multilabel);
  return {
    n, m, k, probs, mean,
    weights: w,
    multilabel: data.multilabel,
    predicted: integers(data.sample.predicted, wide),
    y: y === null ? null : integers(y, data.multilabel ? 1 : wide),
    index: index === null ? null : integers(index, 4),
    parts: parts === null ? null : Object.fromEntries(Object.entries(parts).map(([key, x]) => [key, /** @type {Uint16Array} */ (integers(x, 2))])),
  };
}

/** The weight of member j for case i. @param {Sample} s @param {number} i @param {number} j */
function weightOf(s, i, j) {
  if (s.weights === null) return 1 / s.m;
  return s.weights.length === s.n * s.m && s.n > 1 ? s.weights[i * s.m + j] : s.weights[j];
}
