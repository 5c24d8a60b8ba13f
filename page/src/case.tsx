// One case: its members, label by label; the nearest cases; votes; a note; a link.

import { computed, signal } from "@preact/signals-core";
import { Fragment } from "preact";
import { columnOf, wrong } from "./cases";
import { predictionWords } from "./case-list";
import { Figure, PartsBar } from "./count";
import { currentRow, openCase, placeInList, step } from "./current";
import {
  K,
  L,
  block,
  blockMeta,
  columnMetas,
  meta,
  nameOfRow,
  storedColumn,
  textColumn,
  secondOrder,
} from "./data";
import { fileMembers } from "./drop";
import * as format from "./format";
import { labelNames } from "./labels";
import { decompose, meanOf } from "./measures";
import {
  type CaseMembers,
  asked,
  embedded,
  memberNames,
  membersOf,
  positionOf,
  switchedOff,
  switchedOn,
} from "./members";
import { nearest } from "./nearest";
import { pictureOf } from "./pictures";
import { plan, refer } from "./refer";
import { Rows, type View } from "./rows";
import { go, now as current } from "./state";
import { listed } from "./cases";
import { setTags, tags } from "./tags";
import type { Codes } from "./types";

const MOST_LABELS = 8;
const LETTERED = 6;

interface LabelRow {
  label: number;
  name: string;
  mean: number;
  aleatoric: number;
  epistemic: number;
  /** Probabilities by member, with the member's position. */
  members: { at: number; p: number }[];
  votes: number | null;
}

export const caseMembers = computed<CaseMembers | null>(() => {
  const row = currentRow.value;
  if (row === null) return null;
  return fileMembers(row) ?? membersOf(row);
});

/** The labels that matter most for the case: the most uncertain, the prediction, the truth. */
function labelRows(row: number): LabelRow[] {
  const all = caseMembers.value;
  const votes = block("votes") as Codes | null;
  const readers = (block("votes.total") as Codes | null)?.[row] ?? 0;
  const voted = (label: number) =>
    !votes || readers === 0 || meta.events !== null ? null : votes[row * K + label] / readers;
  if (!all) return storedRows(row, voted);
  const on = switchedOn(all);
  const { probs, width } = asked(on);
  const parts = decompose(probs, width, on.weights, current.loss);
  const mean = meanOf(probs, width, on.weights);
  const off = switchedOff.value;
  const positions = Array.from(all.weights.keys()).filter((j) => off.size === 0 || !off.has(j));
  const events = width !== all.labels.length || meta.events !== null;
  const rows = Array.from({ length: width }, (_, k) => {
    const label = events ? k : all.labels[k];
    return {
      label,
      name: meta.labels[label],
      mean: mean[k],
      aleatoric: parts.aleatoric[k],
      epistemic: parts.epistemic[k],
      members: positions.map((at, i) => ({ at, p: probs[i * width + k] })),
      votes: voted(label),
    };
  });
  return chosenRows(rows, row);
}

/** Without members: what is embedded label by label. */
function storedRows(row: number, voted: (label: number) => number | null): LabelRow[] {
  const [about, other] = [blockMeta("aleatoric"), blockMeta("epistemic")];
  const [au, eu] = [block("aleatoric") as Codes | null, block("epistemic") as Codes | null];
  const means = block("mean") as Codes | null;
  if (!about?.values || !other?.values || !au || !eu) return [];
  const [aleatoric, epistemic] = [about.values, other.values];
  const rows = meta.labels.map((name, k) => ({
    label: k,
    name,
    mean: means === null ? NaN : (meta.blocks["mean"].values?.[means[row * L + k]] ?? NaN),
    aleatoric: aleatoric[au[row * L + k]],
    epistemic: epistemic[eu[row * L + k]],
    members: [],
    votes: voted(k),
  }));
  return chosenRows(rows, row);
}

function truthNames(row: number): Set<string> {
  if (!meta.labelled) return new Set();
  if (meta.multilabel) return new Set(labelNames(row, "truth"));
  const truth = columnOf("truth");
  const code = truth?.codes[row];
  if (code === undefined || !truth || code === truth.missing) return new Set();
  if (!meta.events) return new Set([meta.class_names[code]]);
  return new Set(meta.labels.filter((_, e) => meta.events?.[e].inside.includes(code)));
}

function chosenRows(rows: LabelRow[], row: number): LabelRow[] {
  const truth = truthNames(row);
  const weight = (each: LabelRow) =>
    each.aleatoric + each.epistemic + (truth.has(each.name) ? 100 : 0);
  const kept = [...rows].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_LABELS);
  return kept.sort((a, b) => (Number.isNaN(a.mean) ? b.aleatoric - a.aleatoric : b.mean - a.mean));
}

