// Start, and redraw what changes.

const SECTIONS = [["overview", "Overview"], ["rejection", "Reject"], ["detection", "Detect"], ["sets", "Sets"], ["sources", "Sources"], ["explorer", "Explore"], ["planner", "Decide"], ["comparison", "Losses"], ["methods", "Methods"]];

/** @param {Data} data */
function startMethods(data) {
  /** One digit, rounded up. @param {number} x */
  const atMost = (x) => {
    const power = 10 ** Math.floor(Math.log10(x));
    return x > 0 ? (Math.ceil(x / power) * power).toExponential(0) : "0";
  };
  const { sample } = data;
  const error = sample.error;
  const m = data.members;
  const paragraphs = [
    "For each label, total uncertainty TU is the expected loss of the mean probability. Aleatoric uncertainty AU is the mean of the members’ own expected losses. Epistemic uncertainty EU = TU − AU is the difference, due to the members’ disagreement. " + (data.averaged ? "The events overlap, so a case’s uncertainty is the mean over the events." : "A case’s uncertainty is the sum over its labels."),
    "These numbers describe the beliefs of this predictor, not the truth. Errors that all members share appear as aleatoric. In practice the two parts are correlated; treat a share as an indication, not a measurement.",
    data.intervals ? "The predictions are intervals of probabilities: TU is the largest expected loss in the interval, AU the smallest, EU the difference. The dots and the decisions are about the point at the same share of all intervals; lw.decisions.decide takes the smallest worst case."
      : m === null ? "The predictions are continuous second-order distributions. The dots and the value of knowing the probabilities are based on draws; everything else is computed from the distribution itself."
      : m === 1 ? "There is only one member, so epistemic uncertainty is unknown." : `With ${m} members, epistemic uncertainty is underestimated on average, for squared loss by the factor (M − 1)/M = ${number((m - 1) / m)}. lw.decompose(…, correction="jackknife") removes most of this bias.`,
    "Averaged over all cases, the numbers of rare classes are small because the classes are rare.",
    "Whether to predict, abstain or ask depends only on the mean probabilities (Bayes’ rule). Expected costs and the value of an answer are right only if the probabilities are calibrated. The value of knowing the probabilities exactly is right only if the members’ spread around them is right too, which one ensemble does not tell.",
    `All summaries were computed from the full predictions of all ${count(data.n)} cases. ` + (sample.n < data.n ? `Single cases, rejected cases and costs of decisions are from a random sample of ${count(sample.n)}. ` : "") +
      (error === null ? "For single cases, uncertainties are stored to about five digits." : `For single cases, the page computes from probabilities rounded to two bytes; this changes the uncertainty of a label by at most ${data.losses.map((loss) => `${atMost(error[loss.key])} (${loss.name})`).join(", ")}.`),
    "This page is one self-contained file: it loads nothing from the network and sends nothing.",
  ];
  $("prose").replaceChildren(...paragraphs.map((text) => h("p", {}, text)));
  $("foot").textContent = `Made with labelwise ${data.version}.`;
}

function start() {
  const data = /** @type {Data} */ (JSON.parse($("data").textContent ?? ""));
  const sample = unpack(data);
  const probs = asked(sample, data.events);
  /** @type {Map<string, Components>} */
  const cache = new Map();
  /** @type {View} */
  const view = {
    data, sample, probs, loss: data.losses[0],
    components() {
      let found = cache.get(view.loss.key);
      if (found === undefined) cache.set(view.loss.key, (found = decompose(data, sample, probs, view.loss)));
      return found;
    },
  };
  $("rejection").hidden = data.n === 1; // one case cannot be ranked
  $("order-of-losses").hidden = data.n === 1;
  $("detection").hidden = data.detection.length === 0;
  $("sets").hidden = data.sets === null;
  $("sources").hidden = data.sources === null;
  $("nav").replaceChildren(...SECTIONS.filter(([id]) => !$(id).hidden).map(([id, text]) => h("li", {}, h("a", { href: "#" + id }, text))));
  options("loss", data.losses.map((loss) => [loss.key, loss.name]));
  startOverview(data);
  startRejection(data);
  startDetection(data);
  startSets(data);
  startSources(data);
  startExplorer(data, sample);
  startPlanner(data);
  startComparison(data);
  startMethods(data);

  const drawAll = () => {
    drawOverview(view);
    drawRejection(view);
    drawDetection(view);
    drawExplorer(view);
  };
  /** @param {string} id @param {string} event @param {(event: any) => void} action */
  const on = (id, event, action) => $(id).addEventListener(event, action);
  on("loss", "change", () => {
    view.loss = data.losses.find((loss) => loss.key === field("loss").value) ?? data.losses[0];
    drawAll();
  });
  on("rule", "change", () => {
    classState.rule = field("rule").value;
    drawOverview(view);
  });
  on("class-search", "input", () => drawClasses(view));
  for (const id of ["reject", "reject-part"]) on(id, "input", () => drawRejection(view));
  for (const id of ["detect-set", "detect-part"]) on(id, "input", () => drawDetection(view));
  on("filters", "input", () => drawExplorer(view));
  on("filters", "submit", (event) => event.preventDefault());
  on("previous-page", "click", () => { explorer.page--; drawPage(view); });
  on("next-page", "click", () => { explorer.page++; drawPage(view); });
  on("cases", "keydown", (event) => onListKey(view, event));
  const replan = () => drawPlan(view);
  for (const id of ["abstain", "ask", "expert-error"]) on(id, "input", replan);
  on("task", "change", () => { drawCosts(view, replan); replan(); });
  on("cost-search", "input", () => drawCosts(view, replan));
  on("reset", "click", () => { resetCosts(data); drawCosts(view, replan); replan(); });
  on("copy", "click", () => void copyCosts(data));
  $("toml").closest("details")?.addEventListener("toggle", replan);
  on("agreement-part", "change", () => drawComparison(view));

  drawCosts(view, replan);
  drawPlan(view);
  drawAll();
  drawComparison(view);
  watchSections();
  // for tests and debugging: the data of the page
  Object.assign(window, { labelwise: { view, planner, explorer, decompose, makePlan, asToml, rejected } });
  say("");
  document.documentElement.setAttribute("data-ready", "");
}

/** Mark the section in view. */
function watchSections() {
  const links = new Map(Array.from(document.querySelectorAll("#nav a"), (a) => [a.getAttribute("href")?.slice(1), a]));
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of links.keys()) if (id !== undefined) observer.observe($(id));
}

start();
