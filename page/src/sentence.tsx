// What is selected, in words; and its figures against those of all cases.

import { computed } from "@preact/signals-core";
import { columnOf, inDistribution, selected, titleOf, wrong } from "./cases";
import { Count, Figure } from "./count";
import { R, meta, sampled } from "./data";
import { findings } from "./findings";
import * as format from "./format";
import type { Filter } from "./hash";
import { wilson } from "./intervals";
import { embedded, memberNames, switchedOff } from "./members";
import { plan, planOf, policyWords } from "./refer";
import { codesOfRange, countOnes, equals, withoutFilter } from "./selection";
import { go, notice, now as current } from "./state";
import { type Sums, accuracyOf, allFigures, effective, figures } from "./sums";
import type { Column } from "./types";

function rangeWords(column: Column | null, value: string): string {
  if (value === "") return "missing";
  if (!column || column.kind !== "number") return format.isolated(value);
  const [low, high] = codesOfRange(column, value);
  const { edges } = column;
  const from = value.startsWith("..") ? null : format.number(edges[low]);
  const to = value.endsWith("..") ? null : format.number(edges[high]);
  if (from === null) return `below ${to}`;
  return to === null ? `at least ${from}` : `${from} to ${to}`;
}

export function filterWords({ key, values, not }: Filter): string {
  const column = ["hit", "missed", "alarm"].includes(key) ? null : columnOf(key);
  if (key === "wrong") return (values[0] === "1") !== not ? "wrong" : "right";
  if (key === "flagged") return (values[0] === "1") !== not ? "flagged" : "not flagged";
  if (key === "next") return "to be labeled next";
  const shown =
    values.length > 4
      ? `${values.length} values`
      : values.map((value) => rangeWords(column, value)).join(" or ");
  const title =
    { alarm: "false alarm", hit: "hit", missed: "missed", id: "id contains" }[key] ??
    format.isolated(titleOf(key));
  return `${title} ${not ? "≠ " : column?.kind === "number" || key === "id" ? "" : "= "}${shown}`;
}

/** The conditions in words; pressing one removes it. */
function Chips() {
  const { terms } = current;
  return terms.map((term, at) => (
    <span key={at}>
      {term.add ? at > 0 && " or " : " without "}
      {term.filters.map((filter, which) => (
        <button
          class={term.add ? "chip" : "chip out"}
          key={which}
          title="Remove"
          onClick={() => go({ terms: withoutFilter(terms, at, which), case: "" })}
        >
          {filterWords(filter)} <span aria-hidden="true">×</span>
        </button>
      ))}
    </span>
  ));
}

const base = computed(() => (inDistribution.value ? countOnes(inDistribution.value) : R));

function Words({ now }: { now: Sums }) {
  const { terms } = current;
  const off = [...switchedOff.value];
  const without = off.map((j) => format.isolated(memberNames[j])).join(", ");
  return (
    <p class="words" role="status" aria-live="polite" id="sentence">
      <Count n={now.n} filters={[]} keys={[]} name="selected.n">
        {format.count(now.n)}
      </Count>
      {terms.length > 0
        ? ` of ${format.plural(base.value, "case")}`
        : now.n === 1
          ? " case"
          : " cases"}
      {terms.length > 0 && (
        <>
          {": "}
          <Chips />
        </>
      )}
      {off.length > 0 && (
        <>
          {" "}
          <span class="warn">
            without member {without}
            {embedded.value !== null &&
              embedded.value.n < R &&
              `, on the ${format.count(embedded.value.n)} cases with embedded members`}
          </span>
        </>
      )}
      {sampled && (
        <span class="soft">
          {" "}
          (a sample that stands for {format.count(now.weight)} of {format.count(meta.n)})
        </span>
      )}
    </p>
  );
}

interface OneFigure {
  name: string;
  title: string;
  note: string;
  value: number;
  all: number;
  text: (x: number | null | undefined) => string;
  /** Of a share. */
  interval?: [number, number];
  count?: number;
  filters?: Filter[];
}

function FigureCard({ figure }: { figure: OneFigure }) {
  const { name, value, all, text, interval, count, filters } = figure;
  return (
    <div class="card" title={figure.note}>
      <dt>{figure.title}</dt>
      <dd>
        <span class="big">
          <Figure name={`selected.${name}`} value={value} as={text} />
        </span>
        {count !== undefined && (
          <Count
            n={count}
            filters={filters ?? []}
            keys={[]}
            name={`selected.${name}.n`}
            label={figure.title}
          />
        )}
        <span class="against">
          {interval && !Number.isNaN(interval[0]) && (
            <span>
              {text(interval[0])} – {text(interval[1])}
            </span>
          )}
          {current.terms.length > 0 && (
            <span>
              all <Figure name={`all.${name}`} value={all} as={text} />
            </span>
          )}
        </span>
      </dd>
    </div>
  );
}

