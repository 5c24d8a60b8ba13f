// The list of cases: sorted, filtered and paginated.

const PAGE = 24;
const explorer = { page: 0, rows: /** @type {number[]} */ ([]), chosen: -1, pictures: /** @type {Map<number, string>} */ (new Map()) };

/** @param {Data} data @param {Sample} s */
function startExplorer(data, s) {
  const all = s.n === data.n;
  $("explorer-intro").replaceChildren(
    all ? (s.n === 1 ? "This is the only case." : `All ${count(s.n)} cases.`) : shown("sampled", s.n, `A random sample of ${count(s.n)} of the ${count(data.n)} cases; the summaries above cover all of them.`, "strong"),
    " Select one to see its label-wise uncertainty and the predictions of each member.");
  const sorts = /** @type {[string, string][]} */ ([["total", "total uncertainty"], ["aleatoric", "aleatoric uncertainty"], ["epistemic", "epistemic uncertainty"], ["share", "epistemic share"], ["top", "highest probability"], ["cost", "expected cost"], ["answer", "value of an answer"], ["knowledge", "value of exact probabilities"], ["position", "position in the file"]]);
  options("sort", sorts, "epistemic");
  options("about", [["", `all ${data.events !== null ? "events" : data.multilabel ? "labels" : "classes"}`], ...labelOptions(data.labels)]);
  options("predicted", [["", "anything"], ...labelOptions(data.class_names)]);
  options("truth", [["", "anything"], ...labelOptions(data.class_names)]);
  for (const element of document.querySelectorAll(".truth-only")) element.toggleAttribute("hidden", s.y === null);
  if (data.multilabel) for (const id of ["right"]) $(id).closest("label")?.toggleAttribute("hidden", s.y === null);
  if (data.images !== null) data.images.at.forEach((at, i) => explorer.pictures.set(at, /** @type {NonNullable<Data["images"]>} */ (data.images).png[i]));
}

/** @param {string[]} names @returns {[string, string][]} */
function labelOptions(names) {
  return names.map((text, k) => [String(k), shortName(text, 48)]);
}

/** Position of a case in the file. @param {Sample} s @param {number} i */
function positionOf(s, i) {
  return s.index === null ? i : s.index[i];
}

/** @param {Data} data @param {Sample} s @param {number} i */
function idOf(data, s, i) {
  return data.sample.ids === null ? "#" + positionOf(s, i) : data.sample.ids[i];
}

/** Whether the prediction is right; for multi-label data, whether all labels are. @param {Sample} s @param {number} i */
function isRight(s, i) {
  if (s.y === null) return null;
  if (!s.multilabel) return s.predicted[i] === s.y[i];
  for (let k = 0; k < s.k; k++) if (s.mean[i * s.k + k] > 0.5 !== (s.y[i * s.k + k] === 1)) return false;
  return true;
}

/** Whether class k is predicted for case i. @param {Sample} s @param {number} i @param {number} k */
function isPredicted(s, i, k) {
  return s.multilabel ? s.mean[i * s.k + k] > 0.5 : s.predicted[i] === k;
}

/** @param {Sample} s @param {number} i @param {number} k */
function isTrue(s, i, k) {
  return s.y !== null && (s.multilabel ? s.y[i * s.k + k] === 1 : s.y[i] === k);
}

/** The uncertainty of a case: about one label, or over all. @param {View} view @param {Part} part @param {number} i */
function amount({ data, components }, part, i) {
  const about = field("about").value;
  return about === "" ? components().sums[part][i] : components().labels[part][i * data.labels.length + Number(about)];
}

/** Cost or value of the decisions about a case, summed over its labels. @param {"cost" | "answer" | "knowledge"} kind @param {number} i */
function ofPlan(kind, i) {
  const { plan } = planner;
  let sum = 0;
  if (plan !== null) for (let e = i * plan.width; e < (i + 1) * plan.width; e++) sum += plan[kind][e];
  return sum;
}

/** Whether this is the action for a case, or for one of its labels. @param {string} word @param {number} i */
function hasAction(word, i) {
  const { plan } = planner;
  return plan !== null && plan.action.subarray(i * plan.width, (i + 1) * plan.width).some((action) => actionWord(action) === word);
}

/** Whether the list depends on the costs. */
function dependsOnCosts() {
  return field("decision").value !== "" || ["cost", "answer", "knowledge"].includes(field("sort").value);
}

