import type { ComponentChildren } from "preact";
import * as format from "./format";
import type { Filter } from "./hash";
import { changeOf, go, meaning, select, state } from "./state";

interface CountProps {
  n: number;
  /** What holds for these cases, beside the selection but for the view's own keys. */
  filters: Filter[];
  keys: string[];
  name: string;
  label?: string;
  class?: string;
  tabIndex?: number;
  children?: ComponentChildren;
}

/** A number of cases; pressing it selects exactly these. */
export function Count({ n, filters, keys, name, label, children, ...rest }: CountProps) {
  const text = children ?? format.count(n);
  const described = { "data-key": name, "data-value": n };
  const kind = "count " + (rest.class ?? "");
  if (n === 0)
    return (
      <span {...described} class={kind}>
        {text}
      </span>
    );
  return (
    <button
      {...described}
      data-count={n}
      class={kind}
      tabIndex={rest.tabIndex}
      aria-label={label && `${format.count(n)} ${label}`}
      onClick={(event) => {
        const change = changeOf(event);
        // what is taken away needs no more than its own conditions
        const own = change === "exclude" && filters.length > 0;
        select(own ? [{ add: true, filters }] : meaning(filters, keys), change);
        if (state.peek().case !== "") go({ case: "" }, "replace");
      }}
    >
      {text}
    </button>
  );
}

type Amount = number | null | undefined;

/** A number that is not a count of cases; a share, unless `as` writes it as something else. */
export function Figure(props: { value: Amount; name: string; as?: (value: Amount) => string }) {
  const { value, name, as = format.percent } = props;
  return (
    <span class="figure" data-key={name} data-value={value ?? ""}>
      {as(value)}
    </span>
  );
}

/** A number and its interval. */
export function WithInterval(props: {
  value: number;
  low: number;
  high: number;
  name: string;
  as: (value: Amount) => string;
  ends: (value: Amount) => string;
}) {
  const { low, high, ends, ...figure } = props;
  return (
    <span class="withinterval">
      <Figure {...figure} />
      <small>
        {ends(low)}–{ends(high)}
      </small>
    </span>
  );
}

/** Both parts of the uncertainty as a bar, and a number. */
export function AmountBar(props: {
  aleatoric: number;
  epistemic: number;
  largest: number;
  children: ComponentChildren;
}) {
  return (
    <span class="amount">
      <PartsBar {...props} />
      {props.children}
    </span>
  );
}

/** Aleatoric and epistemic uncertainty as one bar. */
export function PartsBar(props: { aleatoric: number; epistemic: number; largest: number }) {
  const { aleatoric, epistemic, largest } = props;
  const width = (x: number) => `${largest > 0 ? (100 * Math.max(x, 0)) / largest : 0}%`;
  return (
    <span class="parts" aria-hidden="true">
      <span class="eu" style={{ width: width(epistemic) }} />
      <span class="au" style={{ width: width(aleatoric) }} />
    </span>
  );
}

interface PanelProps {
  id: string;
  title: ComponentChildren;
  /** Beside the title. */
  tools: ComponentChildren;
  children: ComponentChildren;
}

/** One of the views. */
export function Panel({ id, title, tools, children }: PanelProps) {
  return (
    <section class="panel" id={id} aria-labelledby={`${id}-title`} tabIndex={-1}>
      <header>
        <h2 id={`${id}-title`}>{title}</h2>
        {tools}
      </header>
      {children}
    </section>
  );
}

interface FindProps {
  label: string;
  value: string;
  change: (text: string) => void;
  id?: string;
  /** What Enter does. */
  enter?: () => void;
}

export function Find({ label, value, change, id, enter }: FindProps) {
  return (
    <input
      type="search"
      class="find"
      id={id}
      aria-label={label}
      placeholder={label}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
      onKeyDown={(event) => event.key === "Enter" && enter?.()}
    />
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: [string, string][];
  change: (value: string) => void;
}

export function Segments({ label, value, options, change }: ChoiceProps) {
  return (
    <span class="segments" role="group" aria-label={label}>
      {options.map(([key, text]) => (
        <button
          key={key}
          data-option={key}
          aria-pressed={key === value}
          onClick={() => change(key)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

export function Select({ label, value, options, change }: ChoiceProps) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        value={value}
        aria-label={label}
        onChange={(event) => change(event.currentTarget.value)}
      >
        {options.map(([key, text]) => (
          <option key={key} value={key} selected={key === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A class among possibly very many: a select, or from 60 on a field with suggestions as typed. */
export function ClassChoice(props: {
  label: string;
  value: string;
  names: string[];
  change: (name: string) => void;
}) {
  const { label, value, names, change } = props;
  if (names.length <= 60) {
    const options: [string, string][] = names.map((name) => [name, name]);
    const empty: [string, string][] = names.includes(value) ? [] : [["", "choose …"]];
    return <Select label={label} value={value} options={[...empty, ...options]} change={change} />;
  }
  return (
    <label class="choice">
      <span>{label}</span>
      <input
        type="search"
        value={value}
        placeholder="name of a class"
        onChange={(event) => {
          const text = event.currentTarget.value.toLowerCase();
          const exact = names.find((name) => name.toLowerCase() === text);
          const found = exact ?? names.find((name) => name.toLowerCase().includes(text));
          if (found !== undefined && text !== "") change(found);
          else event.currentTarget.value = value;
        }}
      />
    </label>
  );
}
