// Summary, findings, and uncertainty by class.

/** @typedef {{data: Data, sample: Sample, loss: LossData, probs: Float64Array, components: () => Components}} View */

const RULES = [
  ["own", "the cases of the class"],
  ["likely", "cases where it is likely"],
  ["everywhere", "all cases"],
];
const classState = { rule: "own", order: { column: -1, down: true }, all: false };
const FEW = 20;
const LEADING = 3;

/** @param {Data} data */
function thing(data) {
  return data.events !== null ? "event" : data.multilabel ? "label" : "class";
}

/** @param {Data} data */
function startOverview(data) {
  $("overview-title").replaceChildren("Label-wise uncertainty of the model");
  const who = data.intervals ? "intervals of probabilities" : data.members === null ? "a continuous second-order distribution" : data.members === 1 ? "a single model" : `${count(data.members)} members`;
  $("lead").replaceChildren(
    named(data.title), `: ${count(data.n)} ${data.n === 1 ? "case" : "cases"}, ${count(data.class_names.length)} ${data.multilabel ? "labels that may occur together" : "classes"}, predicted by ${who}`,
    data.events === null ? "." : `; uncertainty is about ${count(data.labels.length)} events.`);
  const rules = RULES.filter(([rule]) => data.losses[0].labels[rule] !== undefined).map(([rule, text]) => [rule, rule === "own" && data.events !== null ? "cases where it occurred" : text]);
  options("rule", /** @type {[string, string][]} */ (rules), "own");
  classState.rule = field("rule").value;
  $("class-search").closest("label")?.toggleAttribute("hidden", data.labels.length <= FEW);
}

/** @param {View} view */
function drawOverview(view) {
  drawCards(view);
  drawFindings(view);
  drawClasses(view);
}

/** @param {View} view */
function drawCards({ data, loss }) {
  const { mean } = loss;
  const share = mean.total > 0 ? mean.epistemic / mean.total : NaN;
  const cards = [];
  if (data.accuracy !== null) {
    cards.push(card(data.multilabel ? "Labels right" : "Accuracy", shown("accuracy", data.accuracy, percent(data.accuracy, 2)),
      data.multilabel ? `all labels right in ${percent(data.exact_match)} of the cases` : `expected by the model: ${percent(data.expected_accuracy)}`));
  } else {
    cards.push(card("Expected accuracy", shown("expected-accuracy", data.expected_accuracy, percent(data.expected_accuracy, 2)), "by the model’s own probabilities, without true labels"));
  }
  cards.push(card("Total uncertainty", h("span", {}, shown("total", mean.total, number(mean.total)), loss.unit ? h("span", { class: "unit" }, " " + loss.unit) : null),
    loss.maximum_of_sum ? `per case on average, ${percent(mean.total / loss.maximum_of_sum)} of the maximum` : "per case on average"));
  const alone = data.members === 1;
  cards.push(card("Aleatoric", shown("aleatoric", mean.aleatoric, alone ? "–" : percent(1 - share)), alone ? "cannot be separated for a single model" : data.intervals ? "of it stays for the best probabilities in the intervals" : "of it is within the members: how unsure each is by itself, on average", "au"));
  cards.push(card("Epistemic", shown("epistemic", mean.epistemic, alone ? "–" : percent(share)), alone ? "needs several members" : data.intervals ? "of it is due to the width of the intervals" : "of it is between the members: what they disagree about", "eu"));
  const bar = stackedBar(mean.epistemic, mean.aleatoric, mean.total);
  $("cards").replaceChildren(...cards);
  $("cards-bar").replaceChildren(bar);
}

/** @param {string} title @param {Child} value @param {Child} note @param {string} [kind] */
function card(title, value, note, kind = "") {
  return h("div", { class: "card " + kind }, h("p", { class: "card-title" }, title), h("p", { class: "card-value" }, value), h("p", { class: "card-note" }, note));
}

/** Some names in a sentence: a, b and 3 others. @param {string[]} words */
function list(words) {
  const few = words.length > 5 ? words.slice(0, 4) : words;
  const rest = words.length - few.length;
  const parts = /** @type {Child[]} */ ([]);
  few.forEach((word, i) => parts.push(i === 0 ? null : i === few.length - 1 && rest === 0 ? " and " : ", ", named(shortName(word, 60))));
  if (rest > 0) parts.push(` and ${count(rest)} others`);
  return parts;
}

/** The labels with the largest values, in a sentence. @param {Data} data @param {(number | null)[]} values @param {number[]} among */
function largest(data, values, among) {
  const positive = among.filter((k) => (values[k] ?? 0) > 0);
  const order = sorted(positive.length, (i) => values[positive[i]] ?? 0, true).slice(0, LEADING);
  const word = data.named || data.events !== null ? "" : "class ";
  return list(order.map((i) => word + data.labels[positive[i]]));
}

