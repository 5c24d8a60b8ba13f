// The cheapest action for each case, as labelwise.decisions computes it. Only the mean matters for the action.

const ABSTAIN = -1;
const ASK = -2;

/**
 * Per class what missing it and a false alarm cost; predicting class j when the truth is k costs missed[k] + alarm[j] (0 if k = j).
 * @typedef {object} CostsSpec
 * @property {"multiclass" | "per_label"} task
 * @property {Float64Array} missed
 * @property {Float64Array} alarm
 * @property {number | null} abstain
 * @property {number | null} ask
 * @property {number} error how often the expert is wrong
 */
/**
 * @typedef {object} Plan
 * @property {Int32Array} action per case, or per case and label (1 = act, 0 = leave)
 * @property {Float64Array} cost expected, with the price of asking
 * @property {Float64Array} answer what the expert's answer saves
 * @property {Float64Array} knowledge what knowing the probabilities would save
 * @property {Float64Array | null} paid what it costs given the truth
 * @property {[number, number]} range bounds on what a case can turn out to cost
 * @property {number} width decisions per case
 */

/** Expected cost of each prediction. @param {Float64Array} p @param {number} from @param {CostsSpec} c @param {Float64Array} out */
function classRisks(p, from, c, out) {
  const k = c.missed.length;
  let whole = 0, misses = 0;
  for (let j = 0; j < k; j++) {
    whole += p[from + j];
    misses += p[from + j] * c.missed[j];
  }
  for (let j = 0; j < k; j++) out[j] = Math.max(misses - p[from + j] * c.missed[j], 0) + c.alarm[j] * Math.max(whole - p[from + j], 0);
  return whole;
}

/** The lowest cost of predicting or abstaining. @param {Float64Array} risks @param {number} whole @param {number | null} abstain @returns {[number, number]} action, cost */
function cheapest(risks, whole, abstain) {
  let best = 0;
  for (let j = 1; j < risks.length; j++) if (risks[j] < risks[best]) best = j;
  if (abstain !== null && abstain * whole < risks[best]) return [ABSTAIN, abstain * whole];
  return [best, risks[best]];
}

/** @param {Sample} s @param {CostsSpec} c @returns {Plan} */
function chooseClass(s, c) {
  const { n, m, k } = s;
  const plan = newPlan(n, 1, s.y !== null);
  const risks = new Float64Array(k), told = new Float64Array(k), member = new Float64Array(k);
  const wrong = c.error / (k - 1), excess = 1 - c.error - wrong;
  const response = new Int32Array(k);
  const flat = c.alarm.every((x) => x === c.alarm[0]);
  const highest = highestCosts(c);
  for (let i = 0; i < n; i++) {
    const from = i * k;
    const whole = classRisks(s.mean, from, c, risks);
    let [action, cost] = cheapest(risks, whole, c.abstain);
    let after = 0;
    let first = 0, second = 1;
    if (flat) [first, second] = twoSmallest(risks);
    for (let a = 0; a < k; a++) {
      const p = s.mean[from + a];
      const probability = wrong * whole + excess * p;
      let choice, value;
      if (flat) {
        // all other predictions cost the same when the truth is a: only the cheapest of them can win
        const other = first === a ? second : first;
        const stay = wrong * risks[a], go = wrong * risks[other] + excess * p * (c.missed[a] + c.alarm[other]);
        [choice, value] = go < stay || (go === stay && other < a) ? [other, go] : [a, stay];
        if (wrong === 0 && p === 0) choice = 0; // an impossible answer: every prediction costs 0
        if (c.abstain !== null && c.abstain * probability < value) [choice, value] = [ABSTAIN, c.abstain * probability];
      } else {
        for (let j = 0; j < k; j++) told[j] = wrong * risks[j] + (j === a ? 0 : excess * p * (c.missed[a] + c.alarm[j]));
        [choice, value] = cheapest(told, probability, c.abstain);
      }
      response[a] = choice;
      after += value;
    }
    const now = cost;
    plan.answer[i] = Math.max(cost - after, 0);
    if (c.ask !== null && c.ask + after < cost) [action, cost] = [ASK, c.ask + after];
    let known = 0;
    for (let j = 0; j < m; j++) {
      const sum = classRisks(s.probs, (i * m + j) * k, c, member);
      known += weightOf(s, i, j) * cheapest(member, sum, c.abstain)[1];
    }
    plan.action[i] = action;
    plan.cost[i] = cost;
    if (plan.paid !== null) widen(plan, ...classRange(c, highest, action, response));
    plan.knowledge[i] = worth(now - known, s);
    if (plan.paid !== null && s.y !== null) {
      const truth = s.y[i];
      /** @param {number} a */
      const price = (a) => (a === ABSTAIN ? (c.abstain ?? 0) : a === truth ? 0 : c.missed[truth] + c.alarm[a]);
      if (action === ASK) {
        let x = c.ask ?? 0;
        for (let a = 0; a < k; a++) x += (wrong + (a === truth ? excess : 0)) * price(response[a]);
        plan.paid[i] = x;
      } else plan.paid[i] = price(action);
    }
  }
  return plan;
}

