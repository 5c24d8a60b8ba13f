// The selected cases as a list or as pictures; only what is in sight is in the document.

import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { columnOf, derived, inDistribution, listed, numeric, wrong } from "./cases";
import { PartsBar, Segments, Select } from "./count";
import { R, meta, nameOfRow, textColumn } from "./data";
import * as format from "./format";
import { hasPictures, pictureOf } from "./pictures";
import { equals, narrowed, rowsIn, sortedRows, withoutKeys } from "./selection";
import { go, now as current, select } from "./state";
import { tags } from "./tags";
import { currentRow, openCase } from "./current";
import { labelNames } from "./labels";

const ROW = 44;
const SEEN = 14;
const TILE = 116;
const PRINTED = 40;
const top = signal(0);
const width = signal(900);

export function predictionWords(row: number, key: "pred" | "truth" | "second"): string {
  if (meta.multilabel) return labelNames(row, key).join(", ") || "none";
  const column = columnOf(key);
  if (column === null) return "";
  return column.names[column.codes[row]] ?? "–";
}

function isWrong(row: number): boolean {
  return wrong.value?.codes[row] === 1;
}

function amounts(row: number): { aleatoric: number; epistemic: number } {
  const [au, eu] = [columnOf("aleatoric"), columnOf("epistemic")];
  return {
    aleatoric: au?.centers[au.codes[row]] ?? 0,
    epistemic: eu?.centers[eu.codes[row]] ?? 0,
  };
}

const largest = computed(
  () => meta.losses.find(({ key }) => key === current.loss)?.maximum_of_sum ?? 0,
);
const largestSeen = computed(() => {
  const column = columnOf("total");
  const seen = column === null ? 1 : column.edges[column.edges.length - 1];
  return Math.min(seen, largest.value || seen);
});

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

function Line({ row, index, here }: { row: number; index: number; here: boolean }) {
  const { aleatoric, epistemic } = amounts(row);
  const bad = isWrong(row);
  const tag = tags.value.get(row)?.tag;
  return (
    <tr class={here ? "here" : ""} aria-rowindex={index + 2} aria-selected={here}>
      {hasPictures() && (
        <td class="picture">
          <Thumb row={row} />
        </td>
      )}
      <th scope="row">
        <button type="button" class="open" data-row={row} onClick={() => openCase(row)}>
          {nameOfRow(row)}
        </button>
        {tag && <span class="tag">{tag}</span>}
      </th>
      <td>
        <span class={bad ? "bad" : ""}>{predictionWords(row, "pred")}</span>{" "}
        <span class="soft">{topWords(row)}</span>
      </td>
      {meta.labelled && (
        <td>
          {bad ? (
            <span class="bad">✗ {predictionWords(row, "truth")}</span>
          ) : (
            <span class="good">✓</span>
          )}
        </td>
      )}
      <td class="bar">
        <span class="amount">
          <PartsBar aleatoric={aleatoric} epistemic={epistemic} largest={largestSeen.value} />
          <span>{format.fixed(aleatoric + epistemic, 2)}</span>
        </span>
      </td>
    </tr>
  );
}

