// One case: label-wise uncertainty, predictions of the members, and the decision.

const SOME = 12;
const detailState = { all: false };

/** @param {View} view */
function drawDetail(view) {
  const { data, sample: s, loss } = view;
  const i = explorer.chosen;
  const box = $("detail");
  if (i < 0) {
    box.replaceChildren(h("p", {}, "No case selected."));
    return;
  }
  const right = isRight(s, i);
  const { labels, sums } = view.components();
  const L = data.labels.length;
  const share = sums.total[i] > 0 ? sums.epistemic[i] / sums.total[i] : 0;
  const picture = explorer.pictures.get(i);
  const at = explorer.rows.indexOf(i);
  const head = h("header", {},
    picture === undefined ? null : h("img", { class: "picture", src: "data:image/png;base64," + picture, alt: "Image of this case", width: 112, height: 112 }),
    h("div", {},
      h("h3", { id: "detail-title" }, "Case ", named(idOf(data, s, i))),
      h("p", {}, "Predicted ", predictionOf(data, s, i), data.multilabel ? null : ` with ${percent(s.mean[i * s.k + s.predicted[i]])}`, truthOf(data, s, i), right === null ? null : h("span", { class: right ? "right" : "wrong" }, right ? " ✓ right" : " ✗ wrong")),
      h("p", { class: "detail-sum" }, "Total ", shown("case-total", sums.total[i], number(sums.total[i])), loss.unit ? ` ${loss.unit}` : "", ...(data.members === 1 ? ["."] : [", of which ", shown("case-epistemic", sums.epistemic[i], percent(share)), " epistemic."])),
      h("p", {}, h("button", { type: "button", id: "previous-case", disabled: at <= 0, onclick: () => step(view, -1, "previous-case") }, "Previous case"), " ",
        h("button", { type: "button", id: "next-case", disabled: at >= explorer.rows.length - 1, onclick: () => step(view, 1, "next-case") }, "Next case"))));
  const few = L <= SOME || detailState.all;
  let order = sorted(L, (e) => labels.total[i * L + e], true);
  const cut = few ? order : order.filter((e, place) => place < SOME || (data.events === null && (isTrue(s, i, e) || isPredicted(s, i, e))));
  order = cut;
  const most = Math.max(...order.map((e) => labels.total[i * L + e]), 0);
  const table = h("table", { class: "label-table" });
  const draws = s.parts !== null;
  drawTable(table, [
    { title: thing(data)[0].toUpperCase() + thing(data).slice(1), cell: (e) => h("span", {}, named(data.labels[e]), ...marks(view, i, e)) },
    { title: "Uncertainty", class: "bar-cell", cell: (e) => stackedBar(labels.epistemic[i * L + e], labels.aleatoric[i * L + e], most) },
    { title: "Total", number: true, cell: (e) => shown("label-total", labels.total[i * L + e], number(labels.total[i * L + e]), "span") },
    { title: "Epistemic", number: true, cell: (e) => shown("label-epistemic", labels.epistemic[i * L + e], number(labels.epistemic[i * L + e]), "span") },
    { title: draws ? `${s.m} draws` : s.m === 1 ? "The model" : `${s.m} members`, class: "dots-cell", cell: (e) => dots(memberValues(view, i, e), meanOfLabel(view, i, e), draws ? "draws" : "members") },
    { title: "Mean", number: true, cell: (e) => shown("label-mean", meanOfLabel(view, i, e), percent(meanOfLabel(view, i, e)), "span") },
  ], order, null);
  const more = L > SOME ? h("p", {}, h("button", { type: "button", onclick: () => { detailState.all = !detailState.all; drawDetail(view); } }, detailState.all ? "Show the most uncertain" : `Show all ${count(L)}`)) : null;
  box.replaceChildren(head, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "detail-title" }, table), ...(more === null ? [] : [more]), ...triangle(view, i), ...votes(view, i), planOf(view, i));
}

/** @param {View} view @param {number} by @param {string} id */
function step(view, by, id) {
  neighbor(view, by);
  const button = field(id);
  (button.disabled ? $("detail") : button).focus({ preventScroll: true });
}

/** @param {Data} data @param {Sample} s @param {number} i */
function truthOf(data, s, i) {
  if (s.y === null) return null;
  const names = data.class_names.filter((_, k) => isTrue(s, i, k));
  return h("span", {}, "; truth: ", names.length ? named(names.slice(0, 4).map((name) => shortName(name, 60)).join(", ")) : "none of them", names.length > 4 ? ` and ${names.length - 4} more` : "");
}

