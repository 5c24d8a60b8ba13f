// Refer a share of all or of each class, as many as a sensitivity needs, or what the costs say.

import { computed } from "@preact/signals";
import { columnOf, contextOf, referKey, wrong } from "./cases";
import { ClassChoice, Count, Figure, Segments, Select } from "./count";
import { CostPanel } from "./costs";
import { R, meta } from "./data";
import * as format from "./format";
import { wilson } from "./intervals";
import { type Policy, isFalling, labelTests, policy, policyWords, writePolicy } from "./refer";
import { equals, remembered, rowsIn } from "./selection";
import type { Codes, Column } from "./types";
import { go } from "./state";

function change(patch: Partial<Policy>, how: "push" | "replace" = "push"): void {
  go({ refer: writePolicy({ ...policy.value, ...patch }) }, how);
}

const MEASURES: [string, string][] = [
  ["total", "total uncertainty"],
  ["aleatoric", "aleatoric uncertainty"],
  ["epistemic", "epistemic uncertainty"],
  ["top", "lowest probability"],
];

interface Curve {
  by: string;
  /** Share referred, and error rate of those kept, with the number kept. */
  points: { share: number; risk: number; kept: number }[];
}

const context = contextOf(() => ["flagged"]);

/** Error rate of the kept cases for every cut at an edge, thinned to what can be drawn. */
const curves = computed<Curve[]>(() => {
  const mask = context.value;
  const errors = meta.labelled ? wrong.value : null;
  if (mask === null || errors === null) return [];
  const made = MEASURES.map(([by]) => {
    const column = columnOf(by);
    if (column === null) return null;
    return remembered(mask, "curve " + by, () => curveOf(by, column, errors.codes, mask));
  });
  return made.filter((curve) => curve !== null);
});

function curveOf(by: string, column: Column, errors: Codes, mask: Uint8Array): Curve {
  const bins = column.centers.length;
  const counts = new Uint32Array(3 * (Math.min(column.missing, 65535) + 1));
  const rows = rowsIn(mask);
  const codes = column.codes;
  for (let r = 0; r < rows.length; r++) {
    const i = rows[r];
    const bad = errors[i];
    counts[3 * codes[i] + (bad > 1 ? 2 : bad)]++;
  }
  let [kept, wrongs] = [0, 0];
  for (let code = 0; code < bins; code++) {
    kept += counts[3 * code] + counts[3 * code + 1];
    wrongs += counts[3 * code + 1];
  }
  const all = kept;
  const points = [{ share: 0, risk: wrongs / all, kept: all }];
  for (let b = 0; b < bins; b++) {
    const code = isFalling(by) ? bins - 1 - b : b;
    kept -= counts[3 * code] + counts[3 * code + 1];
    wrongs -= counts[3 * code + 1];
    const share = 1 - kept / all;
    if (kept > 0 && share - points[points.length - 1].share >= 0.004)
      points.push({ share, risk: wrongs / kept, kept });
  }
  return { by, points };
}

const SIZE = { width: 520, height: 220, left: 46, bottom: 34, top: 10, right: 14 };

