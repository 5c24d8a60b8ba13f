// The members by name: how good each is, how far from the mean; switched off and on.

import { computed } from "@preact/signals";
import { columnOf, maskOf } from "./cases";
import { Count, Figure } from "./count";
import { R, hasColumn, meta, storedColumn } from "./data";
import * as format from "./format";
import { memberNames, switchedOff } from "./members";
import { go, now as current } from "./state";
import { derived, flagColumn } from "./cases";
import type { Codes } from "./types";

/** Keys `right:NAME` and `agree:NAME`: one bit of a column of bits. */
for (const kind of ["right", "agree"]) {
  memberNames.forEach((name, j) => {
    const own = computed(() => {
      const bits = hasColumn(kind) ? (storedColumn(kind)?.codes ?? null) : null;
      if (bits === null) return null;
      const codes = new Uint8Array(R);
      for (let i = 0; i < R; i++) codes[i] = (bits[i] >>> j) & 1;
      return flagColumn(
        `${kind}:${name}`,
        kind === "right" ? `${name} is right` : `${name} agrees`,
        codes,
      );
    });
    derived.set(`${kind}:${name}`, () => own.value);
  });
}

function tally(bits: Codes | null, mask: Uint8Array): Float64Array | null {
  if (bits === null) return null;
  const counts = new Float64Array(memberNames.length);
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0) continue;
    for (let j = 0; j < counts.length; j++) counts[j] += (bits[i] >>> j) & 1;
  }
  return counts;
}

const counted = computed(() => {
  const mask = maskOf(current.terms);
  if (mask === null) return null;
  const bitsOf = (kind: string) => storedColumn(kind)?.codes ?? null;
  const [right, agree] = [bitsOf("right"), bitsOf("agree")];
  if ((right === null && hasColumn("right")) || (agree === null && hasColumn("agree"))) return null;
  const truth = meta.labelled && !meta.multilabel ? columnOf("truth") : null;
  let [n, labelled] = [0, 0];
  for (let i = 0; i < R; i++) {
    n += mask[i];
    if (mask[i] === 1 && (truth === null || truth.codes[i] !== truth.missing)) labelled++;
  }
  return {
    n,
    labelled,
    right: tally(right, mask),
    agree: tally(agree, mask),
  };
});

function toggle(name: string): void {
  const { without } = current;
  const next = without.includes(name) ? without.filter((x) => x !== name) : [...without, name];
  if (next.length < memberNames.length) go({ without: next });
}

export function MemberTable() {
  const found = counted.value;
  const exact = meta.exact.members ?? [];
  const flagged = new Set(meta.exact.check?.members ?? []);
  const off = switchedOff.value;
  if (found === null) return <p class="soft">Counting …</p>;
  const switchable = meta.blocks["members"] !== undefined;
  const any = (key: "log_loss" | "brier" | "distance" | "accuracy") =>
    exact.some((one) => one[key] !== null && one[key] !== undefined);
  const farthest = exact.reduce((most, one) => Math.max(most, one.distance ?? 0), 0);
  return (
    <>
      <div class="scroller">
        <table class="rows" aria-labelledby="table-title">
          <thead>
            <tr>
              <th scope="col">member</th>
              {switchable && <th scope="col">on</th>}
              {found.right && (
                <th
                  scope="col"
                  class="number"
                  title="Cases of the selection that this member gets right."
                >
                  right
                </th>
              )}
              {found.agree && (
                <th
                  scope="col"
                  class="number"
                  title="Cases where this member predicts another class than the ensemble."
                >
                  differs
                </th>
              )}
              {any("accuracy") && (
                <th scope="col" class="number" title="Over all cases.">
                  accuracy
                </th>
              )}
              {any("log_loss") && (
                <th scope="col" class="number" title="Over all cases; lower is better.">
                  log loss
                </th>
              )}
              {any("brier") && (
                <th scope="col" class="number" title="Over all cases; lower is better.">
                  Brier
                </th>
              )}
              {any("distance") && (
                <th
                  scope="col"
                  class="bar"
                  title="Mean divergence of the member from the ensemble’s mean (log loss): its part in the epistemic uncertainty."
                >
                  distance from the mean
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {memberNames.map((name, j) => {
              const one = exact[j];
              const isOff = off.has(j);
              return (
                <tr key={name} class={isOff ? "off" : ""}>
                  <th scope="row">
                    <span class="letter">{format.letter(j)}</span> {name}
                    {flagged.has(j) && <span class="warn"> odd</span>}
                  </th>
                  {switchable && (
                    <td>
                      <input
                        type="checkbox"
                        role="switch"
                        checked={!isOff}
                        aria-label={`Member ${name}`}
                        disabled={!isOff && off.size === memberNames.length - 1}
                        onChange={() => toggle(name)}
                      />
                    </td>
                  )}
                  {found.right && (
                    <td class="number">
                      <Count
                        n={found.right[j]}
                        filters={[
                          {
                            key: `right:${name}`,
                            values: ["1"],
                            not: false,
                          },
                        ]}
                        keys={[]}
                        name={`member.${name}.right`}
                        label={`right: ${name}`}
                      />
                    </td>
                  )}
                  {found.agree && (
                    <td class="number">
                      <Count
                        n={found.n - found.agree[j]}
                        filters={[
                          {
                            key: `agree:${name}`,
                            values: ["0"],
                            not: false,
                          },
                        ]}
                        keys={[]}
                        name={`member.${name}.differs`}
                        label={`where ${name} differs`}
                      />
                    </td>
                  )}
                  {any("accuracy") && (
                    <td class="number">
                      <Figure
                        name={`exact.members.${j}.accuracy`}
                        value={one?.accuracy}
                        text={format.percent(one?.accuracy, 1)}
                      />
                    </td>
                  )}
                  {any("log_loss") && (
                    <td class="number">
                      <Figure
                        name={`exact.members.${j}.log_loss`}
                        value={one?.log_loss}
                        text={format.fixed(one?.log_loss, 3)}
                      />
                    </td>
                  )}
                  {any("brier") && (
                    <td class="number">
                      <Figure
                        name={`exact.members.${j}.brier`}
                        value={one?.brier}
                        text={format.fixed(one?.brier, 3)}
                      />
                    </td>
                  )}
                  {any("distance") && (
                    <td class="bar">
                      <span class="amount">
                        <span class="parts" aria-hidden="true">
                          <span
                            class="eu"
                            style={{
                              width: `${farthest > 0 ? (100 * (one?.distance ?? 0)) / farthest : 0}%`,
                            }}
                          />
                        </span>
                        <Figure
                          name={`exact.members.${j}.distance`}
                          value={one?.distance}
                          text={format.number(one?.distance)}
                        />
                      </span>
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="legend">
        {meta.exact.check?.sentence}
        {meta.exact.sources?.sentence && ` ${meta.exact.sources.sentence}`}
        {switchable &&
          " Switching a member off recomputes every view from the members in this file."}
      </p>
    </>
  );
}
