// One row for each class, group, member, set size, data set or value of any column.

import { computed, signal } from "@preact/signals-core";
import type { ComponentChildren } from "preact";
import { groupable, titleOf } from "./cases";
import { AmountBar, Count, Figure, Find, Panel, Select, WithInterval } from "./count";
import { hasColumn, meta } from "./data";
import * as format from "./format";
import { type Group, type Grouped, grouped, hasLabelParts } from "./groups";
import type { Filter } from "./hash";
import { memberNames } from "./members";
import { MemberTable } from "./member-table";
import { Rows, type View } from "./rows";
import { equals } from "./selection";
import { go, now as current } from "./state";

const search = signal("");
const scrolled = signal(0);
const ROW_HEIGHT = 33;
const WINDOW = 16;
const FEWEST = 10; // of fewer cases a gap says nothing

export const byOptions = computed<[string, string][]>(() => {
  const found: [string, string][] = [["class", firstTitle("class")]];
  if (memberNames.length > 1) found.push(["member", "member"]);
  for (const { name, title } of groupable.value) found.push([name, title || name]);
  return found;
});

function firstTitle(by: string): string {
  if (by !== "class") return titleOf(by);
  return !meta.events ? "class" : "event";
}

interface GroupView {
  key: string;
  title: string;
  note: string;
  value: (group: Group) => number;
  cell: (group: Group) => ComponentChildren;
}

const flagged = equals("flagged", "1");

function uncertaintyViews(groups: Group[]): GroupView[] {
  let largest = 0;
  for (const { aleatoric, epistemic } of groups) {
    if (aleatoric + epistemic > largest) largest = aleatoric + epistemic;
  }
  const total = (g: Group) => g.aleatoric + g.epistemic;
  const share = (g: Group) => g.epistemic / (total(g) || 1);
  return [
    {
      key: "total",
      title: "uncertainty",
      note: "Mean total uncertainty.",
      value: total,
      cell: (g) =>
        Number.isNaN(g.aleatoric) ? (
          "–"
        ) : (
          <AmountBar aleatoric={g.aleatoric} epistemic={g.epistemic} largest={largest}>
            <Figure name={`table.${g.name}.total`} value={total(g)} as={format.hundredths} />
          </AmountBar>
        ),
    },
    {
      key: "share",
      title: "epistemic",
      note: "Epistemic share of the uncertainty: what the members disagree about.",
      value: share,
      cell: (g) => (
        <Figure name={`table.${g.name}.epistemic_share`} value={share(g)} as={format.whole} />
      ),
    },
  ];
}

function viewsOf(found: Grouped): GroupView[] {
  const views: GroupView[] = [];
  const count = (
    key: string,
    title: string,
    note: string,
    value: (g: Group) => number,
    filters: (g: Group) => Filter[],
  ) =>
    views.push({
      key,
      title,
      note,
      value,
      cell: (g) => (
        <Count
          n={value(g)}
          filters={filters(g)}
          keys={found.keys}
          name={`table.${g.name}.${key}`}
          label={`${title}: ${g.name}`}
        />
      ),
    });
  const judged = meta.labelled && found.by !== "dataset";
  const missed = found.classes ? "missed" : "wrong";
  count(
    "n",
    "cases",
    found.classes ? "Cases of the class." : "",
    (g) => g.n,
    (g) => g.is,
  );
  if (judged) {
    count(
      missed,
      missed,
      found.classes ? "Cases of the class that are predicted as another." : "Wrong predictions.",
      (g) => g.wrong,
      (g) => g.wrongFilters,
    );
    count(
      "known",
      `${missed}, flagged`,
      "Of these what the policy flags: the model knows.",
      (g) => g.known,
      (g) => [...g.wrongFilters, flagged],
    );
  }
  if (judged && found.classes)
    count(
      "alarms",
      "false alarms",
      "Cases of other classes that are predicted as this one.",
      (g) => g.alarms,
      (g) => g.alarmFilters,
    );
  if (judged && !found.classes)
    views.push({
      key: "accuracy",
      title: "accuracy",
      note: "Share of right predictions with Wilson’s 95 % interval.",
      value: (g) => g.accuracy,
      cell: (g) => (
        <WithInterval
          name={`table.${g.name}.accuracy`}
          value={g.accuracy}
          low={g.low}
          high={g.high}
          as={format.whole}
          ends={format.pointsOf}
        />
      ),
    });
  if (!found.classes || !meta.labelled)
    count(
      "flagged",
      "flagged",
      "Cases that the policy flags.",
      (g) => g.flagged,
      (g) => [...g.is, flagged],
    );
  if (hasColumn("covered"))
    views.push({
      key: "coverage",
      title: "coverage",
      note: "Share of cases whose truth is in the prediction set.",
      value: (g) => g.coverage,
      cell: (g) => (
        <Figure name={`table.${g.name}.coverage`} value={g.coverage} as={format.whole} />
      ),
    });
  views.push(...uncertaintyViews(found.groups));
  if (judged && !meta.multilabel)
    views.push({
      key: "gap",
      title: "sure − right",
      note: "Mean probability of the prediction minus accuracy, in percentage points: positive is overconfident.",
      value: (g) => g.gap,
      cell: (g) => (
        <Figure
          name={`table.${g.name}.gap`}
          value={g.gap}
          as={g.n < FEWEST ? () => "–" : format.pointsOf}
        />
      ),
    });
  if (found.by === "dataset") views.push(...detectionViews());
  return views;
}

