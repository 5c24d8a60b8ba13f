// What is selected, in words; and its figures against those of all cases.

import { computed } from "@preact/signals";
import {
  type Figures,
  allFigures,
  columnOf,
  figures,
  inDistribution,
  titleOf,
  wrong,
} from "./cases";
import { Count, Figure } from "./count";
import { R, meta } from "./data";
import { findings } from "./findings";
import * as format from "./format";
import type { Filter, Term } from "./hash";
import { wilson } from "./intervals";
import { embedded, memberNames, switchedOff } from "./members";
import { plan, policyWords } from "./refer";
import { codesOfRange } from "./selection";
import { go, notice, now as current } from "./state";
import type { Column } from "./types";

function rangeWords(column: Column | null, value: string): string {
  if (value === "") return "missing";
  if (column === null || column.kind !== "number") return value;
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
    { alarm: "false alarm", hit: "hit", missed: "missed", id: "id contains" }[key] ?? titleOf(key);
  return `${title} ${not ? "≠ " : column?.kind === "number" || key === "id" ? "" : "= "}${shown}`;
}

function Chips() {
  const { terms } = current;
  const remove = (at: number, which: number) => {
    const next = terms.map((term, i) =>
      i === at ? { ...term, filters: term.filters.filter((_, j) => j !== which) } : term,
    );
    go({ terms: next.filter((term) => term.filters.length > 0), case: "" });
  };
  if (terms.length === 0) return null;
  return (
    <span class="chips">
      {terms.map((term, at) => (
        <TermChips key={at} term={term} first={at === 0} remove={(which) => remove(at, which)} />
      ))}
      <button type="button" class="link" onClick={() => go({ terms: [], case: "" })}>
        clear
      </button>
    </span>
  );
}

function TermChips(props: { term: Term; first: boolean; remove: (which: number) => void }) {
  const { term, first, remove } = props;
  const word = term.add ? (first ? "" : "or") : "without";
  return (
    <>
      {word && <span class="joint">{word}</span>}
      {term.filters.map((filter, which) => (
        <button
          type="button"
          class={term.add ? "chip" : "chip out"}
          key={which}
          aria-label={`Remove: ${filterWords(filter)}`}
          onClick={() => remove(which)}
        >
          {filterWords(filter)} <span aria-hidden="true">×</span>
        </button>
      ))}
    </>
  );
}

function termsWords(terms: Term[]): string {
  return terms
    .map((term, at) => {
      const words = term.filters.map(filterWords).join(", ");
      if (!term.add) return `without ${words}`;
      return at === 0 ? words : `or ${words}`;
    })
    .join(" ");
}

const base = computed(() => {
  const mask = inDistribution.value;
  if (mask === null) return R;
  let n = 0;
  for (let i = 0; i < mask.length; i++) n += mask[i];
  return n;
});