function List({ rows }: { rows: Uint32Array }) {
  const start = Math.max(Math.min(Math.floor(top.value / ROW) - 3, rows.length - SEEN), 0);
  const shown = rows.subarray(start, start + SEEN + 6);
  const here = currentRow.value;
  const after = rows.length - start - shown.length;
  // browsers cannot scroll further than about 16 million pixels
  const scale = Math.min(1, 8_000_000 / (rows.length * ROW || 1));
  return (
    <table class="rows cases" aria-rowcount={rows.length + 1} aria-labelledby="cases-title">
      <thead>
        <tr>
          {hasPictures() && <td />}
          <th scope="col">case</th>
          <th scope="col">predicted</th>
          {meta.labelled && <th scope="col">truth</th>}
          <th scope="col" class="bar">
            uncertainty
          </th>
        </tr>
      </thead>
      <tbody>
        {start > 0 && (
          <tr class="gap" aria-hidden="true" style={{ height: `${start * ROW * scale}px` }} />
        )}
        {Array.from(shown, (row, i) => (
          <Line key={row} row={row} index={start + i} here={row === here} />
        ))}
        {after > 0 && (
          <tr class="gap" aria-hidden="true" style={{ height: `${after * ROW * scale}px` }} />
        )}
      </tbody>
    </table>
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
              type="button"
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
    columnOf(meta.second_order === "none" ? "total" : "epistemic"),
    columnOf("pred"),
  ];
  const base = inDistribution.value;
  if (column === null || base === null || (!meta.multilabel && predicted === null)) return null;
  const MOST = 1000;
  const rows = sortedRows(rowsIn(base), column.codes, column.missing, true);
  const codes = new Uint16Array(R).fill(65535);
  const size = meta.multilabel ? 1 : meta.class_names.length;
  const seen = new Uint32Array(size + 1);
  // the first of each class, then the second of each …: rounds as a sort key, which is stable
  const candidates: { row: number; round: number }[] = [];
  for (let i = 0; i < rows.length && candidates.length < 20 * MOST; i++) {
    const k = predicted === null ? 0 : Math.min(predicted.codes[rows[i]], size);
    candidates.push({ row: rows[i], round: seen[k]++ });
  }
  candidates.sort((a, b) => a.round - b.round);
  const n = Math.min(MOST, candidates.length);
  for (let i = 0; i < n; i++) codes[candidates[i].row] = i;
  const edges = Float64Array.from({ length: n + 1 }, (_, i) => i);
  return {
    name: "next",
    title: "to be labeled next",
    kind: "number" as const,
    codes,
    missing: 65535,
    names: [],
    edges,
    centers: edges.slice(0, n),
    source: "page",
    note: "",
  };
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

export function CaseList() {
  const rows = listed.value;
  const { sort, cases } = current;
  const scroller = useRef<HTMLDivElement>(null);
  const grid = (cases || (hasPictures() ? "grid" : "list")) === "grid" && hasPictures();
  useEffect(() => {
    top.value = 0;
    scroller.current?.scrollTo(0, 0);
  }, [rows]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => (width.value = element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const scale = rows === null ? 1 : Math.min(1, 8_000_000 / (rows.length * ROW || 1));
  return (
    <section class="panel" id="cases" aria-labelledby="cases-title" tabIndex={-1}>
      <header>
        <h2 id="cases-title">
          Cases{" "}
          <span
            class="soft"
            data-key="cases.n"
            data-value={rows?.length ?? ""}
            data-listed={rows?.length ?? ""}
          >
            {rows === null ? "" : format.count(rows.length)}
          </span>
        </h2>
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
        {meta.ids && <IdSearch />}
        <button
          type="button"
          class="quiet"
          title="Most epistemic first, each predicted class in turn"
          onClick={() => select(narrowed([], [equals("next", "..50")]), "replace")}
        >
          50 to label next
        </button>
      </header>
      <div
        class="scroller tall list"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label="Selected cases"
        onScroll={(event) => (top.value = event.currentTarget.scrollTop / (grid ? 1 : scale))}
      >
        {rows === null ? (
          <p class="soft">Sorting …</p>
        ) : grid ? (
          <Tiles rows={rows} />
        ) : (
          <List rows={rows} />
        )}
      </div>
      {rows !== null && rows.length > 0 && <Printed rows={rows} />}
    </section>
  );
}

function IdSearch() {
  const filter = current.terms.flatMap((term) => term.filters).find((each) => each.key === "id");
  void textColumn("id");
  return (
    <input
      type="search"
      class="find"
      id="search"
      placeholder="find an id  /"
      aria-label="Find an id"
      value={filter?.values[0] ?? ""}
      onInput={(event) => {
        const text = event.currentTarget.value;
        const rest = withoutKeys(current.terms, ["id"]);
        go(
          { terms: text === "" ? rest : narrowed(rest, [equals("id", text)]), case: "" },
          "replace",
        );
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        const first = listed.value?.[0];
        if (first !== undefined) openCase(first);
      }}
    />
  );
}

/** The first cases of the list, for paper only. */
function Printed({ rows }: { rows: Uint32Array }) {
  return (
    <div class="printed" aria-hidden="true">
      <p>
        The first {Math.min(PRINTED, rows.length)} of {format.plural(rows.length, "case")}:
      </p>
      <ol>
        {Array.from(rows.subarray(0, PRINTED), (row) => (
          <li key={row}>
            {nameOfRow(row)}: {predictionWords(row, "pred")} {topWords(row)}
            {isWrong(row) && ` ✗ ${predictionWords(row, "truth")}`}
          </li>
        ))}
      </ol>
    </div>
  );
}