/** Letters beside each other where they would lie on top of each other; the dots below are exact. */
function spread(members: { at: number; p: number }[]): { at: number; p: number; x: number }[] {
  const GAP = 0.09;
  const placed = [...members].sort((a, b) => a.p - b.p).map(({ at, p }) => ({ at, p, x: p }));
  for (let i = 1; i < placed.length; i++)
    placed[i].x = Math.max(placed[i].x, placed[i - 1].x + GAP);
  let limit = 1;
  for (let i = placed.length - 1; i >= 0; i--) {
    placed[i].x = Math.min(placed[i].x, limit);
    limit = placed[i].x - GAP;
  }
  return placed;
}

function Dots({ row }: { row: LabelRow }) {
  const lettered = row.members.length <= LETTERED && secondOrder === "members";
  const at = (p: number) => `${3 + 94 * p}%`;
  const y = lettered ? 21 : 9;
  return (
    <svg class="dots" width="100%" height={lettered ? 26 : 18} aria-hidden="true">
      <line class="track" x1={at(0)} x2={at(1)} y1={y} y2={y} />
      {!Number.isNaN(row.mean) && (
        <line class="mean" x1={at(row.mean)} x2={at(row.mean)} y1={y - 5} y2={y + 5} />
      )}
      {spread(row.members).map(({ at: j, p, x }) => (
        <Fragment key={j}>
          <circle cx={at(p)} cy={y} r={lettered ? 2.2 : 3}>
            <title>{memberWords(j, p)}</title>
          </circle>
          {lettered && (
            <text x={at(x)} y={y - 7} text-anchor="middle">
              {format.letter(j)}
            </text>
          )}
        </Fragment>
      ))}
    </svg>
  );
}

function Labels({ row }: { row: number }) {
  const rows = labelRows(row);
  const truth = truthNames(row);
  if (rows.length === 0)
    return <p class="soft">Its members are not in this file: open the predictions to see them.</p>;
  const largest = Math.max(...rows.map((each) => each.aleatoric + each.epistemic), 1e-9);
  const figure = (each: LabelRow, name: "mean" | "aleatoric" | "epistemic") => (
    <Figure
      name={`case.${each.name}.${name}`}
      value={each[name]}
      as={name === "mean" ? format.whole : format.number}
    />
  );
  const views: View<LabelRow>[] = [
    {
      key: "mean",
      title: "mean",
      cell: (each) => figure(each, "mean"),
    },
  ];
  if (rows.some(({ votes }) => votes !== null))
    views.push({
      key: "readers",
      title: "readers",
      cell: ({ votes }) => format.percent(votes, 0),
    });
  if (rows[0].members.length > 0)
    views.push({
      key: "members",
      title: secondOrder === "members" ? "members" : "draws",
      class: "dotcell",
      cell: (each) => (
        <>
          <Dots row={each} />
          <span class="hidden">
            {each.members.map(({ at, p }) => memberWords(at, p)).join(", ")}
          </span>
        </>
      ),
    });
  views.push({
    key: "parts",
    title: "AU, EU",
    class: "bars",
    cell: (each) => (
      <>
        <PartsBar aleatoric={each.aleatoric} epistemic={each.epistemic} largest={largest} />
        <span class="hidden">
          aleatoric {figure(each, "aleatoric")}, epistemic {figure(each, "epistemic")}
        </span>
      </>
    ),
  });
  return (
    <div class="scroller">
      <Rows
        class="labels"
        label="Probability and uncertainty of the labels"
        rows={rows}
        views={views}
        name={({ name }) => name}
        rowClass={({ name }) => (truth.has(name) ? "truth" : "")}
        first={{
          key: "name",
          title: !meta.events ? "class" : "event",
          cell: ({ name }) => (
            <>
              {name}
              {truth.has(name) && <span class="truthmark"> truth</span>}
            </>
          ),
        }}
      />
    </div>
  );
}

function memberWords(at: number, p: number): string {
  return `${memberNames[at] ?? at + 1} ${format.percent(p, 0)}`;
}

function verdict(row: number): string {
  const [au, eu, top] = [columnOf("aleatoric"), columnOf("epistemic"), columnOf("top")];
  if (!au || !eu || !top) return "";
  const [a, e] = [au.centers[au.codes[row]], eu.centers[eu.codes[row]]];
  const unit = current.loss === "log" ? "bits" : "";
  const share = a + e > 0 ? e / (a + e) : 0;
  const sure = top.centers[top.codes[row]] >= 0.9;
  const words = [
    `${format.fixed(a + e, 2)} ${unit}`.trim() + `, ${format.percent(share, 0)} epistemic`,
  ];
  if (sure && wrong.value?.codes[row] === 1) words.push("sure and wrong");
  if (refer.value?.codes[row] === 1) words.push("flagged");
  const found = plan.value;
  const at = positionOf(row, embedded.value?.rows ?? []);
  if (found !== null && at >= 0) {
    const action = ["predict", "abstain", "ask"][found.action[row]];
    words.push(`by the costs: ${action} (${format.number(found.cost[at])})`);
  }
  return words.join(" · ");
}