/** Choose and sort. @param {View} view */
function findCases(view) {
  const { data, sample: s } = view;
  const [by, down] = [field("sort").value, field("order").value === "down"];
  const [predicted, truth, right, word] = [field("predicted").value, field("truth").value, field("right").value, field("id-search").value.toLowerCase()];
  const decision = field("decision").value;
  /** @param {number} i */
  const key = (i) => {
    if (by === "cost" || by === "answer" || by === "knowledge") return ofPlan(by, i);
    if (by === "position") return positionOf(s, i);
    if (by === "top") return Math.max(...s.mean.subarray(i * s.k, (i + 1) * s.k));
    if (by === "share") return amount(view, "total", i) > 0 ? amount(view, "epistemic", i) / amount(view, "total", i) : 0;
    return amount(view, /** @type {Part} */ (by), i);
  };
  explorer.rows = sorted(s.n, key, down).filter((i) =>
    (predicted === "" || isPredicted(s, i, Number(predicted))) && (truth === "" || isTrue(s, i, Number(truth))) &&
    (right === "" || isRight(s, i) === (right === "right")) && (decision === "" || hasAction(decision, i)) && (word === "" || idOf(data, s, i).toLowerCase().includes(word)));
}

/** @param {View} view */
function drawExplorer(view) {
  findCases(view);
  explorer.page = 0;
  if (!explorer.rows.includes(explorer.chosen)) explorer.chosen = explorer.rows[0] ?? -1;
  drawPage(view);
  drawDetail(view);
}

/** @param {View} view */
function drawPage(view) {
  const { rows, page } = explorer;
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const here = rows.slice(page * PAGE, (page + 1) * PAGE);
  $("found").textContent = rows.length === 0 ? "No case matches these filters." : `${count(rows.length)} ${rows.length === 1 ? "case matches" : "cases match"}.`;
  $("page-number").textContent = `page ${count(page + 1)} of ${count(pages)}`;
  field("previous-page").disabled = page === 0;
  field("next-page").disabled = page >= pages - 1;
  const most = Math.max(...here.map((i) => amount(view, "total", i)), 0);
  $("cases").replaceChildren(...here.map((i) => h("li", {}, caseButton(view, i, most))));
}

/** @param {Data} data @param {Sample} s @param {number} i */
function predictionOf(data, s, i) {
  if (!s.multilabel) return h("span", {}, named(shortName(data.class_names[s.predicted[i]])));
  const present = data.class_names.filter((_, k) => isPredicted(s, i, k));
  return h("span", {}, present.length ? named(shortName(present.slice(0, 3).join(", "))) : "nothing", present.length > 3 ? ` and ${present.length - 3} more` : "");
}

/** @param {View} view @param {number} i @param {number} most */
function caseButton(view, i, most) {
  const { data, sample: s } = view;
  const right = isRight(s, i);
  const picture = explorer.pictures.get(i);
  return h("button", { type: "button", class: "case", "data-case": i, "aria-current": i === explorer.chosen ? "true" : null, onclick: () => choose(view, i, true) },
    picture === undefined ? null : h("img", { src: "data:image/png;base64," + picture, alt: "", width: 40, height: 40 }),
    h("span", { class: "case-text" },
      h("span", { class: "case-id" }, named(shortName(idOf(data, s, i), 24))),
      h("span", { class: "case-prediction" }, predictionOf(data, s, i), right === null ? null : h("span", { class: right ? "right" : "wrong" }, right ? " ✓ right" : " ✗ wrong"))),
    h("span", { class: "case-bar" }, stackedBar(amount(view, "epistemic", i), amount(view, "aleatoric", i), most)));
}

/** Show a case. @param {View} view @param {number} i @param {boolean} move whether to move the focus to it */
function choose(view, i, move) {
  explorer.chosen = i;
  for (const button of document.querySelectorAll("#cases .case")) {
    if (Number(button.getAttribute("data-case")) === i) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  drawDetail(view);
  const { total, epistemic } = view.components().sums;
  say(`Case ${shortName(idOf(view.data, view.sample, i), 80)}: ${predictionOf(view.data, view.sample, i).textContent}, total uncertainty ${number(total[i])}, epistemic ${number(epistemic[i])}`);
  if (move && matchMedia("(max-width: 900px)").matches) {
    $("detail").scrollIntoView({ block: "start" });
    $("detail").focus({ preventScroll: true });
  }
}

/** The next or previous case. @param {View} view @param {number} step */
function neighbor(view, step) {
  const at = explorer.rows.indexOf(explorer.chosen) + step;
  if (at < 0 || at >= explorer.rows.length) return;
  const page = Math.floor(at / PAGE);
  if (page !== explorer.page) {
    explorer.page = page;
    drawPage(view);
  }
  choose(view, explorer.rows[at], false);
}

/** Arrow keys in the list. @param {View} view @param {KeyboardEvent} event */
function onListKey(view, event) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || !(event.target instanceof HTMLElement) || event.target.closest(".case") === null) return;
  event.preventDefault();
  neighbor(view, step);
  /** @type {HTMLElement | null} */ (document.querySelector(`#cases [data-case="${explorer.chosen}"]`))?.focus();
}
