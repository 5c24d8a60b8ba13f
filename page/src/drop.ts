// Files opened or dropped on the page: a table that joins by id, the predictions, pictures. Nothing leaves the machine.

import { signal } from "@preact/signals-core";
import { epoch, isKnown } from "./cases";
import { parseCsv } from "./csv";
import {
  K,
  R,
  addColumn,
  addTexts,
  meta,
  metaOf,
  nameOfRow,
  rowNamed,
  rowsByName,
  setBlock,
  loaded,
  noCodes,
  hasIds,
  sampled,
  secondOrder,
} from "./data";
import * as format from "./format";
import { type CaseMembers, binned, membersAt, embedded } from "./members";
import { type StoredArray, isReadable, readHeader, readZip, slice } from "./npy";
import { droppedImages, stem } from "./pictures";
import { notice } from "./state";
import { setTags, unsaved } from "./tags";
import type { ColumnMeta } from "./types";

const MOST_NAMES = 5000;
const FEW_NUMBERS = 20;
const BINS = 254;

const predictions = signal<{ array: StoredArray; kind: string } | null>(null);
const fetched = signal<{ row: number; members: CaseMembers } | null>(null);
let asking = -1;

/** The members of a case from the dropped predictions; null until they are read. */
export function fileMembers(row: number): CaseMembers | null {
  const now = fetched.value;
  if (now !== null && now.row === row) return now.members;
  if (predictions.value !== null && asking !== row && row < meta.n) {
    asking = row;
    void readCase(row).then((members) => {
      if (asking === row && members !== null) fetched.value = { row, members };
    });
  }
  return null;
}

async function readCase(row: number): Promise<CaseMembers | null> {
  const opened = predictions.peek();
  if (opened === null) return null;
  const members: Float64Array[] = [];
  for (let j = 0; j < opened.array.shape[0]; j++)
    members.push(probabilities(await slice(opened.array, j, row), opened.kind));
  const probs = new Float64Array(members.length * K);
  members.forEach((values, j) => probs.set(values, j * K));
  const weights = new Float64Array(members.length).fill(1 / members.length);
  const stored = embedded.peek()?.weights;
  if (stored?.length === members.length) weights.set(stored);
  return { labels: Uint32Array.from({ length: K }, (_, k) => k), probs, weights };
}

