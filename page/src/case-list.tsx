// The selected cases as a list or as pictures; only what is in sight is in the document.

import { computed, effect, signal } from "@preact/signals-core";
import { createRef } from "preact";
import { columnOf, derived, inDistribution, listed, numeric, wrong } from "./cases";
import { AmountBar, Find, Panel, Segments, Select } from "./count";
import { meta, hasColumn, nameOfRow, noCodes, numberColumn, textColumn, secondOrder } from "./data";
import * as format from "./format";
import { hasPictures, pictureOf } from "./pictures";
import { Rows, type View } from "./rows";
import { equals, narrowed, rowsIn, sortedRows, withoutKeys } from "./selection";
import { go, now as current, select } from "./state";
import { tags } from "./tags";
import { currentRow, openCase } from "./current";
import { labelNames } from "./labels";
import type { Row } from "./types";

const ROW = 44;
const SEEN = 14;
const TILE = 116;
const PRINTED = 40;
const top = signal(0);
const width = signal(900);

export function predictionWords(row: number, key: "pred" | "truth" | "second"): string {
  if (meta.multilabel) return labelNames(row, key).join(", ") || "none";
  const column = columnOf(key);
  if (!column) return "";
  return column.names[column.codes[row]] ?? "–";
}

function isWrong(row: number): boolean {
  return wrong.value?.codes[row] === 1;
}

/** A number of the row, as the list is sorted by it. */
function amount(key: string, row: number): number {
  const column = columnOf(key);
  return column?.centers[column.codes[row]] ?? 0;
}

const largestSeen = computed(() => columnOf("total")?.edges.at(-1) ?? 1);

function topWords(row: number): string {
  const column = columnOf("top");
  const value = column?.centers[column.codes[row]];
  return value === undefined ? "" : format.percent(value, 0);
}

function Thumb({ row }: { row: number }) {
  const url = pictureOf(row);
  return url === null ? (
    <span class="thumb empty">{topWords(row)}</span>
  ) : (
    <img class="thumb" src={url} alt="" loading="lazy" />
  );
}

function lineViews(): View<Row>[] {
  const views: View<Row>[] = [
    {
      key: "predicted",
      title: "predicted",
      class: "",
      cell: (row) => (
        <>
          <span class={isWrong(row) ? "bad" : ""}>{predictionWords(row, "pred")}</span>{" "}
          <span class="soft">{topWords(row)}</span>
        </>
      ),
    },
    {
      key: "uncertainty",
      title: "uncertainty",
      class: "bar",
      cell: (row) => {
        const [total, aleatoric, epistemic] = ["total", "aleatoric", "epistemic"].map((key) =>
          amount(key, row),
        );
        return (
          <AmountBar aleatoric={aleatoric} epistemic={epistemic} largest={largestSeen.value}>
            <span>{format.fixed(total, 2)}</span>
          </AmountBar>
        );
      },
    },
  ];
  if (meta.labelled)
    views.splice(1, 0, {
      key: "truth",
      title: "truth",
      class: "",
      cell: (row) =>
        isWrong(row) ? (
          <span class="bad">✗ {predictionWords(row, "truth")}</span>
        ) : (
          <span class="good">✓</span>
        ),
    });
  return views;
}

function List({ rows, scale }: { rows: Uint32Array; scale: number }) {
  const start = Math.max(Math.min(Math.floor(top.value / ROW) - 3, rows.length - SEEN), 0);
  const shown = Array.from(rows.subarray(start, start + SEEN + 6));
  const here = currentRow.value;
  const gaps = {
    start,
    count: rows.length,
    before: start * ROW * scale,
    after: (rows.length - start - shown.length) * ROW * scale,
  };
  return (
    <Rows
      class="cases"
      label="Selected cases"
      rows={shown}
      gaps={gaps}
      views={lineViews()}
      name={nameOfRow}
      rowClass={(row) => (row === here ? "here" : "")}
      first={{
        key: "case",
        title: "case",
        cell: (row) => (
          <span class="caseline">
            {hasPictures() && <Thumb row={row} />}
            <button
              class="open"
              data-row={row}
              aria-current={row === here ? "true" : undefined}
              onClick={() => openCase(row)}
            >
              {nameOfRow(row)}
            </button>
            {tags.value.get(row)?.tag && <span class="tag">{tags.value.get(row)?.tag}</span>}
          </span>
        ),
      }}
    />
  );
}

