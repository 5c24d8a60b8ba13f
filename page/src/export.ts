// What leaves the page: ids, tables, tags, costs, pictures, and the same selection as Python.

import { columnOf, listed } from "./cases";
import { csvCell } from "./csv";
import { columnMetas, meta, nameOfRow, storedColumn, textColumn } from "./data";
import type { Filter } from "./hash";
import { predictionWords } from "./case-list";
import { cells, shade } from "./matrix";
import { costs } from "./refer";
import { codesOfRange } from "./selection";
import { now as current } from "./state";
import { tags, unsaved } from "./tags";
import * as format from "./format";

export function save(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function rows(): Uint32Array {
  return listed.value ?? new Uint32Array(0);
}

/** A case in a file that others read: its id, or its number from 1. */
function exported(row: number): string {
  return meta.ids ? nameOfRow(row) : String(row + 1);
}

export function idsText(): string {
  return Array.from(rows(), exported).join("\n") + "\n";
}

export function selectionCsv(): string {
  const shown = columnMetas.value.filter(
    ({ name, kind }) =>
      !["id", "predicted", "truth"].includes(name) && !["bits", "weight"].includes(kind),
  );
  const header = [
    meta.ids ? "id" : "row",
    "predicted",
    ...(meta.labelled ? ["truth"] : []),
    ...shown.map(({ name }) => name),
    "flagged",
  ];
  const lines = [header.map(csvCell).join(",")];
  const refer = columnOf("flagged");
  for (const row of rows()) {
    const line = [exported(row), predictionWords(row, "pred")];
    if (meta.labelled) line.push(predictionWords(row, "truth"));
    for (const { name, kind } of shown) line.push(cellText(name, kind, row));
    line.push(refer?.codes[row] === 1 ? "1" : "0");
    lines.push(line.map(csvCell).join(","));
  }
  return lines.join("\n") + "\n";
}

function cellText(name: string, kind: string, row: number): string {
  if (kind === "text") return textColumn(name)?.[row] ?? "";
  const column = storedColumn(name);
  if (column === null || column.codes[row] === column.missing) return "";
  const code = column.codes[row];
  if (column.kind === "number") return String(column.centers[code]);
  return column.kind === "flag" ? String(code) : (column.names[code] ?? "");
}

export function tagsCsv(): string {
  const lines = [`${meta.ids ? "id" : "row"},tag,note`];
  for (const [row, { tag, note }] of [...tags.value].sort((a, b) => a[0] - b[0])) {
    lines.push([exported(row), tag, note].map(csvCell).join(","));
  }
  unsaved.value = false;
  return lines.join("\n") + "\n";
}

/** The costs in the form of `labelwise decide --costs`. */
export function costsToml(): string | null {
  const given = costs.value;
  if (given === null || typeof given === "string") return null;
  const quoted = (text: string) => JSON.stringify(text).replaceAll("\x7f", "\\u007f");
  const decimal = (x: number) => (Number.isInteger(x) && Math.abs(x) < 1e15 ? `${x}.0` : String(x));
  const lines = [`class_names = [${meta.class_names.map(quoted).join(", ")}]`];
  if (given.abstain !== null) lines.push(`abstain = ${decimal(given.abstain)}`);
  if (given.ask !== null) lines.push(`ask = ${decimal(given.ask)}`);
  if (given.error > 0) lines.push(`expert_error = ${decimal(given.error)}`);
  for (const [name, values] of [
    ["missed", given.missed],
    ["false_alarm", given.alarm],
  ] as const) {
    lines.push(
      "",
      `[${name}]`,
      ...meta.class_names.map((label, k) => `${quoted(label)} = ${decimal(values[k])}`),
    );
  }
  return lines.join("\n") + "\n";
}

function pythonFilter({ key, values, not }: Filter): string {
  const list = values.map((value) => JSON.stringify(value)).join(", ");
  const sign = not ? "~" : "";
  if (key === "wrong")
    return (values[0] === "1") !== not ? "(predicted != truth)" : "(predicted == truth)";
  if (key === "truth" || key === "pred")
    return `${sign}np.isin(${key === "truth" ? "truth" : "predicted"}, [${list}])`;
  const column = columnOf(key);
  if (column?.kind === "number") {
    const name =
      {
        total: "u.total",
        aleatoric: "u.aleatoric",
        epistemic: "u.epistemic",
        top: "mean.max(axis=-1)",
      }[key] ?? `column[${JSON.stringify(key)}]`;
    const parts = values.map((value) => {
      const [low, high] = codesOfRange(column, value);
      const tests: string[] = [];
      if (!value.startsWith("..")) tests.push(`(${name} >= ${column.edges[low]})`);
      if (!value.endsWith("..")) tests.push(`(${name} < ${column.edges[high]})`);
      return tests.join(" & ") || "True";
    });
    return `${sign}(${parts.join(" | ")})`;
  }
  return `${sign}np.isin(column[${JSON.stringify(key)}], [${list}])`;
}

/** The lines that give the same selection. */
export function asPython(): string {
  const lines = [
    "import numpy as np",
    "import labelwise as lw",
    "",
    'cases = lw.load_predictions("predictions.npz")',
    "q = cases.distribution()",
    `u = lw.decompose(q, ${JSON.stringify(current.loss)}).sum()`,
    "mean = np.asarray(q.mean())",
    "names = np.array(cases.names)",
    "predicted = names[mean.argmax(axis=-1)]",
  ];
  if (meta.labelled && !meta.multilabel) lines.push("truth = names[cases.y_true]");
  const { terms } = current;
  const needs = terms.some((term) =>
    term.filters.some(({ key }) =>
      pythonFilter({ key, values: [""], not: false }).includes("column["),
    ),
  );
  if (needs)
    lines.push("column = {}  # columns of your metadata, by name, in the order of the cases");
  lines.push(
    "",
    `selected = np.full(len(predicted), ${terms.length === 0 || !terms[0].add ? "True" : "False"})`,
  );
  for (const { add, filters } of terms) {
    const text = filters.map(pythonFilter).join(" & ");
    lines.push(add ? `selected |= ${text}` : `selected &= ~(${text})`);
  }
  lines.push("rows = np.flatnonzero(selected)");
  return lines.join("\n") + "\n";
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The matrix as a picture. */
export function matrixSvg(): string | null {
  const found = cells.value;
  if (found === null) return null;
  const { color } = current;
  const [side, left, top] = [44, 160, 130];
  const [height, width] = [found.rows.names.length, found.columns.names.length];
  const fill: Record<string, string> = {
    count: "#d55e00",
    epistemic: "#0072b2",
    flagged: "#8f4a8b",
  };
  const parts: string[] = [];
  found.columns.names.forEach((name, x) => {
    const at = left + x * side + side / 2;
    parts.push(`<text transform="translate(${at} ${top - 6}) rotate(-50)">${escaped(name)}</text>`);
  });
  for (let y = 0; y < height; y++) {
    parts.push(
      `<text x="${left - 8}" y="${top + y * side + side / 2 + 4}" text-anchor="end">${escaped(found.rows.names[y])}</text>`,
    );
    for (let x = 0; x < width; x++) {
      const n = found.counts[y * width + x];
      if (n === 0) continue;
      const share = shade(found, y, x, color);
      const paint = color === "count" && x === y ? "#5b6b7d" : fill[color];
      const [px, py] = [left + x * side, top + y * side];
      parts.push(
        `<rect x="${px}" y="${py}" width="${side - 1}" height="${side - 1}" fill="${paint}" fill-opacity="${(0.05 + 0.6 * share).toFixed(3)}"/>`,
      );
      const text = color === "count" ? format.count(n) : format.percent(share, 0);
      parts.push(
        `<text x="${px + side / 2}" y="${py + side / 2 + 4}" text-anchor="middle">${text}</text>`,
      );
    }
  }
  const size = `width="${left + width * side + 60}" height="${top + height * side + 10}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, sans-serif" font-size="12" fill="#1c2430">${parts.join("")}</svg>`;
}

const KEPT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "fill-opacity",
  "opacity",
  "font-size",
  "font-family",
];

/** A chart of the page as a file of its own: its styles are written into it. */
export function chartSvg(name: string): string | null {
  const chart = document.querySelector(`svg[data-export="${name}"]`);
  if (chart === null) return null;
  const copy = chart.cloneNode(true) as SVGElement;
  const [from, to] = [chart.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const key of KEPT) to[i].setAttribute(key, style.getPropertyValue(key));
    to[i].removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

export function mapPng(done: (blob: Blob) => void): void {
  const canvas = document.getElementById("map-canvas") as HTMLCanvasElement | null;
  canvas?.toBlob((blob) => {
    if (blob !== null) done(blob);
  });
}
