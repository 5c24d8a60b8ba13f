// Editable costs and the resulting decisions.

const SHOWN = 40;
const planner = { plan: /** @type {Plan | null} */ (null), costs: /** @type {CostsSpec | null} */ (null), tables: /** @type {Record<string, {missed: Float64Array, alarm: Float64Array}>} */ ({}) };

/** @param {number} action */
function actionWord(action) {
  return action === ASK ? "ask" : action === ABSTAIN ? "abstain" : "predict";
}

/** @param {Data} data */
function startPlanner(data) {
  const tasks = /** @type {[string, string][]} */ ([["multiclass", "one class for each case"], ["per_label", "each label separately"]]);
  options("task", data.multilabel ? tasks.slice(1) : tasks);
  resetCosts(data);
  $("cost-search").closest("label")?.toggleAttribute("hidden", data.class_names.length <= SHOWN);
  $("toml-command").textContent = "labelwise decide PREDICTIONS --costs costs.toml";
}

/** @param {Data} data */
function resetCosts(data) {
  const k = data.class_names.length;
  const given = data.costs;
  planner.tables = {
    multiclass: { missed: new Float64Array(k).fill(1), alarm: new Float64Array(k) },
    per_label: { missed: new Float64Array(k).fill(1), alarm: new Float64Array(k).fill(1) },
  };
  for (const [task, { missed, alarm }] of Object.entries(given?.tables ?? {})) {
    planner.tables[task] = { missed: Float64Array.from(missed), alarm: Float64Array.from(alarm) };
  }
  if (given !== null) field("task").value = given.task;
  field("abstain").value = given === null ? "0.34" : String(given.abstain ?? "");
  field("ask").value = given === null ? "0.3" : String(given.ask ?? "");
  field("expert-error").value = given === null ? "5" : String(Number((100 * given.error).toPrecision(12)));
}

/** A cost as typed; empty means "not possible". @param {string} text @returns {number | null | undefined} undefined: not a cost */
function cost(text) {
  if (text.trim() === "") return null;
  const x = Number(text);
  return Number.isFinite(x) && x >= 0 ? x : undefined;
}

/** The costs on the page, or an error message. @returns {CostsSpec | string} */
function readCosts() {
  const task = /** @type {"multiclass" | "per_label"} */ (field("task").value);
  const table = planner.tables[task];
  for (const id of ["abstain", "ask", "expert-error"]) {
    if (field(id).validity.badInput || cost(field(id).value) === undefined) return "Costs must be nonnegative numbers. Leave a field empty if the action is not possible.";
  }
  const error = Number(field("expert-error").value || "0") / 100;
  if (error >= 1) return "The error rate of the expert must be below 100 %.";
  if (table.missed.some(Number.isNaN) || table.alarm.some(Number.isNaN)) return "Every class needs a cost: a nonnegative number.";
  return { task, ...table, abstain: cost(field("abstain").value) ?? null, ask: cost(field("ask").value) ?? null, error };
}

/** The table of costs. @param {View} view @param {() => void} changed */
function drawCosts({ data }, changed) {
  const task = field("task").value;
  const table = planner.tables[task];
  const k = data.class_names.length;
  $("costs-note").textContent = task === "multiclass"
    ? "Predicting another class costs “missed” of the true class plus “false alarm” of the predicted one."
    : "Costs are per label: “false alarm” for acting on an absent label, “missed” for not acting on a present one.";
  const word = field("cost-search").value.toLowerCase();
  const found = Array.from({ length: k }, (_, i) => i).filter((i) => data.class_names[i].toLowerCase().includes(word));
  /** @param {"missed" | "alarm"} kind @param {number} i a class, or −1 for all */
  const input = (kind, i) => {
    const same = table[kind].every((x) => Object.is(x, table[kind][0]));
    const value = i >= 0 ? table[kind][i] : same ? table[kind][0] : NaN;
    const label = (kind === "missed" ? "Missed" : "False alarm") + ", " + (i >= 0 ? shortName(data.class_names[i], 80) : "all classes");
    return h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", "aria-label": label, "data-kind": kind, "data-class": i, value: Number.isNaN(value) ? "" : value, placeholder: i < 0 ? "various" : null, oninput: (/** @type {Event} */ event) => {
      const box = /** @type {HTMLInputElement} */ (event.target);
      const x = box.validity.badInput ? undefined : cost(box.value);
      const number = x === null || x === undefined ? NaN : x;
      if (i >= 0) table[kind][i] = number;
      else table[kind].fill(number);
      box.setAttribute("aria-invalid", String(Number.isNaN(number)));
      for (const other of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll(`#costs input[data-kind="${kind}"]`))) {
        const at = Number(other.dataset.class);
        if (other === box) continue;
        if (i < 0) other.value = Number.isNaN(number) ? "" : String(number);
        else if (at < 0) other.value = table[kind].every((y) => y === table[kind][0]) ? String(table[kind][0]) : "";
      }
      changed();
    } });
  };
  drawTable($("costs"), [
    { title: data.multilabel ? "Label" : "Class", cell: (i) => (i < 0 ? h("em", {}, "all classes") : named(data.class_names[i])) },
    { title: "Missed", number: true, cell: (i) => input("missed", i) },
    { title: "False alarm", number: true, cell: (i) => input("alarm", i) },
  ], [-1, ...found.slice(0, SHOWN)], null);
  $("costs-more").textContent = found.length > SHOWN ? `${SHOWN} of ${count(found.length)} classes are shown; search for the others, which keep their costs.` : "";
}

