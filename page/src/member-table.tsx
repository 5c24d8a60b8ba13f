// The members by name: how good each is, how far from the mean; switched off and on.

import { computed } from "@preact/signals-core";
import { columnOf, derived, maskOf, weights } from "./cases";
import { AmountBar, Count, Figure } from "./count";
import { R, block, flagColumn, meta } from "./data";
import * as format from "./format";
import { memberNames, switchedOff } from "./members";
import { Rows, type View } from "./rows";
import { equals } from "./selection";
import { go, now as current } from "./state";

/** Keys `right:NAME` and `agree:NAME`: one bit of a column of bits. */
for (const kind of ["right", "agree"]) {
  memberNames.forEach((name, j) => {
    const key = `${kind}:${name}`;
    const own = computed(() => {
      const bits = block(kind);
      if (!bits) return null;
      const codes = new Uint8Array(R);
      for (let i = 0; i < R; i++) codes[i] = (bits[i] >>> j) & 1;
      return flagColumn(key, kind === "right" ? `${name} is right` : `${name} agrees`, codes);
    });
    derived.set(key, () => own.value);
  });
}

interface Tally {
  /** Cases of the selection where the member has the bit, where it has not, and the share. */
  yes: number;
  no: number;
  share: number;
}

/** For each member; null without such bits. */
function tally(kind: string, mask: Uint8Array): Tally[] | null {
  const bits = block(kind);
  const w = weights.value;
  const truth = kind === "right" && !meta.multilabel ? columnOf("truth") : null;
  if (bits === null) return null;
  const members = memberNames.length;
  const yes = new Uint32Array(members);
  const some = new Float64Array(members);
  let [n, all] = [0, 0];
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0 || (truth !== null && truth.codes[i] === truth.missing)) continue;
    const own = bits[i];
    n++;
    all += w[i];
    for (let j = 0; j < members; j++) {
      const bit = (own >>> j) & 1;
      yes[j] += bit;
      some[j] += bit * w[i];
    }
  }
  return memberNames.map((_, j) => ({ yes: yes[j], no: n - yes[j], share: some[j] / all }));
}

const counted = computed(() => {
  const mask = maskOf(current.terms);
  if (!mask) return null;
  const [right, agree] = [tally("right", mask), tally("agree", mask)];
  const waiting =
    (right === null && meta.blocks["right"]) || (agree === null && meta.blocks["agree"]);
  return waiting ? null : { right, agree };
});

function toggle(name: string): void {
  const { without } = current;
  const next = without.includes(name) ? without.filter((x) => x !== name) : [...without, name];
  if (next.length < memberNames.length) go({ without: next });
}

export function MemberTable() {
  const found = counted.value;
  if (!found) return <p class="soft">Counting …</p>;
  const { right, agree } = found;
  const exact = meta.exact.members;
  const odd = new Set(meta.exact.check?.members ?? []);
  const off = switchedOff.value;
  const judged = `Over ${format.count(exact[0]?.cases)} cases`;
  const farthest = exact.reduce((most, { distance }) => Math.max(most, distance), 0);
  const views: View<number>[] = [
    {
      key: "on",
      title: "on",
      class: "",
      cell: (j) => (
        <input
          type="checkbox"
          role="switch"
          checked={!off.has(j)}
          aria-label={`Member ${memberNames[j]}`}
          disabled={!off.has(j) && off.size === memberNames.length - 1}
          onChange={() => toggle(memberNames[j])}
        />
      ),
    },
  ];
  if (right)
    views.push(
      {
        key: "right",
        title: "right",
        note: "Cases of the selection that this member gets right.",
        cell: (j) => (
          <Count
            n={right[j].yes}
            filters={[equals(`right:${memberNames[j]}`, "1")]}
            keys={[]}
            name={`member.${memberNames[j]}.right`}
            label={`right: ${memberNames[j]}`}
          />
        ),
      },
      {
        key: "accuracy",
        title: "accuracy",
        note: "The same as a share.",
        cell: (j) => <Figure name={`member.${memberNames[j]}.accuracy`} value={right[j].share} />,
      },
    );
  if (agree)
    views.push({
      key: "differs",
      title: "differs",
      note: "Cases where this member predicts another class than the ensemble.",
      cell: (j) => (
        <Count
          n={agree[j].no}
          filters={[equals(`agree:${memberNames[j]}`, "0")]}
          keys={[]}
          name={`member.${memberNames[j]}.differs`}
          label={`where ${memberNames[j]} differs`}
        />
      ),
    });
  if (meta.labelled)
    views.push({
      key: "loss",
      title: "log loss",
      note: `${judged}; lower is better.`,
      cell: (j) => (
        <Figure
          name={`exact.members.${j}.log_loss`}
          value={exact[j].log_loss}
          as={format.thousandths}
        />
      ),
    });
  views.push({
    key: "distance",
    title: "distance from the mean",
    note: `${judged}: mean divergence of the member from the ensemble’s mean (log loss), its part in the epistemic uncertainty.`,
    class: "bar",
    cell: (j) => (
      <AmountBar aleatoric={0} epistemic={exact[j].distance} largest={farthest}>
        <Figure name={`exact.members.${j}.distance`} value={exact[j].distance} as={format.number} />
      </AmountBar>
    ),
  });
  return (
    <>
      <div class="scroller">
        <Rows
          rows={[...memberNames.keys()]}
          label="Members"
          views={views}
          name={(j) => memberNames[j]}
          rowClass={(j) => (off.has(j) ? "off" : "")}
          first={{
            key: "name",
            title: "member",
            cell: (j) => (
              <>
                <span class="letter">{format.letter(j)}</span> {memberNames[j]}
                {odd.has(j) && <span class="warn"> odd</span>}
              </>
            ),
          }}
        />
      </div>
      <p class="legend">
        {meta.exact.check?.sentence} {meta.exact.sources} Switching a member off recomputes every
        view from the members in this file.
      </p>
    </>
  );
}
