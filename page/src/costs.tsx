// Costs as typed: empty until given; an invalid one marks the plan as not computed.

import { signal } from "@preact/signals";
import { inDistribution, maskOf } from "./cases";
import { ClassChoice, Count, Figure } from "./count";
import { R, meta } from "./data";
import * as format from "./format";
import { embedded } from "./members";
import { type CostTexts, NO_COSTS, costTexts, costs, plan } from "./refer";
import { equals, withoutKeys } from "./selection";
import { go, now as current } from "./state";

function write(texts: CostTexts): void {
  go({ costs: JSON.stringify(texts) }, "replace");
}

const FIELDS: [keyof Omit<CostTexts, "of">, string, string][] = [
  ["missed", "missing a class costs", meta.multilabel ? "1" : "1"],
  ["alarm", "a false alarm costs", meta.multilabel ? "1" : "0"],
  ["abstain", "abstaining costs", "not possible"],
  ["ask", "asking an expert costs", "not possible"],
  ["error", "expert’s error rate, %", "0"],
];

const adding = signal("");

function invalid(text: string): boolean {
  return text.trim() !== "" && !(Number(text) >= 0 && Number.isFinite(Number(text)));
}

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
        aria-invalid={invalid(value)}
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
            type="button"
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
          <button type="button" class="link" onClick={() => write(NO_COSTS)}>
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
  const found = plan.value;
  const mask = maskOf(withoutKeys(current.terms, ["decision", "flagged"]));
  if (found === null || mask === null) return <p class="soft">Computing …</p>;
  const counts = [0, 0, 0];
  let [cost, n] = [0, 0];
  for (let i = 0; i < R; i++) {
    if (mask[i] === 0 || found.action[i] === 255) continue;
    counts[found.action[i]]++;
    cost += found.cost[i];
    n++;
  }
  const names = ["predict", "abstain", "ask"];
  const partial = embedded.value !== null && embedded.value.n < (inDistribution.value?.length ?? 0);
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
        expected cost a case{" "}
        <Figure name="plan.cost" value={cost / n} text={format.number(cost / n)} />
      </span>
      {partial && (
        <span class="soft"> of the {format.count(n)} cases whose members are in this file</span>
      )}
    </p>
  );
}
