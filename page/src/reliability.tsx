// Is 70 % right in 70 %? Predicted probability against what happened, with intervals.

import { computed } from "@preact/signals-core";
import { columnOf, maskOf, titleOf, weights, wrong } from "./cases";
import { Chart, FRAME } from "./chart";
import { Count, Figure } from "./count";
import { meta } from "./data";
import * as format from "./format";
import { wilson } from "./intervals";
import { type Range, cutsAt, placesIn, rangesOf } from "./ranges";
import { labelRows } from "./refer";
import { Rows } from "./rows";
import { equals, rowsIn, withoutKeys } from "./selection";
import { now as current } from "./state";

const TENTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

interface Bin extends Range {
  n: number;
  weight: number;
  /** Mean of what was predicted, and the share of what happened. */
  expected: number;
  happened: number;
}

const bins = computed<Bin[] | null>(() => {
  const key = current.x;
  const column = columnOf(key);
  const mask = maskOf(withoutKeys(current.terms, [key]));
  const errors = wrong.value;
  if (!column || column.kind !== "number" || !mask || !errors) return null;
  const label = key.startsWith("p:") ? meta.labels.indexOf(key.slice(2)) : -1;
  const has = label < 0 ? null : labelRows(label).has;
  const [low, high] = reach(column.edges[0], column.edges.at(-1) ?? 1);
  const cuts = cutsAt(
    column,
    TENTHS.map((tenth) => low + ((high - low) * tenth) / 10),
  );
  const place = placesIn(cuts);
  const found = rangesOf(column, cuts).map((range): Bin => {
    return { ...range, n: 0, weight: 0, expected: 0, happened: 0 };
  });
  const w = weights.value;
  for (const i of rowsIn(mask)) {
    const bin = found[place[column.codes[i]]];
    if (errors.codes[i] === 255 || bin === undefined) continue;
    const wi = w[i];
    bin.n++;
    bin.weight += wi;
    bin.expected += wi * column.centers[column.codes[i]];
    if (has === null ? errors.codes[i] === 0 : has[i] === 1) bin.happened += wi;
  }
  const filled = found.filter(({ n }) => n > 0);
  for (const bin of filled) {
    bin.expected /= bin.weight;
    bin.happened /= bin.weight;
  }
  return filled;
});

/** All of 0 to 1 for probabilities. */
function reach(low: number, high: number): [number, number] {
  return low >= 0 && high <= 1 ? [0, 1] : [low, high];
}

export function Reliability() {
  const found = bins.value;
  const key = current.x;
  if (!found) return <p class="soft">Counting …</p>;
  const what = key.startsWith("p:") ? key.slice(2) : "right";
  const [low, high] = reach(found[0]?.low ?? 0, found.at(-1)?.high ?? 1);
  const probability = low === 0 && high === 1;
  const { x, y } = FRAME;
  const at = (value: number) => x((value - low) / (high - low));
  const amount = probability ? format.whole : format.number;
  const interval = ({ happened, n }: Bin) => wilson(happened, n);
  const outside = (bin: Bin) =>
    probability && (bin.expected < interval(bin)[0] || bin.expected > interval(bin)[1]);
  return (
    <>
      <Chart
        name="reliability"
        label={`Reliability of ${titleOf(key)}; the same as a table below`}
        title={titleOf(key)}
        across={(u) => amount(low + u * (high - low))}
        up={(v) => format.percent(v, 0)}
      >
        {probability && <line class="ideal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />}
        {found.map((bin) => (
          <g key={bin.text} class="point">
            <line
              x1={at(bin.expected)}
              x2={at(bin.expected)}
              y1={y(interval(bin)[0])}
              y2={y(interval(bin)[1])}
            />
            <circle cx={at(bin.expected)} cy={y(bin.happened)} r="4" />
          </g>
        ))}
      </Chart>
      <div class="scroller">
        <Rows
          rows={[...found.keys()]}
          class="small"
          label="Reliability"
          name={(g) => found[g].text}
          first={{
            key: "expected",
            title: probability ? "predicted" : titleOf(key),
            cell: (g) => (
              <Figure name={`reliability.${g}.expected`} value={found[g].expected} as={amount} />
            ),
          }}
          views={[
            {
              key: "n",
              title: "cases",
              cell: (g) => (
                <Count
                  n={found[g].n}
                  filters={[equals(key, found[g].text)]}
                  keys={[key]}
                  name={`reliability.${g}.n`}
                />
              ),
            },
            {
              key: "happened",
              title: what,
              cell: (g) => (
                <Figure
                  name={`reliability.${g}.happened`}
                  value={found[g].happened}
                  as={format.whole}
                />
              ),
            },
            {
              key: "interval",
              title: "95 % interval",
              note: "Wilson’s; ≠: the prediction lies outside.",
              cell: (g) => (
                <span class={outside(found[g]) ? "warn" : ""}>
                  {interval(found[g])
                    .map((share) => format.percent(share, 0))
                    .join(" – ")}
                  {outside(found[g]) && " ≠"}
                </span>
              ),
            },
          ]}
        />
      </div>
    </>
  );
}
