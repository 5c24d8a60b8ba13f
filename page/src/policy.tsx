// Refer a share of all or of each class, as many as a sensitivity needs, or what the costs say.

import { computed } from "@preact/signals-core";
import { columnOf, contextOf, referKey, weights, wrong } from "./cases";
import { Chart, FRAME } from "./chart";
import { ClassChoice, Count, Figure, Panel, Segments, Select } from "./count";
import { CostPanel } from "./costs";
import { meta } from "./data";
import * as format from "./format";
import { wilson } from "./intervals";
import { type Policy, isFalling, labelRows, policy, policyWords, writePolicy } from "./refer";
import { equals, remembered, rowsIn } from "./selection";
import { go } from "./state";
import { accuracyOf, sumsBy } from "./sums";

function change(patch: Partial<Policy>, how: "push" | "replace" = "push"): void {
  go({ refer: writePolicy({ ...policy.value, ...patch }) }, how);
}

const MEASURES: [string, string][] = [
  ["total", "total uncertainty"],
  ["aleatoric", "aleatoric uncertainty"],
  ["epistemic", "epistemic uncertainty"],
  ["top", "lowest probability"],
];

interface Point {
  /** Share referred, error rate of those kept, and how many are kept. */
  share: number;
  risk: number;
  kept: number;
}

const context = contextOf(() => ["flagged"]);

/** Error rate of the kept cases for every cut at an edge of each measure; in one pass. */
const curves = computed<Record<string, Point[]> | null>(() => {
  const [mask, errors, w] = [context.value, wrong.value, weights.value];
  const columns = MEASURES.map(([key]) => columnOf(key));
  if (!mask || !errors || !columns.every((column) => column !== null)) return null;
  return remembered(mask, "curves", () => {
    const [a, b, c, d] = columns.map(({ codes }) => codes);
    const counts = columns.map((column) => new Float64Array(Math.min(column.missing, 65535) + 1));
    const wrongs = counts.map(({ length }) => new Float64Array(length));
    const bad = errors.codes;
    for (const i of rowsIn(mask)) {
      if (bad[i] === 255) continue;
      const wi = w[i];
      counts[0][a[i]] += wi;
      counts[1][b[i]] += wi;
      counts[2][c[i]] += wi;
      counts[3][d[i]] += wi;
      if (bad[i] === 0) continue;
      wrongs[0][a[i]] += wi;
      wrongs[1][b[i]] += wi;
      wrongs[2][c[i]] += wi;
      wrongs[3][d[i]] += wi;
    }
    const points = MEASURES.map(([key], m) => {
      const bins = columns[m].centers.length;
      const own = [counts[m], wrongs[m]].map((of) => of.subarray(0, bins));
      if (isFalling(key)) own.forEach((of) => of.reverse());
      return [key, pointsOf(own[0], own[1])] as const;
    });
    return Object.fromEntries(points);
  });
});

/** The curve when the first bins are referred first, thinned to what can be drawn. */
function pointsOf(counts: Float64Array, wrongs: Float64Array): Point[] {
  const sum = (values: Float64Array) => values.reduce((x, y) => x + y, 0);
  let [kept, bad] = [sum(counts), sum(wrongs)];
  const all = kept;
  const points: Point[] = [{ share: 0, risk: bad / all, kept }];
  counts.forEach((n, bin) => {
    kept -= n;
    bad -= wrongs[bin];
    const share = 1 - kept / all;
    if (kept > 0.5 && share - points[points.length - 1].share >= 0.004)
      points.push({ share, risk: Math.max(bad, 0) / kept, kept });
  });
  return points;
}

