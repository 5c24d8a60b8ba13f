// SVG charts, each with a text alternative.

/** @typedef {{name: string, class: string, x: number[], y: number[]}} Line */

/** Round numbers between two. @param {number} low @param {number} high @param {number} most */
function ticks(low, high, most = 5) {
  const raw = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= raw) ?? raw;
  const out = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) out.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return out;
}

/**
 * @param {{label: string, x: string, y: string, lines: Line[], low: number, high: number, format: (x: number) => string, xFormat: (x: number) => string, xHigh: number, mark?: number | null, area?: boolean}} chart
 */
function lineChart(chart) {
  const [width, height, left, right, top, bottom] = [560, 330, 72, 14, 12, 44];
  /** @param {number} x */
  const px = (x) => left + (x / chart.xHigh) * (width - left - right);
  /** @param {number} y */
  const py = (y) => top + ((chart.high - y) / (chart.high - chart.low || 1)) * (height - top - bottom);
  const grid = ticks(chart.low, chart.high).map((y) =>
    svg("g", {}, svg("line", { class: "grid", x1: left, x2: width - right, y1: py(y), y2: py(y) }), svg("text", { class: "tick", x: left - 8, y: py(y) + 4, "text-anchor": "end" }, chart.format(y))),
  );
  const below = ticks(0, chart.xHigh).map((x) => svg("text", { class: "tick", x: px(x), y: height - bottom + 18, "text-anchor": "middle" }, chart.xFormat(x)));
  const lines = chart.lines.map((line) => {
    const points = line.x.map((x, i) => `${px(x).toFixed(1)},${py(Math.min(Math.max(line.y[i], chart.low), chart.high)).toFixed(1)}`);
    const under = chart.area ? svg("polygon", { class: "area " + line.class, points: `${px(line.x[0])},${py(0)} ${points.join(" ")} ${px(line.x[line.x.length - 1])},${py(0)}` }) : null;
    return svg("g", {}, under, svg("polyline", { class: "line " + line.class, points: points.join(" ") }));
  });
  const mark = chart.mark === undefined || chart.mark === null ? null : svg("line", { class: "mark", x1: px(chart.mark), x2: px(chart.mark), y1: top, y2: height - bottom });
  const picture = svg(
    "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.label, class: "chart" }, ...grid, ...below,
    svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }), ...lines, mark,
    svg("text", { class: "label", x: left + (width - left - right) / 2, y: height - 6, "text-anchor": "middle" }, chart.x),
    svg("text", { class: "label", transform: `translate(12 ${(height - bottom + top) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y),
  );
  const legend = h("p", { class: "legend", "aria-hidden": "true" }, ...chart.lines.map((line) => h("span", { class: "entry" }, svg("svg", { viewBox: "0 0 26 8", class: "dash" }, svg("line", { class: "line " + line.class, x1: 1, x2: 25, y1: 4, y2: 4 })), named(line.name))));
  return h("figure", {}, picture, legend);
}

/** Aleatoric and epistemic uncertainty as one bar; the scale is the largest value beside it. @param {number} epistemic @param {number} aleatoric @param {number} most */
function stackedBar(epistemic, aleatoric, most) {
  const scale = most > 0 ? 100 / most : 0;
  const [e, a] = [epistemic * scale, aleatoric * scale].map((x) => (Number.isFinite(x) ? x : 0));
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "stack", role: "img", "aria-label": `epistemic ${number(epistemic)}, aleatoric ${number(aleatoric)}` },
    svg("rect", { class: "track", x: 0, y: 0, width: 100, height: 10 }), svg("rect", { class: "eu", x: 0, y: 0, width: e, height: 10 }), svg("rect", { class: "au", x: e, y: 0, width: a, height: 10 }));
}

/** The members' probabilities of one label as dots between 0 and 1, with their mean. @param {number[]} values @param {number} mean @param {string} word */
function dots(values, mean, word) {
  /** @param {number} p */
  const px = (p) => 5 + 190 * p;
  const low = Math.min(...values), high = Math.max(...values);
  return svg("svg", { viewBox: "0 0 200 18", class: "dots", role: "img", "aria-label": `${word} from ${percent(low)} to ${percent(high)}, mean ${percent(mean)}` },
    svg("line", { class: "axis", x1: 5, x2: 195, y1: 9, y2: 9 }),
    ...values.map((p) => svg("circle", { class: "dot", cx: px(p), cy: 9, r: values.length > 20 ? 2.5 : 4 })),
    svg("path", { class: "cross", d: `M${px(mean)} 2 V16` }));
}

/** Three classes as a triangle, with the members and their mean. @param {number[][]} points @param {number[]} mean @param {string[]} names */
function simplex(points, mean, names) {
  const corners = [[40, 190], [260, 190], [150, 0.5 + 190 - 110 * Math.sqrt(3)]];
  /** @param {number[]} p */
  const place = (p) => [0, 1].map((axis) => corners.reduce((sum, corner, c) => sum + p[c] * corner[axis], 0));
  const [x, y] = place(mean);
  const lines = [0.25, 0.5, 0.75].flatMap((share) => [0, 1, 2].map((a) => {
    const [b, c] = [0, 1, 2].filter((other) => other !== a);
    const ends = [b, c].map((other) => place([0, 1, 2].map((corner) => (corner === a ? share : corner === other ? 1 - share : 0))));
    return svg("line", { class: "grid", x1: ends[0][0], y1: ends[0][1], x2: ends[1][0], y2: ends[1][1] });
  }));
  return svg("svg", { viewBox: "-20 -22 340 240", class: "simplex", role: "img", "aria-label": `Each member as a point in the triangle of ${names.map((name) => shortName(name)).join(", ")}; the mean is ${mean.map((p) => percent(p)).join(", ")}` },
    ...lines, svg("polygon", { class: "axis hollow", points: corners.map((c) => c.join(",")).join(" ") }),
    ...points.map((p) => svg("circle", { class: "dot", cx: place(p)[0], cy: place(p)[1], r: points.length > 20 ? 2.5 : 4.5 })),
    svg("path", { class: "cross", d: `M${x - 6} ${y - 6} l12 12 M${x + 6} ${y - 6} l-12 12` }),
    ...corners.map((corner, c) => svg("text", { class: "tick", x: corner[0], y: corner[1] + (c === 2 ? -8 : 18), "text-anchor": "middle" }, shortName(names[c], 16))));
}
