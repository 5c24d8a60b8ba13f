// Sources of the members' disagreement: what each named factor contributes to the epistemic uncertainty of each label.

/** @param {Data} data */
function startSources(data) {
  const sources = data.sources;
  if (sources === null) return;
  $("sources-intro").textContent = sources.sentence;
  const { names, means } = sources;
  if (means.length === 0) return;
  const whole = data.labels.map((_, k) => means.reduce((sum, row) => sum + row[k], 0));
  const total = whole.reduce((a, b) => a + b, 0);
  /** Share of a source, of label k or (k = −1) of all labels. @param {number} s @param {number} k */
  const share = (s, k) => {
    const value = k < 0 ? means[s].reduce((a, b) => a + b, 0) : means[s][k];
    const all = k < 0 ? total : whole[k];
    return all > 0 ? value / all : 0;
  };
  /** @param {number} s @param {number} k */
  const chance = (s, k) => {
    const p = s >= sources.p.length ? null : k < 0 ? sources.p[s] : sources.label_p[s][k];
    if (p === null) return "";
    const smallest = k < 0 ? sources.smallest_p[s] : null;
    return ` (p = ${fixed(p, 3)}${smallest === null ? "" : `, smallest possible ${number(smallest, 2)}`})`;
  };
  drawTable($("sources-table"), [
    { title: "Label", cell: (k) => (k < 0 ? "all" : named(data.labels[k])) },
    { title: "Epistemic, bits", number: true, cell: (k) => number(k < 0 ? total : whole[k]) },
    ...names.map((name, s) => ({
      title: name, number: true,
      cell: (/** @type {number} */ k) => h("span", {}, shown("source-share", share(s, k), percent(share(s, k))), chance(s, k)),
    })),
  ], [-1, ...data.labels.map((_, k) => k)], null);
}