function CurveChart() {
  const { by, kind, share } = policy.value;
  const found = curves.value;
  const main = found?.[by] ?? [];
  if (!found || !(main[0]?.kept > 0)) return null;
  const risks = Object.values(found).flatMap((points) => points.filter((p) => p.share < 0.8));
  const highest = Math.max(...risks.map(({ risk }) => risk));
  // The top of the axis, so that it and its half are round numbers.
  const grid = highest > 0 && highest < 0.02 ? 0.002 : 0.02;
  const most = Math.min(Math.max(Math.ceil((1.04 * highest) / grid), 1) * grid, 1);
  const x = (u: number) => FRAME.x(u).toFixed(1);
  const y = (risk: number) => FRAME.y(Math.min(risk / most, 1)).toFixed(1);
  const path = (points: [number, number][]) =>
    points.map(([u, risk], i) => `${i === 0 ? "M" : "L"}${x(u)} ${y(risk)}`).join("");
  const shown = main.filter(({ kept }) => kept >= 30);
  const bounds = shown.map((p) => wilson(p.risk, p.kept));
  const low = shown.map((p, i): [number, number] => [p.share, bounds[i][0]]);
  const high = shown.map((p, i): [number, number] => [p.share, bounds[i][1]]).reverse();
  const now = outcome.value;
  const key = (name: string) => (
    <svg width="22" height="8" aria-hidden="true">
      <line class={name} x1="0" x2="22" y1="4" y2="4" />
    </svg>
  );
  return (
    <figure class="curve">
      <Chart
        name="risk-coverage"
        label="Error rate of the kept cases by the share referred; values at the chosen share are in the text"
        title="referred"
        across={(u) => format.percent(u, 0)}
        up={(v) => format.percent(v * most, most < 0.02 ? 1 : 0)}
      >
        <line class="random" x1={x(0)} x2={x(1)} y1={y(main[0].risk)} y2={y(main[0].risk)} />
        {shown.length > 1 && <path class="band" d={path([...low, ...high]) + "Z"} />}
        {Object.entries(found).map(([key, points]) => (
          <path
            key={key}
            class={`curveline ${key === by ? "" : "other"} ${key}`}
            d={path(points.map((p) => [p.share, p.risk]))}
          />
        ))}
        {now && now.kept > 0 && <circle class="handle" cx={x(now.share)} cy={y(now.risk)} r="6" />}
      </Chart>
      {(kind === "all" || kind === "each") && (
        <input
          type="range"
          class="under"
          min="0"
          max="100"
          step="0.5"
          value={100 * share}
          aria-label="Share referred, in percent"
          onInput={(event) => change({ share: Number(event.currentTarget.value) / 100 }, "replace")}
          onChange={(event) => change({ share: Number(event.currentTarget.value) / 100 })}
        />
      )}
      <figcaption class="legend">
        error rate of the kept cases, by{" "}
        {MEASURES.map(([name, title]) => (
          <span key={name} class={`entry ${name === by ? "own" : ""}`}>
            {key(`curveline ${name}`)}
            {title.replace(" uncertainty", "")}
          </span>
        ))}
        <span class="entry">{key("random")}random</span>
      </figcaption>
    </figure>
  );
}

interface Outcome {
  n: number;
  referred: number;
  referredWrong: number;
  kept: number;
  keptWrong: number;
  /** Weighted: the share referred, and the error rate of those kept. */
  share: number;
  risk: number;
}

const outcome = computed<Outcome | null>(() => {
  const mask = context.value;
  const refer = columnOf("flagged");
  if (!mask || !refer) return null;
  return remembered(mask, "outcome " + referKey.value, () => {
    const sums = sumsBy(mask, refer.codes, KEPT_OR_REFERRED, 2);
    if (!sums) return null;
    const [kept, referred] = sums;
    return {
      n: kept.n + referred.n,
      referred: referred.n,
      referredWrong: referred.wrong,
      kept: kept.n,
      keptWrong: kept.wrong,
      share: referred.weight / (kept.weight + referred.weight),
      risk: 1 - accuracyOf(kept),
    };
  });
});
const KEPT_OR_REFERRED = Int32Array.from([0, 1, -1]);

function Result() {
  const now = outcome.value;
  if (now === null || now.n === 0) return null;
  const [referred, kept] = [equals("flagged", "1"), equals("flagged", "0")];
  const bad = equals("wrong", "1");
  const keys = ["flagged"];
  const { risk, share } = now;
  const [low, high] = wilson(risk, now.kept);
  return (
    <p class="result">
      Refers <Count n={now.referred} filters={[referred]} keys={keys} name="policy.referred" /> of{" "}
      {format.count(now.n)} (
      <Figure name="policy.share" value={share} />)
      {meta.labelled && (
        <>
          , of them{" "}
          <Count
            n={now.referredWrong}
            filters={[referred, bad]}
            keys={keys}
            name="policy.referred.wrong"
          />{" "}
          wrong
        </>
      )}
      ; keeps <Count n={now.kept} filters={[kept]} keys={keys} name="policy.kept" />
      {meta.labelled && now.kept > 0 && (
        <>
          , of them{" "}
          <Count n={now.keptWrong} filters={[kept, bad]} keys={keys} name="policy.kept.wrong" />{" "}
          wrong (
          <Figure name="policy.risk" value={risk} />, 95 % interval {format.percent(low, 1)} to{" "}
          {format.percent(high, 1)})
        </>
      )}
      .
    </p>
  );
}

const CLASS_KEYS = ["truth", "pred", "flagged", "missed", "hit", "alarm", "has"];
const classContext = contextOf(() => CLASS_KEYS);

