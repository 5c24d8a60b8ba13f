// Rejection of the most uncertain cases.

/** @param {Data} data */
function startRejection(data) {
  options("reject-part", [["total", "total uncertainty"], ["aleatoric", "aleatoric uncertainty"], ["epistemic", "epistemic uncertainty"]], "total");
  $("rejection-intro").replaceChildren(
    data.accuracy === null
      ? "Without true labels, this is the accuracy that the model expects on the kept cases, which is valid if its probabilities are calibrated."
      : "If uncertainty is high where the model is wrong, rejecting the most uncertain cases improves the accuracy of the rest.");
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
  const kept = data.n - data.rejection.n_rejected[at];
  $("reject-result").replaceChildren(
    "After rejecting the most uncertain ", percent(share), `, ${count(kept)} ${kept === 1 ? "case is" : "cases are"} kept, with ${data.multilabel ? "" : word + " "}`, shown("rejection-value", value, percent(value, 2)),
    data.multilabel ? ` of the ${word}` : "", " instead of ", percent(random, 2), ". Random rejection would not change it; the best possible order would give ", shown("rejection-oracle", oracle[at], percent(oracle[at], 2), "span"), ".");
  const seen = grid.map((x, i) => i).filter((i) => grid[i] <= 0.95);
  const lines = PARTS.map((p) => ({ name: p, class: p === "total" ? "tu" : p === "aleatoric" ? "au" : "eu", x: grid, y: loss.rejection[p].value }));
  const all = [...lines, { name: "highest probability", class: "top", x: grid, y: top }, { name: "best possible", class: "oracle", x: grid, y: oracle }];
  const values = all.flatMap((line) => seen.map((i) => line.y[i])).concat(random);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low) * 0.06 || 0.02;
  $("reject-chart").replaceChildren(lineChart({
    label: `${word} of the kept cases against the share rejected. With ${percent(share)} rejected by ${part} uncertainty it is ${percent(value)}.`,
    x: "rejected", y: word + " of the rest", lines: all, low: low - margin, high: Math.min(high + margin, Math.max(1, high)), format: (x) => percent(x, high - low > 0.05 ? 0 : 1), xFormat: (x) => percent(x, 0), xHigh: 1, mark: share,
  }));
  drawRejected(view, part, share);
}

/** @param {View} view @param {Part} part @param {number} share */
function drawRejected({ data, sample: s, components }, part, share) {
  const { out, threshold } = rejected(components().sums[part], share);
  /** How many cases there are of a kind, and how many of them are rejected. @param {(i: number) => boolean} fits @returns {[number, number]} */
  const tally = (fits) => {
    let all = 0, gone = 0;
    for (let i = 0; i < s.n; i++) if (fits(i)) { all++; gone += out[i]; }
    return [all, gone];
  };
  const of = s.y === null ? isPredicted : isTrue;
  const kinds = data.class_names.map((_, k) => tally((i) => of(s, i, k)));
  const rows = sorted(s.k, (k) => kinds[k][1], true).filter((k) => kinds[k][0] > 0).slice(0, 12);
  drawTable($("reject-what"), [
    { title: (s.y === null ? "Predicted " : "True ") + (data.multilabel ? "label" : "class"), cell: (k) => named(data.class_names[k]) },
    { title: "Rejected", number: true, cell: (k) => shown("rejected-count", kinds[k][1], count(kinds[k][1]), "span") },
    { title: "of", number: true, cell: (k) => count(kinds[k][0]) },
    { title: "Share", number: true, cell: (k) => percent(kinds[k][1] / kinds[k][0], 0) },
  ], rows, null);
  const note = /** @type {Child[]} */ ([]);
  if (s.y !== null) {
    const [wrong, right] = [tally((i) => isRight(s, i) === false), tally((i) => isRight(s, i) === true)];
    note.push(`Of the ${count(wrong[0])} ${data.multilabel ? "cases with a wrong label" : "wrong predictions"} `, shown("rejected-wrong", wrong[1], count(wrong[1])), ` are rejected, of the ${count(right[0])} ${data.multilabel ? "others" : "right ones"} `, shown("rejected-right", right[1], count(right[1])), ". ");
  }
  if (Number.isFinite(threshold)) note.push(`These are the cases with ${part} uncertainty from ${number(threshold)}. `);
  if (s.n < data.n) note.push(`Counted in the random sample of ${count(s.n)} cases.`);
  $("reject-note").replaceChildren(h("span", {}, ...note));
}
