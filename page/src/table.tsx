// One row for each class, group, member, set size, data set or value of any column.

import { computed, signal } from "@preact/signals";
import { groupable, titleOf } from "./cases";
import { Count, Figure, PartsBar, Select } from "./count";
import { hasColumn, meta } from "./data";
import * as format from "./format";
import type { Filter } from "./hash";
import { memberNames } from "./members";
import { MemberTable } from "./member-table";
import { equals } from "./selection";
import { go, now as current } from "./state";
import { type Group, type Grouped, grouped } from "./groups";

const search = signal("");
const scrolled = signal(0);
export const ROW_HEIGHT = 33;
const WINDOW = 16;

export const byOptions = computed<[string, string][]>(() => {
  const found: [string, string][] = [["class", meta.events === null ? "class" : "event"]];
  if (meta.second_order === "members" && memberNames.length > 1) found.push(["member", "member"]);
  for (const { name, title } of groupable.value) found.push([name, title || name]);
  return found;
});

interface ColumnView {
  key: string;
  title: string;
  note: string;
  value: (group: Group) => number;
  cell: (group: Group, found: Grouped) => preact.ComponentChildren;
}

function counts(
  key: string,
  title: string,
  note: string,
  value: (g: Group) => number,
  filters: (g: Group) => Filter[],
): ColumnView {
  return {
    key,
    title,
    note,
    value,
    cell: (group, found) => (
      <Count
        n={value(group)}
        filters={filters(group)}
        keys={found.keys}
        name={`table.${group.name}.${key}`}
        label={`${title}: ${group.name}`}
      />
    ),
  };
}

const flagged = equals("flagged", "1");
const isWrong = equals("wrong", "1");

function uncertaintyColumns(largest: number): ColumnView[] {
  return [
    {
      key: "total",
      title: "uncertainty",
      note: "Mean total uncertainty; blue is epistemic, orange aleatoric.",
      value: (g) => g.aleatoric + g.epistemic,
      cell: (g) =>
        Number.isNaN(g.aleatoric) ? (
          "–"
        ) : (
          <span class="amount">
            <PartsBar aleatoric={g.aleatoric} epistemic={g.epistemic} largest={largest} />
            <Figure
              name={`table.${g.name}.total`}
              value={g.aleatoric + g.epistemic}
              text={format.fixed(g.aleatoric + g.epistemic, 2)}
            />
          </span>
        ),
    },
    {
      key: "share",
      title: "epistemic",
      note: "Epistemic share of the uncertainty: what the members disagree about.",
      value: (g) => g.epistemic / (g.aleatoric + g.epistemic || 1),
      cell: (g) => {
        const share = g.epistemic / (g.aleatoric + g.epistemic || 1);
        return (
          <Figure
            name={`table.${g.name}.epistemic_share`}
            value={share}
            text={format.percent(share, 0)}
          />
        );
      },
    },
  ];
}