function cards(now: Sums, all: Sums): OneFigure[] {
  const found: OneFigure[] = [];
  const everything = now.n === all.n;
  const exact = switchedOff.value.size === 0 ? meta.exact : null;
  const share = ({ aleatoric, epistemic }: { aleatoric: number; epistemic: number }) =>
    aleatoric + epistemic > 0 ? epistemic / (aleatoric + epistemic) : 0;
  if (wrong.value !== null) {
    const value = accuracyOf(now);
    const given = everything ? exact?.accuracy : null;
    const how = given ? given.method : "Wilson’s, of independent cases";
    const n = effective(now) * (now.labelledWeight / now.weight);
    found.push({
      name: "accuracy",
      title: meta.multilabel ? "all labels right" : "accuracy",
      note: `Share of right predictions, with its 95 % interval (${how}).`,
      value: given ? given.value : value,
      all: exact?.accuracy?.value ?? accuracyOf(all),
      text: format.percent,
      interval: given ? [given.low, given.high] : wilson(value, n),
      count: now.right,
      filters: [equals("wrong", "0")],
    });
  }
  const { loss } = current;
  const meanOf = (part: "aleatoric" | "epistemic", sums: Sums) =>
    (sums.n === all.n ? exact?.mean[`${part}.${loss}`] : undefined) ?? sums[part] / sums.weight;
  const means = (sums: Sums) => ({
    aleatoric: meanOf("aleatoric", sums),
    epistemic: meanOf("epistemic", sums),
  });
  const [mine, ofAll] = [means(now), means(all)];
  found.push({
    name: "total",
    title: loss === "log" ? "uncertainty, bits" : "uncertainty",
    note: "Mean over the cases of the sum over labels: total = aleatoric + epistemic.",
    value: mine.aleatoric + mine.epistemic,
    all: ofAll.aleatoric + ofAll.epistemic,
    text: loss === "log" ? format.hundredths : format.thousandths,
  });
  found.push({
    name: "epistemic_share",
    title: "of it epistemic",
    note: "Epistemic divided by total uncertainty: what the members disagree about.",
    value: share(mine),
    all: share(ofAll),
    text: format.percent,
  });
  found.push({
    name: "flagged",
    title: "flagged",
    note: `Flagged: ${policyWords.value}.`,
    value: now.flaggedWeight / now.weight,
    all: all.flaggedWeight / all.weight,
    text: format.percent,
    interval: wilson(now.flaggedWeight / now.weight, effective(now)),
    count: now.flagged,
    filters: [equals("flagged", "1")],
  });
  return found;
}

function CostCard() {
  if (!plan.value || selected.value === null || inDistribution.value === null) return null;
  const [value, all] = [planOf(selected.value).cost, planOf(inDistribution.value).cost];
  const note = "Expected cost of the cheapest action, estimated from the members in this file.";
  return (
    <FigureCard
      figure={{ name: "cost", title: "expected cost", note, value, all, text: format.number }}
    />
  );
}

export function Sentence() {
  const now = figures.value;
  const all = allFigures.value;
  if (now === null || !all) return <p class="sentence words">Reading the cases …</p>;
  const everything = current.terms.length === 0;
  return (
    <section class="sentence" aria-label="Selection">
      <div class="line">
        <Words now={now} />
        {!everything && (
          <button class="link" onClick={() => go({ terms: [], case: "" })}>
            clear
          </button>
        )}
      </div>
      {notice.value !== "" && (
        <p class="notice">
          {notice.value}{" "}
          <button class="link" onClick={() => (notice.value = "")}>
            dismiss
          </button>
        </p>
      )}
      <dl class="cards">
        {cards(now, all).map((figure) => (
          <FigureCard key={figure.name} figure={figure} />
        ))}
        <CostCard />
      </dl>
      {everything && <Findings />}
    </section>
  );
}

function Findings() {
  const found = findings.value;
  const check = meta.exact.check;
  return (
    <ul class="findings">
      {check && !check.ok && <li class="warn">{check.sentence}</li>}
      {found.map(({ name, n, filters, before, after }) => (
        <li key={name}>
          {before}{" "}
          <Count n={n} filters={filters} keys={[]} name={`finding.${name}`}>
            {format.plural(n, "case")}
          </Count>
          {after}
        </li>
      ))}
    </ul>
  );
}