function Words({ now }: { now: Figures }) {
  const { terms } = current;
  const off = [...switchedOff.value];
  const without = off.map((j) => memberNames[j]).join(", ");
  const words = termsWords(terms);
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
          <span class="what">{words}</span>
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
      {meta.sampled && (
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
  interval: [number, number] | null;
  all: number;
  text: (x: number) => string;
  scale: number;
  count?: { n: number; filters: Filter[] };
}

function Interval({ figure }: { figure: OneFigure }) {
  if (figure.interval === null || figure.interval.some(Number.isNaN)) return null;
  const at = (x: number) => `${Math.min(Math.max((100 * x) / figure.scale, 0), 100)}%`;
  const [low, high] = figure.interval;
  return (
    <svg class="interval" aria-hidden="true" width="100%" height="10">
      <line class="track" x1="0" x2="100%" y1="5" y2="5" />
      <line class="reach" x1={at(low)} x2={at(high)} y1="5" y2="5" />
      <line class="everyone" x1={at(figure.all)} x2={at(figure.all)} y1="0" y2="10" />
      <circle cx={at(figure.value)} cy="5" r="3.5" />
    </svg>
  );
}

function FigureCard({ figure, all }: { figure: OneFigure; all: boolean }) {
  const value = (
    <Figure
      name={`selected.${figure.name}`}
      value={figure.value}
      text={figure.text(figure.value)}
    />
  );
  return (
    <div class="card" title={figure.note}>
      <dt>{figure.title}</dt>
      <dd>
        <span class="big">{value}</span>
        {figure.count && (
          <Count
            n={figure.count.n}
            filters={figure.count.filters}
            keys={[]}
            name={`selected.${figure.name}.n`}
            label={figure.title}
          >
            {format.count(figure.count.n)}
          </Count>
        )}
        <Interval figure={figure} />
        <span class="against">
          {figure.interval !== null && !figure.interval.some(Number.isNaN) && (
            <span>
              {figure.text(figure.interval[0])} – {figure.text(figure.interval[1])}
            </span>
          )}
          {!all && (
            <span>
              all{" "}
              <Figure
                name={`all.${figure.name}`}
                value={figure.all}
                text={figure.text(figure.all)}
              />
            </span>
          )}
        </span>
      </dd>
    </div>
  );
}

function shareFigure(
  part: Omit<OneFigure, "interval" | "scale" | "text">,
  effective: number,
): OneFigure {
  return {
    ...part,
    interval: wilson(part.value, effective),
    scale: 1,
    text: (x) => format.percent(x, 1),
  };
}

function cards(now: Figures, all: Figures): OneFigure[] {
  const found: OneFigure[] = [];
  const everything = now.n === all.n;
  const exact = switchedOff.value.size === 0 ? meta.exact : null;
  if (meta.labelled && wrong.value !== null) {
    const accuracy = shareFigure(
      {
        name: "accuracy",
        title: meta.multilabel ? "all labels right" : "accuracy",
        note: "Share of right predictions, with Wilson’s 95 % interval; over all cases the library’s interval.",
        value: now.accuracy,
        all: all.accuracy,
        count: { n: now.right, filters: [{ key: "wrong", values: ["0"], not: false }] },
      },
      now.effective * (now.labelled / now.n),
    );
    const given = meta.multilabel ? null : exact?.accuracy;
    if (everything && given && given.low !== null && given.high !== null) {
      accuracy.value = given.value;
      accuracy.interval = [given.low, given.high];
      accuracy.note += ` (${given.how ?? ""})`;
    }
    found.push(accuracy);
  }
  const about = meta.losses.find((loss) => loss.key === current.loss) ?? meta.losses[0];
  const mean = exact?.mean?.[about.key];
  const total = (mine: Figures) => (everything && mean ? mean.total : mine.total);
  const share = (mine: Figures) => (mine.total > 0 ? mine.epistemic / mine.total : 0);
  found.push({
    name: "total",
    title: `uncertainty, ${about.unit}`,
    note: "Mean over the cases of the sum over labels: total = aleatoric + epistemic.",
    value: total(now),
    all: mean?.total ?? all.total,
    interval: null,
    scale: about.maximum_of_sum ?? 1,
    text: (x) => format.fixed(x, about.key === "log" ? 2 : 3),
  });
  found.push({
    name: "epistemic_share",
    title: "of it epistemic",
    note: "Epistemic divided by total uncertainty: what the members disagree about.",
    value: everything && mean && mean.total > 0 ? mean.epistemic / mean.total : share(now),
    all: mean && mean.total > 0 ? mean.epistemic / mean.total : share(all),
    interval: null,
    scale: 1,
    text: (x) => format.percent(x, 1),
  });
  found.push(
    shareFigure(
      {
        name: "flagged",
        title: "flagged",
        note: `Flagged: ${policyWords.value}.`,
        value: now.flagged,
        all: all.flagged,
        count: {
          n: now.flaggedCount,
          filters: [{ key: "flagged", values: ["1"], not: false }],
        },
      },
      now.effective,
    ),
  );
  return found;
}

function CostCard() {
  const found = plan.value;
  const mask = selectedMask.value;
  if (found === null || mask === null) return null;
  const mean = (rows: Uint8Array | null) => {
    let sum = 0;
    let n = 0;
    for (let i = 0; i < R; i++) {
      if ((rows === null || rows[i] === 1) && found.action[i] !== 255) {
        sum += found.cost[i];
        n++;
      }
    }
    return sum / n;
  };
  const [now, all] = [mean(mask), mean(inDistribution.value)];
  return (
    <div
      class="card"
      title="Expected cost of the cheapest action, mean over the cases with embedded members."
    >
      <dt>expected cost</dt>
      <dd>
        <span class="big">
          <Figure name="selected.cost" value={now} text={format.number(now)} />
        </span>
        <span class="against">
          all <Figure name="all.cost" value={all} text={format.number(all)} />
        </span>
      </dd>
    </div>
  );
}

import { selected as selectedMask } from "./cases";

export function Sentence() {
  const now = figures.value;
  const all = allFigures.value;
  if (now === null || all === null) return <p class="sentence words">Reading the cases …</p>;
  const everything = current.terms.length === 0;
  return (
    <section class="sentence" aria-label="Selection">
      <div class="line">
        <Words now={now} />
        <Chips />
      </div>
      {notice.value !== "" && (
        <p class="notice">
          {notice.value}{" "}
          <button type="button" class="link" onClick={() => (notice.value = "")}>
            dismiss
          </button>
        </p>
      )}
      <dl class="cards">
        {cards(now, all).map((figure) => (
          <FigureCard key={figure.name} figure={figure} all={everything} />
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