function columnsFor(found: Grouped): ColumnView[] {
  let largest = 0;
  for (const group of found.groups) {
    if (group.aleatoric + group.epistemic > largest) largest = group.aleatoric + group.epistemic;
  }
  const views: ColumnView[] = [];
  if (found.classes && meta.labelled) {
    views.push(
      counts(
        "n",
        "cases",
        "Cases whose truth is the class.",
        (g) => g.n,
        (g) => g.is,
      ),
      counts(
        "missed",
        "missed",
        "Cases of the class that are predicted as another.",
        (g) => g.missed,
        (g) => g.missedFilters,
      ),
      counts(
        "known",
        "missed, flagged",
        "Missed cases that the policy flags: the model knows.",
        (g) => g.missedFlagged,
        (g) => [...g.missedFilters, flagged],
      ),
      counts(
        "alarms",
        "false alarms",
        "Cases of other classes that are predicted as this one.",
        (g) => g.alarms,
        (g) => g.alarmFilters,
      ),
    );
  } else {
    views.push(
      counts(
        "n",
        "cases",
        "Number of cases.",
        (g) => g.n,
        (g) => g.is,
      ),
    );
    if (meta.labelled && found.by !== "dataset") {
      views.push(
        counts(
          "wrong",
          "wrong",
          "Cases with a wrong prediction.",
          (g) => g.wrong,
          (g) => [...g.is, isWrong],
        ),
        counts(
          "known",
          "wrong, flagged",
          "Wrong cases that the policy flags: the model knows.",
          (g) => g.missedFlagged,
          (g) => [...g.is, isWrong, flagged],
        ),
        {
          key: "accuracy",
          title: "accuracy",
          note: "Share of right predictions with Wilson’s 95 % interval.",
          value: (g) => g.accuracy,
          cell: (g) => (
            <span class="withinterval">
              <Figure
                name={`table.${g.name}.accuracy`}
                value={g.accuracy}
                text={format.percent(g.accuracy, 0)}
              />
              <small>
                {format.points(g.low, 0)}–{format.points(g.high, 0)}
              </small>
            </span>
          ),
        },
      );
    }
    views.push(
      counts(
        "flagged",
        "flagged",
        "Cases that the policy flags.",
        (g) => g.flagged,
        (g) => [...g.is, flagged],
      ),
    );
  }
  if (hasColumn("covered")) {
    views.push({
      key: "coverage",
      title: "coverage",
      note: "Share of cases whose truth is in the prediction set.",
      value: (g) => g.coverage,
      cell: (g) => (
        <Figure
          name={`table.${g.name}.coverage`}
          value={g.coverage}
          text={format.percent(g.coverage, 0)}
        />
      ),
    });
  }
  views.push(...uncertaintyColumns(largest));
  if (meta.labelled && found.by !== "dataset" && !meta.multilabel) {
    views.push({
      key: "gap",
      title: "sure − right",
      note: "Mean probability of the prediction minus accuracy, in percentage points: positive is overconfident. Not shown for few cases.",
      value: (g) => g.gap,
      cell: (g) => (
        <Figure
          name={`table.${g.name}.gap`}
          value={g.gap}
          text={g.n < (meta.fewest ?? 0) ? "–" : format.points(g.gap, 0)}
        />
      ),
    });
  }
  if (found.by === "dataset") views.push(...detectionColumns());
  return views;
}

function detectionColumns(): ColumnView[] {
  const { loss } = current;
  return ["total", "epistemic"].map((part) => {
    const of = (g: Group) =>
      meta.exact.detection?.find((set) => set.name === g.name)?.auroc[`${loss}.${part}`];
    return {
      key: `auroc.${part}`,
      title: `AUROC, ${part}`,
      note: "Probability that an out-of-distribution case is more uncertain than one in distribution, with its 95 % interval.",
      value: (g: Group) => of(g)?.value ?? NaN,
      cell: (g: Group) => {
        const found = of(g);
        if (found === undefined) return "";
        return (
          <span class="withinterval">
            <Figure
              name={`detection.${g.name}.${part}`}
              value={found.value}
              text={format.fixed(found.value, 3)}
            />
            <small>
              {format.fixed(found.low, 3)}–{format.fixed(found.high, 3)}
            </small>
          </span>
        );
      },
    };
  });
}

export function TableView() {
  const { by } = current;
  return (
    <section class="panel" id="table" aria-labelledby="table-title" tabIndex={-1}>
      <header>
        <h2 id="table-title">Table</h2>
        <Select
          label="by"
          value={by}
          options={byOptions.value}
          change={(value) => go({ by: value, order: "" })}
        />
        {by !== "member" && (grouped.value?.groups.length ?? 0) > WINDOW && (
          <input
            type="search"
            class="find"
            aria-label="Find rows"
            placeholder="find"
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
              scrolled.value = 0;
            }}
          />
        )}
      </header>
      {by === "member" ? <MemberTable /> : <GroupTable />}
    </section>
  );
}

const noteOfGroup = computed(() => {
  const by = current.by;
  if (by === "set_size" || by === "covered") return meta.exact.sets?.sentence ?? "";
  if (by === "class") return meta.exact.calibration?.sentence ?? "";
  return "";
});