function CurveChart() {
  const found = curves.value;
  const { by, kind, share } = policy.value;
  const main = found.find((curve) => curve.by === by);
  if (found.length === 0 || main === undefined || main.points[0].kept === 0) return null;
  const most =
    Math.max(
      ...found.flatMap((curve) => curve.points.filter((p) => p.share < 0.8).map((p) => p.risk)),
      1e-6,
    ) * 1.08;
  const [width, height] = [
    SIZE.width - SIZE.left - SIZE.right,
    SIZE.height - SIZE.top - SIZE.bottom,
  ];
  const x = (value: number) => SIZE.left + value * width;
  const y = (value: number) => SIZE.top + (1 - Math.min(value / most, 1)) * height;
  const path = (points: { share: number; risk: number }[]) =>
    points
      .map((p, i) => `${i === 0 ? "M" : "L"}${x(p.share).toFixed(1)} ${y(p.risk).toFixed(1)}`)
      .join("");
  const shown = main.points.filter((p) => p.kept >= 30);
  const bounds = shown.map((p) => wilson(p.risk, p.kept));
  const forward = shown.map((p, i) => ({ share: p.share, risk: bounds[i][0] }));
  const back = shown.map((p, i) => ({ share: p.share, risk: bounds[i][1] })).reverse();
  const random = main.points[0].risk;
  const now = outcome.value;
  const dot =
    now === null || now.kept === 0
      ? null
      : { share: now.referred / now.n, risk: now.keptWrong / now.kept };
  return (
    <figure class="curve">
      <svg
        class="chart"
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        role="img"
        aria-label="Error rate of the kept cases by the share referred; values at the chosen share are in the text"
        data-export="risk-coverage"
      >
        {[0, 0.25, 0.5, 0.75, 1].map((tick) => (
          <g key={tick}>
            <line class="gridline" x1={x(tick)} x2={x(tick)} y1={SIZE.top} y2={SIZE.top + height} />
            <text class="tick" x={x(tick)} y={SIZE.top + height + 15} text-anchor="middle">
              {format.percent(tick, 0)}
            </text>
          </g>
        ))}
        {[0, most / 2, most / 1.08].map((tick) => (
          <text key={tick} class="tick" x={SIZE.left - 6} y={y(tick) + 4} text-anchor="end">
            {format.percent(tick, most < 0.03 ? 1 : 0)}
          </text>
        ))}
        <text class="tick" x={SIZE.left + width / 2} y={SIZE.height - 4} text-anchor="middle">
          referred →
        </text>
        <line class="random" x1={x(0)} x2={x(1)} y1={y(random)} y2={y(random)} />
        {shown.length > 1 && (
          <path class="band" d={`${path(forward)}${path(back).replace("M", "L")}Z`} />
        )}
        {found
          .filter((curve) => curve.by !== by)
          .map((curve) => (
            <path key={curve.by} class={`curveline other ${curve.by}`} d={path(curve.points)} />
          ))}
        <path class={`curveline ${by}`} d={path(main.points)} />
        {dot && <circle class="handle" cx={x(dot.share)} cy={y(dot.risk)} r="6" />}
      </svg>
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
        {MEASURES.map(([key, title]) => (
          <span key={key} class={`entry ${key === by ? "own" : ""}`}>
            <svg width="22" height="8" aria-hidden="true">
              <line class={`curveline ${key}`} x1="0" x2="22" y1="4" y2="4" />
            </svg>
            {title.replace(" uncertainty", "")}
          </span>
        ))}
        <span class="entry">
          <svg width="22" height="8" aria-hidden="true">
            <line class="random" x1="0" x2="22" y1="4" y2="4" />
          </svg>
          random
        </span>
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
}

const outcome = computed<Outcome | null>(() => {
  const mask = context.value;
  const refer = columnOf("flagged");
  const errors = meta.labelled ? wrong.value : null;
  if (mask === null || refer === null || (meta.labelled && errors === null)) return null;
  return remembered(mask, "outcome " + referKey.value, () => {
    const found = { n: 0, referred: 0, referredWrong: 0, kept: 0, keptWrong: 0 };
    const rows = rowsIn(mask);
    for (let r = 0; r < rows.length; r++) {
      const i = rows[r];
      const referred = refer.codes[i];
      if (referred === 255) continue;
      const bad = errors !== null && errors.codes[i] === 1 ? 1 : 0;
      found.n++;
      if (referred === 1) {
        found.referred++;
        found.referredWrong += bad;
      } else {
        found.kept++;
        found.keptWrong += bad;
      }
    }
    return found;
  });
});

function Result() {
  const now = outcome.value;
  if (now === null || now.n === 0) return null;
  const [referred, kept] = [equals("flagged", "1"), equals("flagged", "0")];
  const bad = equals("wrong", "1");
  const keys = ["flagged"];
  const risk = now.keptWrong / now.kept;
  const [low, high] = wilson(risk, now.kept);
  return (
    <p class="result">
      Refers <Count n={now.referred} filters={[referred]} keys={keys} name="policy.referred" /> of{" "}
      {format.count(now.n)} (
      <Figure
        name="policy.share"
        value={now.referred / now.n}
        text={format.percent(now.referred / now.n, 1)}
      />
      )
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
      {meta.labelled && (
        <>
          , of them{" "}
          <Count n={now.keptWrong} filters={[kept, bad]} keys={keys} name="policy.kept.wrong" />{" "}
          wrong (
          <Figure name="policy.risk" value={risk} text={format.percent(risk, 1)} />, 95 % interval{" "}
          {format.percent(low, 1)} to {format.percent(high, 1)})
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
  if (at < 0 || mask === null || refer === null) return <p class="soft">Choose a class.</p>;
  const { has, says } = labelTests(at);
  let [positives, predicted, referred, missed] = [0, 0, 0, 0];
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0 || !has(i)) continue;
    positives++;
    if (says(i)) predicted++;
    else if (refer.codes[i] === 1) referred++;
    else missed++;
  }
  const names =
    meta.events === null ? [label] : meta.events[at].inside.map((k) => meta.class_names[k]);
  const miss = meta.multilabel
    ? [equals("missed", label)]
    : [equals("truth", ...names), { ...equals("pred", ...names), not: true }];
  const sensitivity = (predicted + referred) / positives;
  const [low, high] = wilson(sensitivity, positives);

  return (
    <p class="result">
      Sensitivity for {label}:{" "}
      <Figure name="policy.sensitivity" value={sensitivity} text={format.percent(sensitivity, 1)} />{" "}
      ({format.percent(low, 1)} to {format.percent(high, 1)}); without referring{" "}
      <Figure
        name="policy.sensitivity.before"
        value={predicted / positives}
        text={format.percent(predicted / positives, 1)}
      />
      . Missed and referred{" "}
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

/** The class that is missed most: where a target is most wanted. */
function usualLabel(): string {
  return meta.labels[0];
}

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
    const label = now.label || usualLabel();
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
    <section class="panel" id="policy" aria-labelledby="policy-title" tabIndex={-1}>
      <header>
        <h2 id="policy-title">Policy</h2>
        <span class="soft">refer</span>
        <Segments label="Refer" value={now.kind} options={kinds} change={choose} />
      </header>
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
    </section>
  );
}