function probabilities(values: Float64Array, kind: string): Float64Array {
  if (kind === "probs") return values;
  if (meta.multilabel)
    return values.map((z) => (kind === "logits" ? 1 / (1 + Math.exp(-z)) : Math.exp(z)));
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = values.map((z) => Math.exp(z - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

async function readPredictions(file: File): Promise<string> {
  const arrays: StoredArray[] = [];
  if (/\.npz$/i.test(file.name)) {
    for (const entry of await readZip(file)) {
      if (/^(probs|logits|log_probs)\.npy$/.test(entry.name))
        arrays.push(await readHeader(entry.name, await entry.blob()));
    }
  } else arrays.push(await readHeader(file.name, file));
  const array = arrays[0];
  if (array === undefined) throw new Error("it has none of probs, logits, log_probs");
  if (array.shape.length === 2) array.shape = [1, ...array.shape];
  const [, n, k] = array.shape;
  if (!isReadable(array))
    throw new Error(`its numbers are ${array.dtype}; float16, float32 and float64 can be read`);
  if (array.shape.length !== 3 || n !== meta.n || k !== K) {
    throw new Error(
      `its shape is (${array.shape.join(", ")}); this page is about ${meta.n} cases and ${K} classes`,
    );
  }
  if (sampled)
    throw new Error(
      "this page holds a sample of the cases, whose positions in the file are not known",
    );
  const kind = array.name.replace(/\.npy$/, "");
  const before = predictions.value;
  predictions.value = { array, kind: /^(logits|log_probs)$/.test(kind) ? kind : "probs" };
  if (!(await agrees())) {
    predictions.value = before;
    throw new Error("its numbers are not those that this page was made from");
  }
  asking = -1;
  fetched.value = null;
  return `The members of every case are now read from ${file.name}.`;
}

/** Whether the first embedded case has the same members in the file. */
async function agrees(): Promise<boolean> {
  const found = embedded.value;
  if (found === null || secondOrder !== "members" || found.labels !== null) return true;
  const [stored, read] = [membersAt(0), await readCase(found.rows[0])];
  if (stored === null || read === null || stored.probs.length !== read.probs.length) return false;
  return stored.probs.every((p, i) => Math.abs(p - read.probs[i]) < 1e-3);
}

/** Which column of the table holds the ids: the one with the most known ones. */
function idColumn(header: string[], rows: string[][]): { at: number; matched: number } {
  let best = { at: -1, matched: 0 };
  const names = rowsByName();
  header.forEach((_, at) => {
    let matched = 0;
    for (const row of rows) if (names.has(row[at])) matched++;
    if (matched > best.matched) best = { at, matched };
  });
  return best;
}

async function readTable(file: File): Promise<string> {
  await loaded(["id"]);
  const [first, ...rows] = parseCsv(await file.text());
  let header = first;
  if (header === undefined || rows.length === 0) throw new Error("it has no rows");
  const named = header.findIndex((name) => /^(id|ids|case|row)$/i.test(name.trim()));
  const { at, matched } = hasIds ? idColumn(header, rows) : { at: named, matched: rows.length };
  if (at < 0 || matched === 0) {
    const why = hasIds
      ? `none of its columns holds ids like ${nameOfRow(0)}`
      : "it needs a column “row” with numbers from 1";
    throw new Error(why);
  }
  const rowOf = (name: string) =>
    hasIds ? (rowsByName().get(name) ?? null) : rowNamed("#" + name);
  const target = rows.map((row) => rowOf(row[at]));
  const joined = new Set(target.filter((row) => row !== null)).size;
  if (joined < target.filter((row) => row !== null).length)
    throw new Error("an id occurs more than once");
  const added: string[] = [];
  if (takeTags(header, rows, target)) {
    added.push("tags and notes");
    header = header.map((name) => (name === "tag" || name === "note" ? "" : name));
  }
  const votes = votesOf(header, rows, target);
  header.forEach((name, j) => {
    if (j === at || votes.has(j) || name === "") return;
    const values: string[] = new Array<string>(R).fill("");
    rows.forEach((row, i) => {
      const to = target[i];
      if (to !== null) values[to] = (row[j] ?? "").trim();
    });
    const own = columnName(name.trim());
    addValues(own, values);
    added.push(own);
  });
  if (votes.size > 0) added.push("votes of readers");
  epoch.value++;
  const unknown = rows.length - joined;
  return `Joined ${added.join(", ")} for ${format.plural(joined, "case")}${unknown > 0 ? `; ${format.plural(unknown, "row")} with unknown ids` : ""}.`;
}

/** A name that means nothing else on the page. */
function columnName(name: string): string {
  return isKnown(name) && metaOf(name)?.source !== "metadata" ? `${name} (file)` : name;
}

/** Tags and notes that were exported from a page like this. */
function takeTags(header: string[], rows: string[][], target: (number | null)[]): boolean {
  const [tag, note] = [header.indexOf("tag"), header.indexOf("note")];
  if (tag < 0 || note < 0) return false;
  const changes: Parameters<typeof setTags>[0] = [];
  rows.forEach((row, i) => {
    const to = target[i];
    if (to !== null) changes.push([to, { tag: row[tag] ?? "", note: row[note] ?? "" }]);
  });
  setTags(changes);
  unsaved.value = false;
  return true;
}

export function addValues(name: string, values: string[]): void {
  const given = values.filter((value) => value !== "");
  const distinct = [...new Set(given)];
  const numbers = given.every((value) => Number.isFinite(Number(value)));
  const about = { name, title: name, source: "metadata" };
  if (numbers && distinct.length > FEW_NUMBERS) addNumbers(about, values);
  else if (distinct.length > MOST_NAMES) addTexts({ ...about, kind: "text" }, values);
  else {
    const compare = numbers ? (a: string, b: string) => Number(a) - Number(b) : undefined;
    const names = distinct.sort(compare);
    const position = new Map(names.map((value, i) => [value, i]));
    const codes = noCodes(names.length);
    values.forEach((value, i) => (codes[i] = position.get(value) ?? codes[i]));
    addColumn({ ...about, kind: "category", names }, codes);
  }
}

function addNumbers(about: Pick<ColumnMeta, "name" | "title" | "source">, values: string[]): void {
  const numbers = Float64Array.from(values, (value) => (value === "" ? NaN : Number(value)));
  const sorted = numbers.filter((x) => !Number.isNaN(x)).sort();
  const edges: number[] = [sorted[0]];
  for (let b = 1; b < BINS; b++) {
    const edge = sorted[Math.floor((b * sorted.length) / BINS)];
    if (edge > edges[edges.length - 1]) edges.push(edge);
  }
  const last = sorted[sorted.length - 1];
  edges.push(last > edges[edges.length - 1] ? last : last + 1);
  const { codes, centers } = binned(about.name, about.title, numbers, edges);
  addColumn({ ...about, kind: "number", edges, centers: [...centers] }, codes);
}

/** Columns named like the classes are the readers' votes. */
function votesOf(header: string[], rows: string[][], target: (number | null)[]): Set<number> {
  // of labels that may occur together they do not say how many readers there were
  if (meta.multilabel) return new Set();
  const place = meta.class_names.map((name) =>
    header.findIndex((title) => title.replace(/^votes?[ ._:]/i, "").trim() === name),
  );
  if (place.some((j) => j < 0)) return new Set();
  const votes = new Uint16Array(R * K);
  const totals = new Uint16Array(R);
  const disagreement: string[] = new Array<string>(R).fill("");
  rows.forEach((row, i) => {
    const to = target[i];
    if (to === null) return;
    let most = 0;
    place.forEach((j, k) => {
      const n = Math.max(Number(row[j]) || 0, 0);
      votes[to * K + k] = n;
      totals[to] += n;
      most = Math.max(most, n);
    });
    if (totals[to] > 0) disagreement[to] = String(1 - most / totals[to]);
  });
  setBlock("votes", { dtype: "u2", shape: [R, K] }, votes);
  setBlock("votes.total", { dtype: "u2", shape: [R] }, totals);
  const name = "reader_disagreement";
  addNumbers({ name, title: "readers disagree" }, disagreement);
  return new Set(place);
}

export async function openFiles(files: File[]): Promise<void> {
  const said: string[] = [];
  const images = files.filter((file) => file.type.startsWith("image/"));
  if (images.length > 0) {
    const map = new Map(droppedImages.value);
    for (const file of images) map.set(stem(file.name), file);
    droppedImages.value = map;
    let matched = 0;
    if (hasIds) for (const id of rowsByName().keys()) if (map.has(stem(id))) matched++;
    said.push(
      `${format.plural(images.length, "picture")} read; ${format.plural(matched, "case")} of this page have one.`,
    );
  }
  for (const file of files.filter((each) => !images.includes(each))) {
    try {
      if (/\.(npz|npy)$/i.test(file.name)) said.push(await readPredictions(file));
      else if (/\.(csv|tsv|txt)$/i.test(file.name)) said.push(await readTable(file));
      else
        said.push(
          `${file.name} was not read: tables (.csv), predictions (.npz, .npy) and pictures can be.`,
        );
    } catch (error) {
      said.push(
        `${file.name} was not read: ${error instanceof Error ? error.message : String(error)}.`,
      );
    }
  }
  notice.value = said.join(" ");
}

/** Files of what was dropped, with those inside folders. */
async function droppedFiles(items: DataTransferItemList): Promise<File[]> {
  const entries = Array.from(items, (item) => item.webkitGetAsEntry()).filter(
    (entry) => entry !== null,
  );
  const files: File[] = [];
  const visit = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.isFile) {
      files.push(
        await new Promise<File>((done, fail) => (entry as FileSystemFileEntry).file(done, fail)),
      );
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const found = await new Promise<FileSystemEntry[]>((done, fail) =>
        reader.readEntries(done, fail),
      );
      if (found.length === 0) return;
      for (const each of found) await visit(each);
    }
  };
  for (const entry of entries) await visit(entry);
  return files;
}

export const hovering = signal(false);

export function listenForDrops(): void {
  addEventListener("dragover", (event) => {
    event.preventDefault();
    hovering.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) hovering.value = false;
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    hovering.value = false;
    if (event.dataTransfer !== null) void droppedFiles(event.dataTransfer.items).then(openFiles);
  });
}