/** Group and metadata of the case. */
function About({ row }: { row: number }) {
  const shown = columnMetas.value.filter(
    ({ name, source }) => name === "group" || source === "metadata",
  );
  const items = shown.map(({ name, title, kind }) => {
    if (kind === "text") return [title, textColumn(name)?.[row] ?? ""];
    const column = storedColumn(name);
    if (!column) return [title, ""];
    const code = column.codes[row];
    if (code === column.missing) return [title, "missing"];
    if (column.kind === "number") return [title, format.number(column.centers[code])];
    return [title, column.kind === "flag" ? (code === 1 ? "yes" : "no") : column.names[code]];
  });
  if (items.length === 0) return null;
  return (
    <p class="about soft">
      {items.map(([title, value], i) => (
        <span key={i}>
          {title} <strong>{value}</strong>
        </span>
      ))}
    </p>
  );
}

function Nearest({ row }: { row: number }) {
  const found = nearest.value;
  if (found.length === 0) return null;
  return (
    <div class="nearest">
      <h3>nearest by prediction</h3>
      <ul>
        {found.map((other) => (
          <li key={other}>
            <button class="tile" onClick={() => openCase(other)} title={nameOfRow(other)}>
              {pictureOf(other) !== null && (
                <img src={pictureOf(other) ?? ""} alt="" class="thumb" />
              )}
              <span class="caption">
                {wrong.value?.codes[other] === 1 && <span class="bad">✗ </span>}
                {nameOfRow(other)}
              </span>
              <span class="caption soft">
                {meta.labelled ? predictionWords(other, "truth") : predictionWords(other, "pred")}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <span class="hidden">of case {nameOfRow(row)}</span>
    </div>
  );
}

const copied = signal("");

export async function copy(text: string, where: (message: string) => void): Promise<void> {
  await navigator.clipboard.writeText(text).then(
    () => where("copied"),
    () => where("This browser does not let the page copy."),
  );
}

function Notes({ row }: { row: number }) {
  const now = tags.value.get(row) ?? { tag: "", note: "" };
  const link = () => {
    const url = location.href.split("#")[0];
    return `${url}#case=${encodeURIComponent(nameOfRow(row))}`;
  };
  return (
    <div class="notes">
      <label class="choice">
        <span>tag</span>
        <input
          type="text"
          value={now.tag}
          placeholder="check, label, exclude …"
          onChange={(event) => setTags([[row, { tag: event.currentTarget.value.trim() }]])}
        />
      </label>
      <label class="choice wide">
        <span>note</span>
        <input
          type="text"
          value={now.note}
          onChange={(event) => setTags([[row, { note: event.currentTarget.value.trim() }]])}
        />
      </label>
      <button
        class="quiet"
        onClick={() => void copy(link(), (message) => (copied.value = message))}
      >
        copy link
      </button>
      <span class="soft">{copied.value}</span>
    </div>
  );
}

function Step({ by, label, possible }: { by: number; label: string; possible: boolean }) {
  return (
    <button class="quiet" aria-label={label} disabled={!possible} onClick={() => step(by)}>
      {by < 0 ? "‹" : "›"}
    </button>
  );
}

export function CasePanel() {
  const row = currentRow.value;
  const open = current.case !== "";
  const picture = row === null ? null : pictureOf(row);
  const place = placeInList.value;
  const total = listed.value?.length ?? 0;
  const isWrong = row === null ? null : wrong.value?.codes[row];
  return (
    <aside
      class={`panel case ${open ? "open" : ""}`}
      id="case"
      aria-labelledby="case-title"
      tabIndex={-1}
    >
      {row === null ? (
        <h2 id="case-title">{open ? "There is no such case." : "No case selected"}</h2>
      ) : (
        <>
          <header>
            <h2 id="case-title">{nameOfRow(row)}</h2>
            <span class="steps">
              <Step by={-1} label="Previous case" possible={place > 0} />
              <span class="soft">
                {place < 0
                  ? "not in the selection"
                  : `${format.count(place + 1)} of ${format.count(total)}`}
              </span>
              <Step by={1} label="Next case" possible={place + 1 < total} />
            </span>
            <button
              class="quiet close"
              aria-label="Close the case"
              onClick={() => go({ case: "" })}
            >
              ×
            </button>
          </header>
          <div class="top">
            {picture !== null && <img class="large" src={picture} alt={`Case ${nameOfRow(row)}`} />}
            <div>
              <p class="outcome">
                predicted <strong>{predictionWords(row, "pred")}</strong>
                {isWrong === 1 && <span class="bad"> ✗ truth {predictionWords(row, "truth")}</span>}
                {isWrong === 0 && <span class="good"> ✓ right</span>}
              </p>
              <p class="soft">{verdict(row)}</p>
              <About row={row} />
            </div>
          </div>
          <Labels row={row} />
          {memberNames.length > 0 && memberNames.length <= LETTERED && embedded.value !== null && (
            <p class="legend">
              {memberNames.map((name, j) => (
                <span class="entry" key={name}>
                  <span class="letter">{format.letter(j)}</span> {name}
                </span>
              ))}
            </p>
          )}
          <Nearest row={row} />
          <Notes row={row} />
        </>
      )}
    </aside>
  );
}
