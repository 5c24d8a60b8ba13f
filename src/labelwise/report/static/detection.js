// Out-of-distribution detection.

/** @param {Data} data */
function startDetection(data) {
  options("detect-set", data.detection.map((set, i) => [String(i), `${shortName(set.name, 40)} (${count(set.n)})`]));
  options("detect-part", [["epistemic", "epistemic uncertainty"], ["aleatoric", "aleatoric uncertainty"], ["total", "total uncertainty"]], "epistemic");
}

/** @param {View} view */
function drawDetection({ data, loss }) {
  if (!data.detection.length) return;
  const set = data.detection[Number(field("detect-set").value)];
  const part = /** @type {Part} */ (field("detect-part").value);
  const told = set.losses[loss.key][part];
  /** The share of cases at or above each threshold. @param {number[]} shares */
  const above = (shares) => {
    let rest = 1;
    return [1, ...shares.map((x) => Math.max((rest -= x), 0))];
  };
  $("detect-chart").replaceChildren(lineChart({
    label: `Share of cases with ${part} uncertainty at or above a threshold, for in-distribution cases and for ${shortName(set.name)}; AUROC ${number(told.auroc)}.`, x: `threshold on ${part} uncertainty${loss.unit ? ` (${loss.unit})` : ""}`, y: "share of cases at or above",
    lines: [{ name: "in-distribution", class: "eu", x: told.edges, y: above(told.inside) }, { name: shortName(set.name), class: "au", x: told.edges, y: above(told.outside) }],
    low: 0, high: 1, format: (x) => percent(x, 0), xFormat: number, xHigh: told.edges[told.edges.length - 1], area: true,
  }));
  const scores = set.losses[loss.key];
  drawTable($("detect-table"), [
    { title: "Score", cell: (i) => PARTS[i] },
    { title: "AUROC", number: true, cell: (i) => shown("auroc", scores[PARTS[i]].auroc, fixed(scores[PARTS[i]].auroc, 3)) },
    { title: "95 % interval", number: true, cell: (i) => `${fixed(scores[PARTS[i]].low, 3)} to ${fixed(scores[PARTS[i]].high, 3)}` },
    { title: "AUPR", number: true, cell: (i) => fixed(scores[PARTS[i]].aupr, 3) },
    { title: "FPR at 95 % TPR", number: true, cell: (i) => percent(scores[PARTS[i]].fpr95) },
  ], [0, 1, 2], null);
}
