// Costs as typed: empty until given; an invalid one marks the plan as not computed.

import { signal } from "@preact/signals-core";
import { maskOf } from "./cases";
import { ClassChoice, Count, Figure } from "./count";
import { R, meta } from "./data";
import * as format from "./format";
import { type CostTexts, NO_COSTS, costTexts, costs, plan, planOf } from "./refer";
import { equals, withoutKeys } from "./selection";
import { go, now as current } from "./state";

function write(texts: CostTexts): void {
  go({ costs: JSON.stringify(texts) }, "replace");
}

const FIELDS: [keyof Omit<CostTexts, "of">, string, string][] = [
  ["missed", "missing a class costs", "1"],
  ["alarm", "a false alarm costs", meta.multilabel ? "1" : "0"],
  ["abstain", "abstaining costs", "not possible"],
  ["ask", "asking an expert costs", "not possible"],
  ["error", "expert’s error rate, %", "0"],
];

const adding = signal("");

function CostField(props: {
  label: string;
  value: string;
  hint: string;
  change: (text: string) => void;
}) {
  const { label, value, hint, change } = props;
  return (
    <label class="choice">
      <span>{label}</span>
      <input
        type="text"
        inputMode="decimal"
        class="cost"
        value={value}
        placeholder={hint}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  );
}

export function CostPanel() {
  const texts = costTexts.value;
  const parsed = costs.value;
  const own = Object.entries(texts.of);
  const set = (name: string, at: 0 | 1, text: string) => {
    const pair: [string, string] = [...(texts.of[name] ?? ["", ""])];
    pair[at] = text;
    write({ ...texts, of: { ...texts.of, [name]: pair } });
  };
  return (
    <>
      <div class="settings">
        {FIELDS.map(([key, label, hint]) => (
          <CostField
            key={key}
            label={label}
            value={texts[key]}
            hint={hint}
            change={(text) => write({ ...texts, [key]: text })}
          />
        ))}
      </div>
      {own.map(([name, [missed, alarm]]) => (
        <div class="settings own" key={name}>
          <strong>{name}</strong>
          <CostField
            label="missing it"
            value={missed}
            hint="as above"
            change={(text) => set(name, 0, text)}
          />
          <CostField
            label="false alarm"
            value={alarm}
            hint="as above"
            change={(text) => set(name, 1, text)}
          />
          <button
            class="link"
            aria-label={`Remove the costs of ${name}`}
            onClick={() =>
              write({
                ...texts,
                of: Object.fromEntries(own.filter(([other]) => other !== name)),
              })
            }
          >
            remove
          </button>
        </div>
      ))}
      <div class="settings">
        <ClassChoice
          label="costs of one class"
          value={adding.value}
          names={meta.class_names}
          change={(name) =>
            name !== "" &&
            write({ ...texts, of: { ...texts.of, [name]: texts.of[name] ?? ["", ""] } })
          }
        />
        {current.costs !== "" && (
          <button class="link" onClick={() => write(NO_COSTS)}>
            clear all costs
          </button>
        )}
      </div>
      {parsed === null && <p class="soft">No costs given, so nothing is decided.</p>}
      {typeof parsed === "string" && (
        <p class="warn" role="alert">
          Not computed: {parsed}
        </p>
      )}
      {parsed !== null && typeof parsed !== "string" && <PlanSummary />}
    </>
  );
}

function PlanSummary() {
  const mask = maskOf(withoutKeys(current.terms, ["decision", "flagged"]));
  if (!plan.value || !mask) return <p class="soft">Computing …</p>;
  const { counts, cost, n } = planOf(mask);
  const names = ["predict", "abstain", "ask"];
  return (
    <p class="result">
      {names.map((name, k) => (
        <span key={name} class="entry">
          {name}{" "}
          <Count
            n={counts[k]}
            filters={[equals("decision", name)]}
            keys={["decision", "flagged"]}
            name={`plan.${name}`}
          />
        </span>
      ))}
      <span class="entry">
        expected cost a case <Figure name="plan.cost" value={cost} as={format.number} />
      </span>
      {n < R && (
        <span class="soft"> of {format.count(n)} cases whose members are in this file</span>
      )}
    </p>
  );
}
