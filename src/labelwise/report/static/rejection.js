// What is left when the most uncertain cases are handed over.

/** @param {Data} data */
function startRejection(data) {
  options("reject-part", [["total", "total uncertainty"], ["aleatoric", "aleatoric uncertainty"], ["epistemic", "epistemic uncertainty"]], "total");
  $("rejection-intro").replaceChildren(
    data.accuracy === null
      ? "The truth is not known, so this is what the model itself expects of the cases that are kept: how often it will be right if its probabilities are."
      : "A good uncertainty is high where the model is wrong: the more of the most uncertain cases are handed over, the better the rest.");
}

/** @param {Data} data */
function qualityWord(data) {
  return data.accuracy === null ? "expected accuracy" : data.multilabel ? "labels right" : "accuracy";
}

/** @param {View} view */
function drawRejection(view) {
  const { data, loss } = view;
  const part = /** @type {Part} */ (field("reject-part").value);
  const share = Number(field("reject").value) / 100;
  const { grid, random, oracle, top } = data.rejection;
  const at = grid.reduce((best, x, i) => (Math.abs(x - share) < Math.abs(grid[best] - share) ? i : best), 0);
  const value = loss.rejection[part].value[at];
  const word = qualityWord(data);
  $("reject-share").textContent = percent(share);
  field("reject").setAttribute("aria-valuetext", `${percent(share)} rejected, ${word} of the rest ${percent(value)}`);
  const kept = data.n - Math.min(Math.floor(data.n * grid[at] + 1e-9), data.n - 1);
  $("reject-result").replaceChildren(
    "Without the most uncertain ", percent(share), `, ${count(kept)} ${kept === 1 ? "case is" : "cases are"} left, with ${word} `, shown("rejection-value", value, percent(value, 2)),
    " instead of ", percent(random, 2), ". Rejecting at random would change nothing; the best possible order would give ", shown("rejection-oracle", oracle[at], percent(oracle[at], 2), "span"), ".");
  const seen = grid.map((x, i) => i).filter((i) => grid[i] <= 0.95);
  const lines = PARTS.map((p) => ({ name: p, class: p === "total" ? "tu" : p === "aleatoric" ? "au" : "eu", x: grid, y: loss.rejection[p].value }));
  const all = [...lines, { name: "highest probability", class: "top", x: grid, y: top }, { name: "best possible", class: "oracle", x: grid, y: oracle }];
  const values = all.flatMap((line) => seen.map((i) => line.y[i])).concat(random);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low) * 0.06 || 0.02;
  $("reject-chart").replaceChildren(lineChart({
    label: `${word} of the cases that are kept against the share rejected. With ${percent(share)} rejected by ${part} uncertainty it is ${percent(value)}.`,
    x: "rejected", y: word + " of the rest", lines: all, low: low - margin, high: Math.min(high + margin, Math.max(1, high)), format: (x) => percent(x, high - low > 0.05 ? 0 : 1), xFormat: (x) => percent(x, 0), xHigh: 1, mark: share,
  }));
  drawRejected(view, part, share);
}

/** @param {View} view @param {Part} part @param {number} share */
function drawRejected({ data, sample, components }, part, share) {
  const score = components().sums[part];
  const truth = sample.y !== null && !data.multilabel;
  const several = data.multilabel;
  const group = several ? new Uint8Array(sample.n) : truth && sample.y !== null ? sample.y : sample.predicted;
  const groups = several ? 1 : sample.k;
  const all = rejected(score, group, groups, share);
  const wrong = truth ? rejected(score, Array.from({ length: sample.n }, (_, i) => (sample.predicted[i] === group[i] ? 0 : 1)), 2, share) : null;
  const rows = sorted(groups, (k) => all.rejected[k], true).filter((k) => all.all[k] > 0).slice(0, 12);
  drawTable($("reject-what"), [
    { title: several ? "Cases" : truth ? "True class" : "Predicted class", cell: (k) => (several ? "all" : named(data.classes_names[k])) },
    { title: "Rejected", number: true, cell: (k) => shown("rejected-count", all.rejected[k], count(all.rejected[k]), "span") },
    { title: "of", number: true, cell: (k) => count(all.all[k]) },
    { title: "Share", number: true, cell: (k) => percent(all.rejected[k] / all.all[k], 0) },
  ], rows, null);
  const where = sample.n === data.n ? "" : ` Counted in the random sample of ${count(sample.n)} cases.`;
  const limit = Number.isFinite(all.threshold) ? ` These are the cases with ${part} uncertainty from ${number(all.threshold)}.` : "";
  $("reject-note").replaceChildren(
    ...(wrong === null ? [] : ["Of the ", count(wrong.all[1]), " wrong predictions ", shown("rejected-wrong", wrong.rejected[1], count(wrong.rejected[1])), " are rejected, of the ", count(wrong.all[0]), " right ones ", shown("rejected-right", wrong.rejected[0], count(wrong.rejected[0])), "."]),
    limit, where);
}