/** @param {View} view */
function drawPlan(view) {
  const costs = readCosts();
  const note = $("cost-error");
  if (typeof costs === "string") {
    note.textContent = costs;
    return;
  }
  note.textContent = "";
  planner.costs = costs;
  const plan = (planner.plan = makePlan(view.sample, costs));
  if ($("toml").closest("details")?.open) field("toml").value = asToml(costs, view.data.class_names);
  showPlan(view, plan, costs);
  if (dependsOnCosts()) drawExplorer(view);
  else if (explorer.chosen >= 0) document.querySelector(".case-plan")?.replaceWith(planOf(view, explorer.chosen));
}

/** @param {Float64Array} x @param {number} n */
function meanAndError(x, n) {
  let sum = 0;
  for (const y of x) sum += y;
  const width = x.length / n, mean = sum / n;
  let square = 0;
  for (let i = 0; i < n; i++) {
    let own = 0;
    for (let e = 0; e < width; e++) own += x[i * width + e];
    square += (own - mean) ** 2;
  }
  return { mean, error: n > 1 ? Math.sqrt(square / (n - 1) / n) : NaN };
}

/** @param {View} view @param {Plan} plan @param {CostsSpec} costs */
function showPlan({ data, sample: s }, plan, costs) {
  const each = costs.task === "multiclass";
  const tally = { predict: 0, abstain: 0, ask: 0, act: 0 };
  for (const action of plan.action) {
    if (action === ASK) tally.ask++;
    else if (action === ABSTAIN) tally.abstain++;
    else if (!each && action === 1) tally.act++;
    else tally.predict++;
  }
  const all = plan.action.length;
  const [expected, answer, knowledge] = [plan.cost, plan.answer, plan.knowledge].map((x) => meanAndError(x, s.n));
  const sampled = s.n < data.n;
  const breakEven = plan.answer.reduce((a, b) => Math.max(a, b), 0);
  const total = expected.mean * data.n;
  /** @param {string} key @param {string} word @param {number} times @param {string} kind */
  const row = (key, word, times, kind) => h("li", {}, h("span", { class: "action " + kind }), `${word} `, shown(key, times, count(times)), ` (${percent(times / all)})`);
  const bars = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "stack tall-bar", role: "img", "aria-label": "Shares of the actions" });
  let from = 0;
  for (const [times, kind] of /** @type {[number, string][]} */ ([[tally.act, "act"], [tally.predict, "predict"], [tally.abstain, "abstain"], [tally.ask, "ask"]])) {
    bars.append(svg("rect", { class: kind, x: from, y: 0, width: (100 * times) / all, height: 10 }));
    from += (100 * times) / all;
  }
  const words = h("ul", { class: "actions" },
    each ? null : row("n-act", "act on the label", tally.act, "act"), row("n-predict", each ? "predict" : "leave the label", tally.predict, "predict"), row("n-abstain", "abstain", tally.abstain, "abstain"), row("n-ask", "ask the expert", tally.ask, "ask"));
  const facts = [
    h("p", {}, "Expected cost ", shown("expected-cost", expected.mean, number(expected.mean)), " per case, ", shown("total-cost", total, number(total)), sampled ? ` for all ${count(data.n)} cases (estimated from the sample, ± ${number(2 * expected.error * data.n)}).` : " in all."),
    h("p", {}, "An expert’s answer saves ", shown("value-of-label", answer.mean, number(answer.mean)), " per case on average", costs.ask === null ? "." : `, before its price of ${number(costs.ask)}${each ? "" : " per label"}.`,
      breakEven > 0 ? h("span", {}, " Asking pays below ", shown("break-even", breakEven, number(breakEven)), sampled ? " for at least one case of the sample." : " for at least one case.") : "", asking(costs, tally.ask / all)),
    h("p", {}, "Knowing the exact probabilities would save at most ", shown("value-of-knowledge", knowledge.mean, number(Math.max(knowledge.mean, 0))), " per case if ", costs.ask === null ? "" : "no expert is asked and ", "the predicted spread is right", s.parts === null ? "." : ` (estimated from ${s.m} draws).`),
  ];
  if (plan.paid !== null) {
    const paid = meanAndError(plan.paid, s.n);
    const likely = meanAndError(alwaysPredict(s, costs), s.n);
    const excess = meanExcess(perCase(plan.paid, s.n), perCase(plan.cost, s.n), plan.range);
    facts.push(h("p", {}, "Realized cost with the true labels: ", shown("paid", paid.mean, number(paid.mean)), " per case", comparison(excess, data.grouped), " If always ", each ? "predicting the most probable class: " : "acting on labels above 50 %: ", shown("paid-argmax", likely.mean, number(likely.mean)), "."));
  }
  say(`${count(tally.ask)} asked, ${count(tally.abstain)} abstained, expected cost ${number(expected.mean)} per case`);
  $("plan").replaceChildren(bars, words, ...facts, planByClass(data, s, plan));
}