function detectionViews(): GroupView[] {
  return ["total", "epistemic"].map((part) => {
    const of = (g: Group) => meta.exact.detection[g.name]?.[`${part}.${current.loss}`];
    return {
      key: `auroc.${part}`,
      title: `AUROC, ${part}`,
      note: "Probability that an out-of-distribution case is more uncertain than one in distribution, with its 95 % interval.",
      value: (g) => of(g)?.value ?? NaN,
      cell: (g) => {
        const found = of(g);
        if (found === undefined) return "";
        const name = `detection.${g.name}.${part}`;
        const { thousandths } = format;
        return <WithInterval {...found} name={name} as={thousandths} ends={thousandths} />;
      },
    };
  });
}

export function TableView() {
  const { by } = current;
  return (
    <Panel
      id="table"
      title={"Table"}
      tools={
        <>
          <Select
            label="by"
            value={by}
            options={byOptions.value}
            change={(value) => go({ by: value, order: "" })}
          />
          {by !== "member" && (grouped.value?.groups.length ?? 0) > WINDOW && (
            <Find
              label="find rows"
              value={search.value}
              change={(text) => {
                search.value = text;
                scrolled.value = 0;
              }}
            />
          )}
        </>
      }
    >
      {by === "member" ? <MemberTable /> : <GroupTable />}
    </Panel>
  );
}

function notesOf(by: string): string[] {
  const found: string[] = [];
  if (by === "class" && hasLabelParts())
    found.push("uncertainty about the label, over all cases counted here");
  if (by === "set_size" || by === "covered") found.push(meta.exact.sets ?? "");
  if (by === "class") found.push(meta.exact.calibration ?? "");
  return found.filter((note) => note !== "");
}

/** The groups that are searched for, in the order chosen. */
function ordered(found: Grouped, views: GroupView[], sort: string): Group[] {
  const text = search.value.toLowerCase();
  const groups = found.groups.filter((group) => group.name.toLowerCase().includes(text));
  const key = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  const view = views.find((each) => each.key === key);
  if (key === "name")
    groups.sort((a, b) => sign * a.name.localeCompare(b.name, "en", { numeric: true }));
  else if (view !== undefined) {
    const value = (group: Group) => {
      const x = view.value(group);
      return Number.isNaN(x) ? -Infinity * sign : x;
    };
    groups.sort((a, b) => sign * (value(a) - value(b)) || 0);
  }
  return groups;
}

function GroupTable() {
  const found = grouped.value;
  const { order, by } = current;
  if (!found) return <p class="soft">Counting …</p>;
  const views = viewsOf(found);
  const usual = found.ordered ? "" : found.classes && meta.labelled ? "-missed" : "-n";
  const sort = order || usual;
  const groups = ordered(found, views, sort);
  const many = groups.length > WINDOW;
  const most = WINDOW + 8;
  const row = Math.floor(scrolled.value / ROW_HEIGHT) - 4;
  const start = groups.length > most ? Math.max(Math.min(row, groups.length - WINDOW), 0) : 0;
  const shown = groups.slice(start, start + most);
  const gaps = {
    start,
    count: groups.length,
    before: start * ROW_HEIGHT,
    after: (groups.length - start - shown.length) * ROW_HEIGHT,
  };
  const head = (key: string, title: string) => <Head name={key} title={title} sort={sort} />;
  const sorted = (key: string): View<Group>["sorted"] =>
    sort.replace(/^-/, "") !== key ? undefined : sort === key ? "ascending" : "descending";
  return (
    <>
      <div
        class={`scroller ${many ? "tall" : ""}`}
        tabIndex={many ? 0 : undefined}
        role={many ? "region" : undefined}
        aria-label={many ? "Rows of the table" : undefined}
        onScroll={(event) => (scrolled.value = event.currentTarget.scrollTop)}
      >
        <Rows
          rows={shown}
          label={`By ${firstTitle(by)}`}
          gaps={gaps}
          name={(group) => group.name}
          first={{
            key: "name",
            title: head("name", firstTitle(by)),
            sorted: sorted("name"),
            cell: (group) => group.name,
          }}
          views={views.map(({ key, title, note, cell }) => ({
            key,
            note,
            cell,
            title: head(key, title),
            sorted: sorted(key),
            class: key === "total" ? "bar" : `number ${key}-column`,
          }))}
        />
      </div>
      <p class="legend">
        <span class="key eu" /> epistemic <span class="key au" /> aleatoric
        {notesOf(by).map((note) => ` · ${note}`)}
        {many && ` · ${format.count(groups.length)} rows`}
      </p>
    </>
  );
}

function Head({ name, title, sort }: { name: string; title: string; sort: string }) {
  const falling = sort === "-" + name;
  const own = falling || sort === name;
  // names begin with A, numbers with the largest
  const next = falling || (name === "name" && !own) ? name : "-" + name;
  return (
    <button class="sort" onClick={() => go({ order: next })}>
      {title}
      {own && <span aria-hidden="true">{falling ? "\u00a0↓" : "\u00a0↑"}</span>}
    </button>
  );
}