/** What the target costs: sensitivity reached, and the misses that stay. */
function ClassResult() {
  const { label } = policy.value;
  const at = meta.labels.indexOf(label);
  const mask = classContext.value;
  const refer = columnOf("flagged");
  if (at < 0 || !mask || !refer) return <p class="soft">Choose a class.</p>;
  const { has, says } = labelRows(at);
  const w = weights.value;
  let [positives, weight, predicted, found, referred, missed] = [0, 0, 0, 0, 0, 0];
  for (const i of rowsIn(mask)) {
    if (has[i] === 0) continue;
    const wi = w[i];
    positives++;
    weight += wi;
    if (says[i] === 1) predicted += wi;
    else if (refer.codes[i] === 1) {
      referred++;
      found += wi;
    } else missed++;
  }
  const names = !meta.events ? [label] : meta.events[at].inside.map((k) => meta.class_names[k]);
  const miss = meta.multilabel
    ? [equals("missed", label)]
    : [equals("truth", ...names), { ...equals("pred", ...names), not: true }];
  const sensitivity = (predicted + found) / weight;
  const [low, high] = wilson(sensitivity, positives);

  return (
    <p class="result">
      Sensitivity for <bdi>{label}</bdi>: <Figure name="policy.sensitivity" value={sensitivity} /> (
      {format.percent(low, 1)} to {format.percent(high, 1)}); without referring{" "}
      <Figure name="policy.sensitivity.before" value={predicted / weight} />. Missed and referred{" "}
      <Count
        n={referred}
        filters={[...miss, equals("flagged", "1")]}
        keys={CLASS_KEYS}
        name="policy.class.referred"
      />
      , missed and kept{" "}
      <Count
        n={missed}
        filters={[...miss, equals("flagged", "0")]}
        keys={CLASS_KEYS}
        name="policy.class.kept"
      />
      . <span class="soft">The threshold is chosen on these cases; check it on others.</span>
    </p>
  );
}

const KINDS: [string, string][] = [
  ["all", "a share of all"],
  ["each", "a share of each class"],
  ["class", "for a sensitivity"],
  ["costs", "by costs"],
];

export function PolicyView() {
  const now = policy.value;
  const kinds = KINDS.filter(([kind]) => {
    if (kind === "class") return meta.labelled;
    if (kind === "each") return !meta.multilabel;
    return kind !== "costs" || meta.blocks["members"] !== undefined;
  });
  const measures = [...MEASURES];
  if (now.kind === "class" && meta.blocks["mean"]?.edges)
    measures.unshift(["p", "probability of the class"]);
  const choose = (kind: string) => {
    const label = now.label || meta.labels[0];
    if (kind !== "class")
      change({
        kind: kind as Policy["kind"],
        share: now.kind === "class" ? 0.1 : now.share,
        by: now.by === "p" ? "total" : now.by,
      });
    else
      change({
        kind,
        label,
        share: 0.95,
        by: meta.blocks["mean"]?.edges ? "p" : "total",
      });
  };
  return (
    <Panel
      id="policy"
      title={"Policy"}
      tools={
        <>
          <span class="soft">refer</span>
          <Segments label="Refer" value={now.kind} options={kinds} change={choose} />
        </>
      }
    >
      <div class="policy-body">
        <div>
          {now.kind === "costs" ? (
            <CostPanel />
          ) : (
            <div class="settings">
              {now.kind === "class" && (
                <ClassChoice
                  label="class"
                  value={now.label}
                  names={meta.labels}
                  change={(label) => change({ label })}
                />
              )}
              <label class="choice">
                <span>{now.kind === "class" ? "sensitivity at least" : "share"}</span>
                <span class="unit">
                  <input
                    type="number"
                    min="0"
                    max="100"
                    step="any"
                    value={Number((100 * now.share).toPrecision(6))}
                    onChange={(event) => {
                      const share = Number(event.currentTarget.value) / 100;
                      if (event.currentTarget.value !== "" && share >= 0 && share <= 1)
                        change({ share });
                    }}
                  />
                  %
                </span>
              </label>
              <Select
                label="by"
                value={now.by}
                options={measures}
                change={(by) => change({ by })}
              />
            </div>
          )}
          {now.kind === "class" && <ClassResult />}
          <Result />
          <p class="legend">
            Flagged everywhere on this page: {policyWords.value}.{" "}
            {now.kind !== "costs" &&
              "Cut at the edge nearest to the share, so that counts are exact."}
          </p>
        </div>
        {now.kind !== "costs" && <CurveChart />}
      </div>
    </Panel>
  );
}