function Tiles({ rows }: { rows: Uint32Array }) {
  const across = Math.max(Math.floor(width.value / TILE), 2);
  const lines = Math.ceil(rows.length / across);
  const first = Math.max(Math.floor(top.value / TILE) - 1, 0);
  const shown = rows.subarray(first * across, (first + 7) * across);
  const here = currentRow.value;
  return (
    <div class="tiles" style={{ height: `${Math.min(lines * TILE, 8_000_000)}px` }}>
      <ol
        style={{
          transform: `translateY(${first * TILE}px)`,
          gridTemplateColumns: `repeat(${across}, 1fr)`,
        }}
      >
        {Array.from(shown, (row) => (
          <li key={row}>
            <button
              class={`tile ${row === here ? "here" : ""} ${isWrong(row) ? "bad" : ""}`}
              data-row={row}
              onClick={() => openCase(row)}
              title={nameOfRow(row)}
            >
              <Thumb row={row} />
              <span class="caption">
                {isWrong(row) && "✗ "}
                {predictionWords(row, "pred")}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** Ranks of the cases to be labeled next: most epistemic first, but each predicted class in turn. */
const ranks = computed(() => {
  const [column, predicted] = [
    columnOf(secondOrder === "none" ? "total" : "epistemic"),
    columnOf("pred"),
  ];
  const base = inDistribution.value;
  if (!column || !base || (!meta.multilabel && !predicted)) return null;
  const MOST = 1000;
  const rows = sortedRows(rowsIn(base), column.codes, column.missing, true);
  const codes = noCodes(MOST);
  const size = meta.multilabel ? 1 : meta.class_names.length;
  const seen = new Uint32Array(size + 1);
  // the first of each class, then the second of each …: rounds as a sort key, which is stable
  const candidates: { row: number; round: number }[] = [];
  for (let i = 0; i < rows.length && candidates.length < 20 * MOST; i++) {
    const k = !predicted ? 0 : Math.min(predicted.codes[rows[i]], size);
    candidates.push({ row: rows[i], round: seen[k]++ });
  }
  candidates.sort((a, b) => a.round - b.round);
  const n = Math.min(MOST, candidates.length);
  for (let i = 0; i < n; i++) codes[candidates[i].row] = i;
  const edges = Array.from({ length: n + 1 }, (_, i) => i);
  return numberColumn("next", "to be labeled next", codes, edges, edges.slice(0, n));
});
derived.set("next", () => ranks.value);

function sortOptions(): [string, string][] {
  const found: [string, string][] = [
    ["-total", "most uncertain"],
    ["-epistemic", "most epistemic"],
    ["-aleatoric", "most aleatoric"],
    ["total", "least uncertain"],
    ["-top", "highest probability"],
    ["top", "lowest probability"],
  ];
  for (const { name, title } of numeric.value) {
    if (name !== "top") found.push([`-${name}`, `${title}, falling`], [name, `${title}, rising`]);
  }
  return found;
}

const scroller = createRef<HTMLDivElement>();
const observer = new ResizeObserver(([{ target }]) => (width.value = target.clientWidth));

/** Other cases are shown from the first on. */
export function listenForCases(): void {
  if (scroller.current !== null) observer.observe(scroller.current);
  effect(() => {
    void listed.value;
    // asking for a place makes the browser lay out the page at once
    if (top.peek() !== 0) scroller.current?.scrollTo(0, 0);
    top.value = 0;
  });
}

export function CaseList() {
  const rows = listed.value;
  const { sort, cases } = current;
  const grid = (cases || (hasPictures() ? "grid" : "list")) === "grid" && hasPictures();
  // browsers cannot scroll further than about 16 million pixels
  const scale = !rows ? 1 : Math.min(1, 8_000_000 / (rows.length * ROW || 1));
  return (
    <Panel
      id="cases"
      title={
        <>
          Cases{" "}
          <span class="soft" data-key="cases.n" data-value={rows?.length ?? ""}>
            {!rows ? "" : format.count(rows.length)}
          </span>
        </>
      }
      tools={
        <>
          {hasPictures() && (
            <Segments
              label="Show as"
              value={grid ? "grid" : "list"}
              options={[
                ["grid", "grid"],
                ["list", "list"],
              ]}
              change={(value) => go({ cases: value })}
            />
          )}
          <Select
            label="sort"
            value={sort}
            options={sortOptions()}
            change={(value) => go({ sort: value, case: "" })}
          />
          {hasColumn("id") && <IdSearch />}
          <button
            class="quiet"
            title="Most epistemic first, each predicted class in turn"
            onClick={() => select(narrowed([], [equals("next", "..50")]), "replace")}
          >
            50 to label next
          </button>
        </>
      }
    >
      <div
        class="scroller tall list"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label="Selected cases"
        onScroll={(event) => (top.value = event.currentTarget.scrollTop / (grid ? 1 : scale))}
      >
        {!rows ? (
          <p class="soft">Sorting …</p>
        ) : grid ? (
          <Tiles rows={rows} />
        ) : (
          <List rows={rows} scale={scale} />
        )}
      </div>
      <Printed />
    </Panel>
  );
}

function IdSearch() {
  const filter = current.terms.flatMap((term) => term.filters).find((each) => each.key === "id");
  void textColumn("id");
  return (
    <Find
      id="search"
      label="find an id  /"
      value={filter?.values[0] ?? ""}
      change={(text) => {
        const rest = withoutKeys(current.terms, ["id"]);
        const terms = text === "" ? rest : narrowed(rest, [equals("id", text)]);
        go({ terms, case: "" }, "replace");
      }}
      enter={() => {
        const first = listed.value?.[0];
        if (first !== undefined) openCase(first);
      }}
    />
  );
}

const printing = signal(false);
addEventListener("beforeprint", () => (printing.value = true));
addEventListener("afterprint", () => (printing.value = false));
matchMedia("print").addEventListener("change", ({ matches }) => (printing.value = matches));

/** The first cases of the list, for paper only. */
function Printed() {
  const rows = listed.value;
  if (!printing.value || !rows?.length) return null;
  return (
    <div class="printed" aria-hidden="true">
      <p>
        The first {Math.min(PRINTED, rows.length)} of {format.plural(rows.length, "case")}:
      </p>
      <ol>
        {Array.from(rows.subarray(0, PRINTED), (row) => (
          <li key={row}>
            <bdi>{nameOfRow(row)}</bdi>: <bdi>{predictionWords(row, "pred")}</bdi> {topWords(row)}
            {isWrong(row) && <bdi> ✗ {predictionWords(row, "truth")}</bdi>}
          </li>
        ))}
      </ol>
    </div>
  );
}