/** The highest cost of predicting each class. @param {CostsSpec} c */
function highestCosts(c) {
  const worst = c.missed.reduce((best, x, k) => (x > c.missed[best] ? k : best), 0);
  const second = c.missed.reduce((most, x, k) => (k === worst ? most : Math.max(most, x)), 0);
  return c.alarm.map((alarm, a) => alarm + (a === worst ? second : c.missed[worst]));
}

/**
 * Bounds on what a decision can turn out to cost; see Problem.cost_range of the library.
 * @param {CostsSpec} c @param {Float64Array} highest of each prediction @param {number} action @param {Int32Array} response @returns {[number, number]}
 */
function classRange(c, highest, action, response) {
  const [abstain, ask] = [c.abstain ?? 0, c.ask ?? 0];
  if (action === ABSTAIN) return [abstain, abstain];
  if (action !== ASK) return [0, highest[action]];
  let least = Infinity, most = 0;
  response.forEach((a, k) => {
    const cost = a === ABSTAIN ? abstain : a === k ? 0 : c.missed[k] + c.alarm[a]; // after the right answer k
    [least, most] = [Math.min(least, cost), Math.max(most, cost)];
  });
  return [ask + (1 - c.error) * least, ask + (1 - c.error) * most + c.error * highest.reduce((x, y) => Math.max(x, y), 0)];
}

/** @param {Plan} plan @param {number} lowest @param {number} highest */
function widen(plan, lowest, highest) {
  plan.range = [Math.min(plan.range[0], lowest), Math.max(plan.range[1], highest)];
}

/** The lowest cost of leaving, acting on or abstaining on label e, present with weight t and absent with weight u. @param {CostsSpec} c @param {number} e @param {number} t @param {number} u */
function labelCost(c, e, t, u) {
  const now = Math.min(c.missed[e] * t, c.alarm[e] * u);
  return c.abstain === null ? now : Math.min(now, c.abstain * (t + u));
}

/** The action with that cost. @param {CostsSpec} c @param {number} e @param {number} t @param {number} u */
function labelAction(c, e, t, u) {
  const leave = c.missed[e] * t, act = c.alarm[e] * u;
  if (c.abstain !== null && c.abstain * (t + u) < Math.min(leave, act)) return ABSTAIN;
  return act < leave ? 1 : 0;
}

/** @param {Sample} s @param {CostsSpec} c @returns {Plan} */
function chooseLabels(s, c) {
  const { n, m, k, y } = s;
  const plan = newPlan(n, k, y !== null);
  const wrong = c.error, right = 1 - c.error;
  for (let i = 0; i < n; i++) {
    let lowest = 0, highest = 0;
    for (let e = 0; e < k; e++) {
      const at = i * k + e;
      const t = Math.min(s.mean[at], 1), u = 1 - t;
      const now = labelCost(c, e, t, u);
      const after = labelCost(c, e, right * t, wrong * u) + labelCost(c, e, wrong * t, right * u);
      const asks = c.ask !== null && c.ask + after < now;
      plan.action[at] = asks ? ASK : labelAction(c, e, t, u);
      plan.cost[at] = asks && c.ask !== null ? c.ask + after : now;
      plan.answer[at] = Math.max(now - after, 0);
      let known = 0;
      for (let j = 0; j < m; j++) {
        const p = s.probs[(i * m + j) * k + e];
        known += weightOf(s, i, j) * labelCost(c, e, p, 1 - p);
      }
      plan.knowledge[at] = worth(now - known, s);
      if (plan.paid === null || y === null) continue;
      const there = s.multilabel ? y[at] === 1 : y[i] === e;
      /** @param {number} action */
      const price = (action) => (action === ABSTAIN ? (c.abstain ?? 0) : (action === 1) === there ? 0 : there ? c.missed[e] : c.alarm[e]);
      if (asks) {
        const yes = labelAction(c, e, right * t, wrong * u), no = labelAction(c, e, wrong * t, right * u);
        plan.paid[at] = (c.ask ?? 0) + right * price(there ? yes : no) + wrong * price(there ? no : yes);
        const after = [yes === ABSTAIN ? (c.abstain ?? 0) : yes === 1 ? 0 : c.missed[e], no === ABSTAIN ? (c.abstain ?? 0) : no === 1 ? c.alarm[e] : 0];
        lowest += (c.ask ?? 0) + right * Math.min(...after);
        highest += (c.ask ?? 0) + right * Math.max(...after) + wrong * Math.max(c.missed[e], c.alarm[e]);
      } else {
        const action = plan.action[at];
        plan.paid[at] = price(action);
        lowest += action === ABSTAIN ? (c.abstain ?? 0) : 0;
        highest += action === ABSTAIN ? (c.abstain ?? 0) : action === 1 ? c.alarm[e] : c.missed[e];
      }
    }
    widen(plan, lowest, highest);
  }
  return plan;
}

