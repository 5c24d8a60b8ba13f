// Prediction sets: coverage and size of each class, and cases by set size.

/** @param {Data} data */
function startSets(data) {
  const sets = data.sets;
  if (sets === null) return;
  $("sets-intro").textContent = `${sets.guarantee} ${sets.note}`.trim();
  const { rows, size_counts: counts } = sets;
  const total = counts.reduce((a, b) => a + b, 0);
  /** @param {number | null} low @param {number | null} high */
  const range = (low, high) => (low === null || high === null ? "" : `${percent(low)} to ${percent(high)}`);
  drawTable($("sets-table"), [
    { title: "Class or event", cell: (i) => named(rows[i].name) },
    { title: `${sets.unit}s`, number: true, cell: (i) => count(rows[i].n) },
    { title: "Guaranteed", number: true, cell: (i) => (rows[i].guaranteed ? percent(sets.target) : "") },
    { title: "Coverage", number: true, cell: (i) => { const x = rows[i].coverage; return x === null ? "" : shown("set-coverage", x, percent(x)); } },
    { title: "95 % interval", number: true, cell: (i) => range(rows[i].low, rows[i].high) },
    { title: "Mean size", number: true, cell: (i) => { const x = rows[i].size; return x === null ? "" : fixed(x, 2); } },
  ], rows.map((_, i) => i), null);
  const sizes = counts.map((_, i) => i).filter((i) => counts[i] > 0);
  drawTable($("sets-sizes"), [
    { title: "Classes in the set", cell: (i) => (sizes[i] === 0 ? "none" : String(sizes[i])) },
    { title: "Cases", number: true, cell: (i) => shown("set-size", counts[sizes[i]], count(counts[sizes[i]])) },
    { title: "Share", number: true, cell: (i) => percent(counts[sizes[i]] / total) },
  ], sizes.map((_, i) => i), null);
}
