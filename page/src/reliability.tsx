// Is 70 % right in 70 %? Predicted probability against what happened, with intervals.

import { computed } from "@preact/signals";
import { columnOf, maskOf, titleOf, wrong } from "./cases";
import { Count, Figure } from "./count";
import { R, meta } from "./data";
import * as format from "./format";
import { wilson } from "./intervals";
import { labelTests } from "./refer";
import { codesOfRange, equals, withoutKeys } from "./selection";
import { now as current } from "./state";

const TENTHS = 10;

interface Bin {
  low: number;
  high: number;
  range: string;
  n: number;
  expected: number;
  happened: number;
}

const bins = computed<Bin[] | null>(() => {
  const key = current.x;
  const column = columnOf(key);
  const mask = maskOf(withoutKeys(current.terms, [key]));
  const errors = wrong.value;
  if (column === null || column.kind !== "number" || mask === null || errors === null) return null;
  const label = key.startsWith("p:") ? meta.labels.indexOf(key.slice(2)) : -1;
  const has = label < 0 ? null : labelTests(label).has;
  const [first, last] = [column.edges[0], column.edges[column.edges.length - 1]];
  const probability = first >= 0 && last <= 1;
  const [low, high] = probability ? [0, 1] : [first, last];
  const cuts = [0];
  for (let i = 1; i < TENTHS; i++) {
    const [at] = codesOfRange(column, `${low + ((high - low) * i) / TENTHS}..`);
    if (at > cuts[cuts.length - 1] && at < column.centers.length) cuts.push(at);
  }
  cuts.push(column.centers.length);
  const place = new Int8Array(65536).fill(-1);
  const found: Bin[] = [];
  for (let g = 0; g + 1 < cuts.length; g++) {
    place.fill(g, cuts[g], cuts[g + 1]);
    const from = g === 0 ? "" : String(column.edges[cuts[g]]);
    const to = g + 2 === cuts.length ? "" : String(column.edges[cuts[g + 1]]);
    const [a, b] = [column.edges[cuts[g]], column.edges[cuts[g + 1]]];
    found.push({ low: a, high: b, range: `${from}..${to}`, n: 0, expected: 0, happened: 0 });
  }
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0 || errors.codes[i] === 255) continue;
    const g = place[column.codes[i]];
    if (g < 0) continue;
    found[g].n++;
    found[g].expected += column.centers[column.codes[i]];
    if (has === null ? errors.codes[i] === 0 : has(i)) found[g].happened++;
  }
  return found.filter((bin) => bin.n > 0);
});

const SIZE = { width: 360, height: 250, left: 44, bottom: 36, top: 10, right: 12 };

export function Reliability() {
  const found = bins.value;
  const key = current.x;
  if (found === null) return <p class="soft">Counting …</p>;
  const what = key.startsWith("p:") ? key.slice(2) : "right";
  const width = SIZE.width - SIZE.left - SIZE.right;
  const height = SIZE.height - SIZE.top - SIZE.bottom;
  const probability = found.every((bin) => bin.low >= 0 && bin.high <= 1);
  const span = probability ? [0, 1] : [found[0]?.low ?? 0, found[found.length - 1]?.high ?? 1];
  const x = (value: number) => SIZE.left + ((value - span[0]) / (span[1] - span[0])) * width;
  const y = (value: number) => SIZE.top + (1 - value) * height;
  const ticks = probability ? [0, 0.25, 0.5, 0.75, 1] : [span[0], (span[0] + span[1]) / 2, span[1]];
  return (
    <>
      <svg
        class="chart"
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        role="img"
        aria-label={`Reliability of ${titleOf(key)}; the same as a table below`}
        data-export="reliability"
      >
        {[0, 0.5, 1].map((tick) => (
          <g key={tick}>
            <line
              class="gridline"
              x1={SIZE.left}
              x2={SIZE.width - SIZE.right}
              y1={y(tick)}
              y2={y(tick)}
            />
            <text class="tick" x={SIZE.left - 6} y={y(tick) + 4} text-anchor="end">
              {format.percent(tick, 0)}
            </text>
          </g>
        ))}
        {ticks.map((tick) => (
          <text
            key={tick}
            class="tick"
            x={x(tick)}
            y={SIZE.height - SIZE.bottom + 16}
            text-anchor="middle"
          >
            {probability ? format.percent(tick, 0) : format.number(tick)}
          </text>
        ))}
        <text class="tick" x={SIZE.left + width / 2} y={SIZE.height - 4} text-anchor="middle">
          {titleOf(key)} →
        </text>
        {probability && <line class="ideal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />}
        {found.map((bin) => {
          const share = bin.happened / bin.n;
          const [low, high] = wilson(share, bin.n);
          const at = x(bin.expected / bin.n);
          return (
            <g key={bin.range} class="point">
              <line x1={at} x2={at} y1={y(low)} y2={y(high)} />
              <circle cx={at} cy={y(share)} r="4" />
            </g>
          );
        })}
      </svg>
      <div class="scroller">
        <table class="rows small">
          <thead>
            <tr>
              <th scope="col">{probability ? "predicted" : titleOf(key)}</th>
              <th scope="col" class="number">
                cases
              </th>
              <th scope="col" class="number">
                {what}
              </th>
              <th scope="col" class="number">
                95 % interval
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map((bin, g) => {
              const share = bin.happened / bin.n;
              const [low, high] = wilson(share, bin.n);
              const mean = bin.expected / bin.n;
              const outside = probability && (mean < low || mean > high);
              return (
                <tr key={bin.range}>
                  <th scope="row">
                    <Figure
                      name={`reliability.${g}.expected`}
                      value={mean}
                      text={probability ? format.percent(mean, 0) : format.number(mean)}
                    />
                  </th>
                  <td class="number">
                    <Count
                      n={bin.n}
                      filters={[equals(key, bin.range)]}
                      keys={[key]}
                      name={`reliability.${g}.n`}
                    />
                  </td>
                  <td class="number">
                    <Figure
                      name={`reliability.${g}.happened`}
                      value={share}
                      text={format.percent(share, 0)}
                    />
                  </td>
                  <td class={`number ${outside ? "warn" : ""}`}>
                    {format.percent(low, 0)} – {format.percent(high, 0)}
                    {outside && <span title="The predicted probability lies outside."> ≠</span>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="legend">Wilson’s 95 % intervals; ≠: the predicted probability lies outside.</p>
    </>
  );
}