function GroupTable() {
  const found = grouped.value;
  const { order, by } = current;
  if (found === null) return <p class="soft">Counting …</p>;
  const views = columnsFor(found);
  const usual = found.ordered ? "" : found.classes && meta.labelled ? "-missed" : "-n";
  const sort = order || usual;
  const view = views.find((each) => each.key === sort.replace(/^-/, ""));
  const text = search.value.toLowerCase();
  let groups = found.groups;
  if (text !== "") groups = groups.filter((group) => group.name.toLowerCase().includes(text));
  if (sort.replace(/^-/, "") === "name" && order !== "") {
    groups = [...groups].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    if (sort.startsWith("-")) groups.reverse();
  } else if (view !== undefined) {
    const sign = sort.startsWith("-") ? -1 : 1;
    const value = (group: Group) =>
      Number.isNaN(view.value(group)) ? -Infinity * sign : view.value(group);
    groups = [...groups].sort((a, b) => sign * (value(a) - value(b)) || 0);
  }
  const start = Math.max(
    Math.min(Math.floor(scrolled.value / ROW_HEIGHT) - 4, groups.length - WINDOW),
    0,
  );
  const shown = groups.length <= WINDOW + 8 ? groups : groups.slice(start, start + WINDOW + 8);
  const before = groups.length <= WINDOW + 8 ? 0 : start;
  const after = groups.length - before - shown.length;
  return (
    <>
      <div
        class={`scroller ${groups.length > WINDOW ? "tall" : ""}`}
        tabIndex={groups.length > WINDOW ? 0 : undefined}
        role={groups.length > WINDOW ? "region" : undefined}
        aria-label={groups.length > WINDOW ? "Rows of the table" : undefined}
        onScroll={(event) => (scrolled.value = event.currentTarget.scrollTop)}
      >
        <table class="rows" aria-rowcount={groups.length + 1} aria-labelledby="table-title">
          <thead>
            <tr>
              <Head
                view={{
                  key: "name",
                  title: by === "class" ? (meta.events === null ? "class" : "event") : titleOf(by),
                  note: "",
                }}
                sort={sort}
              />
              {views.map((each) => (
                <Head key={each.key} view={each} sort={sort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {before > 0 && (
              <tr class="gap" style={{ height: `${before * ROW_HEIGHT}px` }} aria-hidden="true" />
            )}
            {shown.map((group, i) => (
              <tr key={group.name} aria-rowindex={before + i + 2}>
                <th scope="row" title={group.name}>
                  {group.name === "" ? "missing" : group.name}
                </th>
                {views.map((each) => (
                  <td
                    key={each.key}
                    class={each.key === "total" ? "bar" : `number ${each.key}-column`}
                  >
                    {each.cell(group, found)}
                  </td>
                ))}
              </tr>
            ))}
            {after > 0 && (
              <tr class="gap" style={{ height: `${after * ROW_HEIGHT}px` }} aria-hidden="true" />
            )}
          </tbody>
        </table>
      </div>
      <p class="legend">
        <span class="key eu" /> epistemic <span class="key au" /> aleatoric
        {found.note !== "" && ` · ${found.note}`}
        {noteOfGroup.value !== "" && ` · ${noteOfGroup.value}`}
        {groups.length > WINDOW && ` · ${format.count(groups.length)} rows`}
      </p>
    </>
  );
}

function Head({ view, sort }: { view: Pick<ColumnView, "key" | "title" | "note">; sort: string }) {
  const own = sort.replace(/^-/, "") === view.key;
  const falling = sort.startsWith("-");
  const next = own && falling ? view.key : "-" + view.key;
  return (
    <th
      scope="col"
      class={view.key === "name" ? "" : view.key === "total" ? "bar" : `number ${view.key}-column`}
      aria-sort={own ? (falling ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        class="sort"
        title={view.note}
        onClick={() => go({ order: view.key === "name" && !own ? "name" : next })}
      >
        {view.title}
        {own && <span aria-hidden="true">{falling ? "\u00a0↓" : "\u00a0↑"}</span>}
      </button>
    </th>
  );
}