/** @param {View} view */
function drawFindings({ data, loss }) {
  const items = [];
  const labels = loss.labels[classState.rule];
  const cases = labels.cases.map((n) => n ?? 0);
  const enough = cases.map((_, k) => k).filter((k) => cases[k] >= data.fewest);
  const few = cases.map((_, k) => k).filter((k) => cases[k] > 0 && cases[k] < data.fewest);
  const uncertain = largest(data, labels.total, enough);
  const disputed = data.members === 1 ? [] : largest(data, labels.epistemic, enough);
  if (uncertain.length) items.push(h("li", {}, "Most uncertain: ", ...uncertain, "."));
  if (disputed.length) items.push(h("li", {}, data.intervals ? "The intervals are widest about " : "The members disagree most about ", ...disputed, "."));
  if (enough.length && !uncertain.length) items.push(h("li", {}, `There is no uncertainty about any ${thing(data)}.`));
  if (few.length) items.push(h("li", { class: "few" }, `There are too few cases (fewer than ${data.fewest}) to judge `, ...list(few.map((k) => data.labels[k])), "."));
  if (data.check !== null) items.push(h("li", data.check.ok ? {} : { class: "warning" }, data.check.sentence));
  if (data.calibration !== null) {
    const { bad, sentence } = data.calibration;
    items.push(h("li", bad ? { class: "warning" } : {}, sentence, bad ? " Expected costs and values on this page are unreliable until the probabilities are recalibrated." : ""));
  }
  $("findings").replaceChildren(...items);
  $("parts-explained").textContent = data.members === 1 ? "" : data.parts_explained;
}

/** @param {View} view */
function drawClasses(view) {
  const { data, loss } = view;
  const labels = loss.labels[classState.rule];
  const most = Math.max(...labels.total.map((x) => x ?? 0));
  /** @param {Part} part @param {number} k */
  const at = (part, k) => labels[part][k] ?? NaN;
  /** @type {Column[]} */
  const columns = [
    { title: thing(data)[0].toUpperCase() + thing(data).slice(1), sort: (k) => data.labels[k], cell: (k) => named(data.labels[k]) },
    { title: "Uncertainty", class: "bar-cell", sort: (k) => at("total", k), down: true, cell: (k) => stackedBar(at("epistemic", k), at("aleatoric", k), most) },
    { title: "Total", number: true, sort: (k) => at("total", k), cell: (k) => shown("class-total", labels.total[k], number(labels.total[k]), "span") },
    { title: "Aleatoric", number: true, sort: (k) => at("aleatoric", k), cell: (k) => shown("class-aleatoric", labels.aleatoric[k], number(labels.aleatoric[k]), "span") },
    { title: "Epistemic", number: true, sort: (k) => at("epistemic", k), cell: (k) => shown("class-epistemic", labels.epistemic[k], data.members === 1 ? "–" : number(labels.epistemic[k]), "span") },
    { title: "Epistemic share", number: true, sort: (k) => labels.epistemic_share[k] ?? NaN, cell: (k) => shown("class-epistemic-share", labels.epistemic_share[k], data.members === 1 ? "–" : percent(labels.epistemic_share[k], 0), "span") },
  ];
  const { predicted, true: truth, right } = data.classes;
  if (data.events === null && truth !== undefined && right !== undefined) {
    columns.push({ title: "Cases", number: true, sort: (k) => truth[k], cell: (k) => count(truth[k]) });
    columns.push({ title: "Recall", number: true, sort: (k) => right[k] / truth[k], cell: (k) => percent(right[k] / truth[k]) });
    columns.push({ title: "Precision", number: true, sort: (k) => right[k] / predicted[k], cell: (k) => percent(right[k] / predicted[k]) });
  } else if (data.events === null) {
    columns.push({ title: "Predicted", number: true, sort: (k) => predicted[k], cell: (k) => count(predicted[k]) });
  }
  const { order } = classState;
  const key = order.column < 0 ? columns[2].sort : columns[order.column].sort;
  const word = field("class-search").value.toLowerCase();
  let rows = sorted(data.labels.length, key ?? ((k) => k), order.column < 0 || order.down).filter((k) => data.labels[k].toLowerCase().includes(word));
  const found = rows.length;
  if (!classState.all) rows = rows.slice(0, FEW);
  drawTable($("classes"), columns, rows, order.column < 0 ? { column: 2, down: true } : order, (next) => {
    classState.order = next;
    drawClasses(view);
  });
  const more = $("classes-more");
  more.replaceChildren();
  if (found > FEW) {
    more.append(h("button", { type: "button", onclick: () => { classState.all = !classState.all; drawClasses(view); } }, classState.all ? `Show only ${FEW}` : `Show all ${count(found)}`));
  }
  const pairs = data.confusions.filter(([, , times]) => times > 1 || data.n < 100); // single confusions among many cases are not informative
  $("confusions").replaceChildren(...(pairs.length && data.events === null ? [h("h3", {}, "Most frequent confusions"), h("ul", { class: "pairs" }, ...pairs.map(([k, j, times]) =>
    h("li", {}, named(data.class_names[k]), " predicted as ", named(data.class_names[j]), `: ${count(times)} ${times === 1 ? "time" : "times"}`)))] : []));
}