/** What the decisions about each case cost together. @param {Float64Array} x @param {number} n */
function perCase(x, n) {
  const width = x.length / n;
  return Float64Array.from({ length: n }, (_, i) => x.subarray(i * width, (i + 1) * width).reduce((a, b) => a + b, 0));
}

/** Whether the decisions cost what was expected. @param {{mean: number, low: number, high: number}} excess @param {boolean} grouped */
function comparison({ mean, low, high }, grouped) {
  if (grouped) return ". Cases of a group depend on each other; for an interval use labelwise decide.";
  if (Number.isNaN(low)) return ".";
  if (low === 0 && high === 0) return ", as expected.";
  if (low <= 0 && high >= 0) return `: chance can explain the difference from the expected cost (95 % interval ${number(low)} to ${number(high)}).`;
  const ends = [Math.abs(low), Math.abs(high)].sort((a, b) => a - b);
  return `: ${number(Math.abs(mean))} ${mean > 0 ? "higher" : "lower"} than expected (95 % interval ${number(ends[0])} to ${number(ends[1])}).`;
}

/** @param {CostsSpec} costs @param {number} asked share that is asked about */
function asking(costs, asked) {
  if (costs.ask === null) return "";
  return asked === 0 ? " Asking pays in no case." : asked === 1 ? " Asking pays in every case." : ` Asking pays in ${percent(asked)} of the cases.`;
}

/** Realized cost of predicting from the probabilities alone, ignoring the costs. @param {Sample} s @param {CostsSpec} c */
function alwaysPredict(s, c) {
  const { n, k, y } = s;
  if (y === null) return new Float64Array(n);
  if (c.task === "multiclass") return Float64Array.from({ length: n }, (_, i) => (s.predicted[i] === y[i] ? 0 : c.missed[y[i]] + c.alarm[s.predicted[i]]));
  return Float64Array.from({ length: n * k }, (_, at) => {
    const [i, e] = [Math.floor(at / k), at % k];
    const [acts, there] = [s.mean[at] > 0.5, isTrue(s, i, e)];
    return acts === there ? 0 : acts ? c.alarm[e] : c.missed[e];
  });
}

/** For each class how often it was called, missed and a false alarm; asked and abstained cases are none of these. @param {Sample} s @param {(i: number, e: number) => number} calls 1: called, 0: not, −1: neither */
function tallyCalls(s, calls) {
  const [called, missed, alarms] = [0, 1, 2].map(() => new Float64Array(s.k));
  for (let i = 0; i < s.n; i++) {
    for (let e = 0; e < s.k; e++) {
      const call = calls(i, e);
      if (call === 1) called[e]++;
      if (s.y === null || call < 0) continue;
      const there = isTrue(s, i, e);
      if (there && call === 0) missed[e]++;
      if (!there && call === 1) alarms[e]++;
    }
  }
  return { called, missed, alarms };
}

