// Start, and redraw what changes.

const SECTIONS = [["overview", "Overview"], ["rejection", "Reject"], ["detection", "Detect"], ["explorer", "Explore"], ["planner", "Decide"], ["comparison", "Losses"], ["methods", "Methods"]];

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
    "For each label the total uncertainty TU is the loss that remains on average when the model’s mean probability is believed. The aleatoric part AU is the loss that would remain if the right probability were known. The epistemic part EU = TU − AU is the difference: what the members’ disagreement costs. " + (data.averaged ? "The events overlap, so a case’s uncertainty is the mean over the events." : "A case’s uncertainty is the sum over its labels."),
    "The numbers tell what this predictor believes, not what is true. What a biased model gets wrong in the same way in all its members shows up as aleatoric. In practice the two parts are correlated; read a share as a hint, not as a measurement.",
    m === null ? "The predictions are continuous second-order distributions. The dots and the value of more data come from draws; everything else is computed from the distribution itself."
      : m === 1 ? "There is one member, so nothing can be said about epistemic uncertainty." : `With ${m} members the epistemic part comes out too small on average: for squared loss by the factor (M − 1)/M = ${number((m - 1) / m)}. lw.decompose(…, correction="jackknife") removes most of it.`,
    "“Would data help?” compares the class’s epistemic with its total uncertainty, averaged as chosen: below 25 % data will hardly help, from 50 % on they should. It is not about how rare a class is; averaged over all cases, rare classes look better known than they are.",
    "Predicting, abstaining or asking depends on the mean probabilities only (the Bayes rule). The value of an answer and of more data are averages in your own unit and mean what they say only if the probabilities are calibrated. The value of more data is an upper bound: what knowing the probabilities exactly would save for these cases.",
    `All summaries were computed from the full predictions of all ${count(data.n)} cases. ` + (sample.n < data.n ? `The cases to look at, what is rejected, and the costs of decisions come from a random sample of ${count(sample.n)}. ` : "") +
      (error === null ? "For single cases, uncertainties are stored to about five digits." : `For single cases, the page computes from probabilities rounded to two bytes; that changes no label’s uncertainty by more than ${data.losses.map((loss) => `${atMost(error[loss.key])} (${loss.name})`).join(", ")}.`),
    "This page is one file and loads nothing from the network; what you type stays here.",
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
  $("rejection").hidden = data.n === 1; // one case cannot be put in an order
  $("order-of-losses").hidden = data.n === 1;
  $("detection").hidden = data.detection.length === 0;
  $("nav").replaceChildren(...SECTIONS.filter(([id]) => !$(id).hidden).map(([id, text]) => h("li", {}, h("a", { href: "#" + id }, text))));
  options("loss", data.losses.map((loss) => [loss.key, loss.name]));
  startOverview(data);
  startRejection(data);
  startDetection(data);
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
  // for tests and for the curious: what the page computes with
  Object.assign(window, { labelwise: { view, planner, explorer, decompose, makePlan, asToml, rejected } });
  say("");
  document.documentElement.setAttribute("data-ready", "");
}

/** Mark the section that is being read. */
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
