// What leaves the page: ids, tables, tags, costs, pictures, and the same selection as Python.

import { columnOf, inDistribution, listed } from "./cases";
import { csvCell } from "./csv";
import { columnMetas, loaded, meta, nameOfRow, storedColumn, textColumn, hasIds } from "./data";
import { predictionWords } from "./case-list";
import { cells, shade } from "./matrix";
import type { Costs } from "./measures";
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
  return hasIds ? nameOfRow(row) : nameOfRow(row).slice(1);
}

export function idsText(): string {
  return Array.from(rows(), exported).join("\n") + "\n";
}

export async function selectionCsv(): Promise<string> {
  const shown = columnMetas.value.filter(
    ({ name }) => !["id", "predicted", "truth"].includes(name),
  );
  await loaded(shown.map(({ name }) => name));
  const header = [
    hasIds ? "id" : "row",
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
  if (!column || column.codes[row] === column.missing) return "";
  const code = column.codes[row];
  if (column.kind === "number") return String(column.centers[code]);
  return column.kind === "flag" ? String(code) : (column.names[code] ?? "");
}

export function tagsCsv(): string {
  const lines = [`${hasIds ? "id" : "row"},tag,note`];
  for (const [row, { tag, note }] of [...tags.value].sort((a, b) => a[0] - b[0])) {
    lines.push([exported(row), tag, note].map(csvCell).join(","));
  }
  unsaved.value = false;
  return lines.join("\n") + "\n";
}

/** The costs in the form of `labelwise decide --costs`. */
export function costsToml(given: Costs): string {
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

const MOST_LISTED = 1000;

/** The lines that give the same selection. */
export function asPython(): string {
  // cases out of distribution are in files of their own
  const chosen = rows().filter((row) => inDistribution.value?.[row] === 1);
  let found: string;
  if (chosen.length <= MOST_LISTED) {
    const list = Array.from(chosen, (row) =>
      hasIds ? JSON.stringify(nameOfRow(row)) : Number(exported(row)) - 1,
    );
    found = `[${list.join(", ")}]`;
  } else if (hasIds) found = 'open("ids.txt", encoding="utf-8").read().splitlines()';
  else found = 'np.loadtxt("ids.txt", dtype=int) - 1';
  const saved =
    chosen.length > MOST_LISTED ? "; save ids.txt with Export, ids of the selection" : "";
  return [
    "import numpy as np",
    "import labelwise as lw",
    "",
    'cases = lw.load_predictions("predictions.npz")',
    `# ${format.plural(chosen.length, "case")} in the order of the list${saved}`,
    ...(hasIds
      ? [
          "place = {str(name): row for row, name in enumerate(cases.ids[:])}",
          `rows = [place[name] for name in ${found}]`,
        ]
      : [`rows = np.array(${found})`]),
    "q = cases[rows].distribution()",
    "",
  ].join("\n");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** The matrix as a picture. */
export function matrixSvg(): string {
  const found = cells.value;
  if (!found) return "";
  const { color } = current;
  const [side, left, top] = [44, 160, 130];
  const { rows, columns, counts } = found;
  const [height, width] = [rows.names.length, columns.names.length];
  const parts: string[] = [];
  const write = (x: number, y: number, about: string, text: string) =>
    parts.push(`<text transform="translate(${x} ${y})${about}>${escaped(text)}</text>`);
  columns.names.forEach((name, x) =>
    write(left + (x + 0.5) * side, top - 6, ' rotate(-50)"', name),
  );
  rows.names.forEach((name, y) => {
    write(left - 8, top + (y + 0.6) * side, '" text-anchor="end"', name);
    for (let x = 0; x < width; x++) {
      const n = counts[y * width + x];
      if (n === 0) continue;
      const share = shade(found, y, x, color);
      const paint = color === "epistemic" ? "#0072b2" : x === y ? "#5b6b7d" : "#d55e00";
      parts.push(
        `<rect x="${left + x * side}" y="${top + y * side}" width="${side - 1}" height="${side - 1}" fill="${paint}" fill-opacity="${0.05 + 0.6 * share}"/>`,
      );
      const text = color === "count" ? format.count(n) : format.percent(share, 0);
      write(left + (x + 0.5) * side, top + (y + 0.6) * side, '" text-anchor="middle"', text);
    }
  });
  const size = `width="${left + width * side + 60}" height="${top + height * side + 10}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="system-ui, sans-serif" font-size="12">${parts.join("")}</svg>`;
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
export function chartSvg(name: string): string {
  const chart = document.querySelector(`svg[data-export="${name}"]`);
  if (chart === null) return "";
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