/**
 * For each class how many fewer of its cases are missed, and the 95 % interval of Bonett and Price for paired shares.
 * @param {Sample} s @param {(i: number, e: number) => number} before @param {(i: number, e: number) => number} after
 */
function fewerMissed(s, before, after) {
  return Array.from({ length: s.k }, (_, e) => {
    let [n, saved, lost] = [0, 0, 0];
    for (let i = 0; i < s.n; i++) {
      if (!isTrue(s, i, e)) continue;
      const [then, now] = [before(i, e) === 0, after(i, e) === 0];
      n++;
      if (then && !now) saved++;
      if (now && !then) lost++;
    }
    const [p, q] = [(saved + 1) / (n + 2), (lost + 1) / (n + 2)];
    const half = 1.959963984540054 * Math.sqrt((p + q - (p - q) ** 2) / (n + 2));
    return { value: saved - lost, low: n * Math.max(p - q - half, -1), high: n * Math.min(p - q + half, 1) };
  });
}

/** What the decisions change for each class. @param {Data} data @param {Sample} s @param {Plan} plan */
function planByClass(data, s, plan) {
  const k = s.k;
  const each = plan.width === 1;
  const [abstain, ask, cost] = [0, 1, 2].map(() => new Float64Array(k));
  for (let at = 0; at < plan.action.length; at++) {
    const e = each ? s.predicted[at] : at % k;
    if (plan.action[at] === ASK) ask[e]++;
    else if (plan.action[at] === ABSTAIN) abstain[e]++;
    cost[e] += plan.cost[at];
  }
  /** @param {number} i @param {number} e */
  const likely = (i, e) => Number(each ? s.predicted[i] === e : s.mean[i * k + e] > 0.5);
  /** @param {number} i @param {number} e */
  const decided = (i, e) => {
    const action = plan.action[each ? i : i * k + e];
    return action < 0 ? -1 : Number(action === (each ? e : 1));
  };
  const [before, after] = [tallyCalls(s, likely), tallyCalls(s, decided)];
  const fewer = s.y === null ? [] : fewerMissed(s, likely, decided);
  /** @param {number} e @returns {Child} */
  const interval = (e) => h("span", {}, shown("class-fewer-missed", fewer[e].value, count(fewer[e].value), "span"), ` (${count(fewer[e].low)} to ${count(fewer[e].high)})`);
  /** @param {"called" | "missed" | "alarms"} what @returns {(e: number) => Child} */
  const change = (what) => (e) => h("span", {}, count(before[what][e]), " → ", shown(`class-${what}`, after[what][e], count(after[what][e]), "span"));
  const table = h("table", {});
  drawTable(table, [
    { title: each ? "Class" : "Label", cell: (e) => named(data.class_names[e]) },
    { title: each ? "Called" : "Acted on", number: true, cell: change("called") },
    ...(s.y === null ? [] : [{ title: "Missed", number: true, cell: change("missed") }, { title: "Fewer missed (95 % interval)", number: true, cell: interval }, { title: "False alarms", number: true, cell: change("alarms") }]),
    ...(abstain.some((x) => x > 0) ? [{ title: "Abstain", number: true, cell: (/** @type {number} */ e) => count(abstain[e]) }] : []),
    ...(ask.some((x) => x > 0) ? [{ title: "Ask", number: true, cell: (/** @type {number} */ e) => count(ask[e]) }] : []),
    { title: "Expected cost", number: true, cell: (e) => shown("class-cost", cost[e], number(cost[e]), "span") },
  ], sorted(k, (e) => cost[e], true).filter((e) => cost[e] > 0 || after.called[e] > 0).slice(0, 12), null);
  const words = (each ? "With arrows: always the most probable class → these decisions." : "With arrows: acting above 50 % → these decisions.") + (each ? " Abstain, ask and expected cost: cases where the class is the most probable." : "");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "planner-title" }, table, h("p", { class: "small" }, words));
}

/** @param {Data} data */
async function copyCosts(data) {
  const costs = readCosts();
  const status = $("copied");
  if (typeof costs === "string") {
    status.textContent = costs;
    return;
  }
  const text = asToml(costs, data.class_names);
  field("toml").value = text;
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = "Copied.";
  } catch {
    const details = $("toml").closest("details");
    if (details !== null) details.open = true;
    field("toml").select();
    status.textContent = document.execCommand("copy") ? "Copied." : "Select the text below and copy it.";
  }
}