const ROUNDING = 1e-12;

/** Remove rounding errors; values from draws keep their sign, so that errors cancel in sums. @param {number} x @param {Sample} s */
function worth(x, s) {
  return s.parts !== null || x > ROUNDING ? x : 0;
}

/** @param {number} n @param {number} width @param {boolean} truth @returns {Plan} */
function newPlan(n, width, truth) {
  const size = n * width;
  return {
    action: new Int32Array(size), cost: new Float64Array(size), answer: new Float64Array(size), knowledge: new Float64Array(size),
    paid: truth ? new Float64Array(size) : null, range: [Infinity, -Infinity], width,
  };
}

/** @param {Float64Array} x @returns {[number, number]} */
function twoSmallest(x) {
  let [a, b] = x[1] < x[0] ? [1, 0] : [0, 1];
  for (let j = 2; j < x.length; j++) {
    if (x[j] < x[a]) [a, b] = [j, a];
    else if (x[j] < x[b]) b = j;
  }
  return [a, b];
}

/** @param {Sample} s @param {CostsSpec} c */
function makePlan(s, c) {
  return c.task === "multiclass" ? chooseClass(s, c) : chooseLabels(s, c);
}

/** Quantile .975 of Student's t for 9 degrees of freedom or more, to 5 digits (Abramowitz and Stegun 26.7.5). @param {number} df */
function tQuantile(df) {
  const z = 1.959963984540054;
  return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2) + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * df ** 3)
    + (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / (92160 * df ** 4);
}

/**
 * The mean of realized − expected with its 95 % interval; see `mean_excess` of the library. No interval for fewer than 10 cases.
 * @param {Float64Array} realized per case @param {Float64Array} expected @param {[number, number]} bounds of what can be realized
 */
function meanExcess(realized, expected, bounds) {
  const n = realized.length;
  const rounding = ROUNDING * Math.max(Math.abs(bounds[0]), Math.abs(bounds[1]));
  const difference = realized.map((x, i) => (Math.abs(x - expected[i]) <= rounding ? 0 : x - expected[i]));
  /** @param {Float64Array} x */
  const average = (x) => x.reduce((a, b) => a + b, 0) / n;
  const mean = average(difference), outcome = average(realized);
  if (n < 10) return { mean, low: NaN, high: NaN };
  const variance = difference.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1);
  const t = tQuantile(n - 1);
  /** @param {number} reach */
  const wilson = (reach) => {
    if (reach <= rounding) return 0;
    const square = n / t ** 2 + 1, linear = reach - variance / reach;
    return (linear + Math.sqrt(linear ** 2 + 4 * square * variance)) / (2 * square);
  };
  const half = t * Math.sqrt(variance / n);
  return { mean, low: mean - Math.max(half, wilson(outcome - bounds[0])), high: mean + Math.max(half, wilson(bounds[1] - outcome)) };
}

/** A text as a TOML string. @param {string} text */
function quoted(text) {
  return JSON.stringify(text).replace(/\x7f/g, "\\u007f");
}

/** @param {number} x */
function decimal(x) {
  const text = String(x);
  return /^-?\d+$/.test(text) ? text + ".0" : text;
}

/** The costs in the format of `labelwise decide --costs`. @param {CostsSpec} c @param {string[]} names */
function asToml(c, names) {
  const lines = ["class_names = [" + names.map(quoted).join(", ") + "]"];
  if (c.abstain !== null) lines.push("abstain = " + decimal(c.abstain));
  if (c.ask !== null) lines.push("ask = " + decimal(c.ask));
  lines.push("expert_error = " + decimal(c.error));
  /** @param {Float64Array} x */
  const list = (x) => "[" + Array.from(x, decimal).join(", ") + "]";
  if (c.task === "per_label") {
    /** @param {Float64Array} x */
    const byName = (x) => names.map((name, k) => quoted(name) + " = " + decimal(x[k]));
    lines.push("[missed]", ...byName(c.missed), "[false_alarm]", ...byName(c.alarm));
  } else {
    lines.push("matrix = [  # row: truth, column: prediction");
    for (let k = 0; k < names.length; k++) {
      const row = Float64Array.from(names, (_, j) => (j === k ? 0 : c.missed[k] + c.alarm[j]));
      lines.push("  " + list(row) + ",");
    }
    lines.push("]");
  }
  return lines.join("\n") + "\n";
}