/** Tags beside a label: true, predicted. @param {View} view @param {number} i @param {number} e */
function marks({ data, sample: s }, i, e) {
  if (data.events !== null) {
    const { y } = s;
    return y !== null && data.events[e].inside.includes(y[i]) ? [" ", h("span", { class: "tag truth" }, "true")] : [];
  }
  return [...(isTrue(s, i, e) ? [" ", h("span", { class: "tag truth" }, "true")] : []), ...(isPredicted(s, i, e) ? [" ", h("span", { class: "tag" }, "predicted")] : [])];
}

/** Each member's probability of a label. @param {View} view @param {number} i @param {number} e */
function memberValues({ data, sample: s, probs }, i, e) {
  const L = data.labels.length;
  return Array.from({ length: s.m }, (_, j) => probs[(i * s.m + j) * L + e]);
}

/** @param {View} view @param {number} i @param {number} e */
function meanOfLabel({ data, sample: s, probs }, i, e) {
  if (data.events === null) return s.mean[i * s.k + e];
  const L = data.labels.length;
  let mean = 0;
  for (let j = 0; j < s.m; j++) mean += weightOf(s, i, j) * probs[(i * s.m + j) * L + e];
  return mean;
}

/** @param {View} view @param {number} i */
function triangle({ data, sample: s }, i) {
  if (s.k !== 3 || s.multilabel) return [];
  const points = Array.from({ length: s.m }, (_, j) => Array.from(s.probs.subarray((i * s.m + j) * 3, (i * s.m + j) * 3 + 3)));
  return [h("figure", { class: "triangle" }, simplex(points, Array.from(s.mean.subarray(i * 3, i * 3 + 3)), data.class_names), h("figcaption", { class: "small" }, s.parts === null ? "Each dot is a member, the cross is their mean." : "Each dot is a draw, the cross is the mean."))];
}

/** Number of members that vote for each class. @param {View} view @param {number} i */
function votes({ data, sample: s }, i) {
  if (s.m < 2 || s.parts !== null || s.multilabel) return [];
  /** @type {Map<number, number>} */
  const found = new Map();
  for (let j = 0; j < s.m; j++) {
    let best = 0;
    const from = (i * s.m + j) * s.k;
    for (let k = 1; k < s.k; k++) if (s.probs[from + k] > s.probs[from + best]) best = k;
    found.set(best, (found.get(best) ?? 0) + 1);
  }
  const parts = [...found].sort((a, b) => b[1] - a[1]).flatMap(([k, times], place) => [place ? ", " : "", h("strong", { "data-key": "votes", "data-value": times }, String(times)), " for ", named(shortName(data.class_names[k]))]);
  return [h("p", { class: "votes" }, "Votes of the members: ", ...parts, ".")];
}

/** What the planner's costs mean for this case. @param {View} view @param {number} i */
function planOf({ data }, i) {
  const plan = planner.plan;
  if (plan === null || planner.costs === null) return h("p", { class: "case-plan" });
  if (plan.width === 1) {
    return h("p", { class: "case-plan" }, "At the costs below: ", h("strong", { "data-key": "case-action", "data-value": plan.action[i] }, actionWord(plan.action[i])), plan.action[i] >= 0 ? h("span", {}, " ", named(shortName(data.class_names[plan.action[i]]))) : null,
      `, expected cost ${number(plan.cost[i])}; an expert’s answer saves ${number(plan.answer[i])} on average, knowing the exact probabilities at most ${number(Math.max(plan.knowledge[i], 0))} if the predicted spread is right.`);
  }
  const at = (/** @type {number} */ code) => data.class_names.filter((_, e) => plan.action[i * plan.width + e] === code);
  const parts = [[ASK, "ask about"], [ABSTAIN, "abstain on"], [1, "act on"]].map(([code, verb]) => [String(verb), at(Number(code))]).filter(([, names]) => names.length);
  const words = parts.flatMap(([verb, names], place) => [place ? "; " : "", h("strong", {}, String(verb)), " ", named(shortName(/** @type {string[]} */ (names).slice(0, 5).join(", "), 60)), names.length > 5 ? ` and ${names.length - 5} more` : ""]);
  return h("p", { class: "case-plan" }, "At the costs below: ", ...(words.length ? words : ["act on nothing"]), ".");
}
