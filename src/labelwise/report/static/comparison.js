// Comparison of losses.

/** @param {Data} data */
function startComparison(data) {
  options("agreement-part", [["total", "total uncertainty"], ["aleatoric", "aleatoric uncertainty"], ["epistemic", "epistemic uncertainty"]], "epistemic");
  const truth = data.accuracy !== null;
  const all = data.losses;
  /** @type {Column[]} */
  const columns = [
    { title: "Loss", cell: (i) => all[i].name + (all[i].unit ? ` (${all[i].unit})` : "") },
    { title: "Total", number: true, cell: (i) => number(all[i].mean.total) },
    { title: "Aleatoric", number: true, cell: (i) => number(all[i].mean.aleatoric) },
    { title: "Epistemic", number: true, cell: (i) => number(all[i].mean.epistemic) },
    { title: "Epistemic share", number: true, cell: (i) => percent(all[i].mean.epistemic / all[i].mean.total) },
    { title: "Most uncertain", cell: (i) => {
      const means = all[i].labels[all[i].labels.own ? "own" : "likely"].total;
      return named(data.labels[sorted(means.length, (k) => means[k] ?? NaN, true)[0]]);
    } },
  ];
  if (truth) for (const part of PARTS) columns.push({ title: `Normalized area, ${part}`, number: true, cell: (i) => shown("normalized-" + part, all[i].rejection[part].normalized, percent(all[i].rejection[part].normalized, 0), "span") });
  drawTable($("losses"), columns, all.map((_, i) => i), null);
  if (truth) $("losses").after(h("p", { class: "small" }, `Normalized area of the rejection curve: 100 % is the oracle, 0 % random rejection; the highest probability alone reaches ${percent(data.rejection.top_normalized, 0)}.`));
}

/** @param {View} view */
function drawComparison({ data }) {
  const part = /** @type {Part} */ (field("agreement-part").value);
  const table = data.agreement[part];
  drawTable($("agreement"), [
    { title: "Loss", cell: (i) => data.losses[i].name },
    ...data.losses.map((loss, j) => ({ title: loss.name, number: true, cell: (/** @type {number} */ i) => shown("agreement", table[i][j], number(table[i][j]), "span") })),
  ], data.losses.map((_, i) => i), null);
}
