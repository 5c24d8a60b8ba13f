// The state as the URL's hash, and back: names, not positions.

export interface Filter {
  key: string;
  /** Any of these names, or one range `lo..hi`. */
  values: string[];
  not: boolean;
}

/** A conjunction that is added to the selection or taken from it; terms apply in order. */
export interface Term {
  add: boolean;
  filters: Filter[];
}

export interface State {
  terms: Term[];
  loss: string;
  color: string;
  rows: string;
  by: string;
  order: string;
  sort: string;
  cases: string;
  refer: string;
  costs: string;
  without: string[];
  case: string;
  x: string;
  y: string;
  view: string;
}

export const DEFAULTS: State = {
  terms: [],
  loss: "log",
  color: "count",
  rows: "classes",
  by: "class",
  order: "",
  sort: "-total",
  cases: "",
  refer: "all:0.1:total",
  costs: "",
  without: [],
  case: "",
  x: "aleatoric",
  y: "epistemic",
  view: "matrix",
};

const SETTINGS = Object.keys(DEFAULTS).filter((key) => key !== "terms") as (keyof State)[];
const RESERVED = new Set<string>([...SETTINGS, "or", "not"]);

/** Encoded so that `|`, a leading `!`, `&` and `=` keep their meaning; what reads well stays. */
function encode(text: string): string {
  return encodeURIComponent(text)
    .replace(/!/g, "%21")
    .replace(/%20/g, "+")
    .replace(/%(3A|2C|2F|40)/g, (code) => decodeURIComponent(code));
}

function decode(text: string): string {
  const spaced = text.replace(/\+/g, "%20");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return text;
  }
}

function writeFilter({ key, values, not }: Filter): string {
  const name = RESERVED.has(key) || key.startsWith("col.") ? "col." + key : key;
  return `${encode(name)}=${not ? "!" : ""}${values.map(encode).join("|")}`;
}

function readFilter(name: string, value: string): Filter {
  const key = decode(name);
  const not = value.startsWith("!");
  const values = (not ? value.slice(1) : value).split("|").map(decode);
  return { key: key.startsWith("col.") ? key.slice(4) : key, values, not };
}

function writeConjunction(filters: Filter[]): string {
  return filters.map(writeFilter).join("&");
}

function readConjunction(text: string): Filter[] {
  return pairs(text).map(([name, value]) => readFilter(name, value));
}

function pairs(text: string): [string, string][] {
  return text
    .split("&")
    .filter((piece) => piece !== "")
    .map((piece) => {
      const [name, ...rest] = piece.split("=");
      return [name, rest.join("=")];
    });
}

export function writeTerms(terms: Term[]): string {
  const parts: string[] = [];
  terms.forEach(({ add, filters }, i) => {
    const text = writeConjunction(filters);
    if (i === 0 && add) parts.push(text);
    else parts.push(`${add ? "or" : "not"}=${encode(text)}`);
  });
  return parts.join("&");
}

export function writeHash(state: State): string {
  const parts = [writeTerms(state.terms)];
  for (const key of SETTINGS) {
    const value = state[key];
    const text = Array.isArray(value)
      ? value.map((x) => encode(String(x))).join("|")
      : encode(value);
    const usual = DEFAULTS[key];
    const usualText = Array.isArray(usual) ? "" : encode(usual);
    if (text !== usualText) parts.push(`${key}=${text}`);
  }
  return parts.filter((part) => part !== "").join("&");
}

/** Keys that `known` refuses are left out and named in `ignored`. */
export function readHash(
  text: string,
  known: (key: string) => boolean,
): { state: State; ignored: string[] } {
  const state: State = { ...DEFAULTS, terms: [], without: [] };
  const ignored: string[] = [];
  const first: Filter[] = [];
  const later: Term[] = [];
  const accept = (filter: Filter) => {
    if (known(filter.key)) return true;
    ignored.push(filter.key);
    return false;
  };
  for (const [name, value] of pairs(text.replace(/^#/, ""))) {
    if (name === "or" || name === "not") {
      const filters = readConjunction(decode(value)).filter(accept);
      if (filters.length > 0) later.push({ add: name === "or", filters });
    } else if (name === "without") state.without = value.split("|").map(decode);
    else if (RESERVED.has(name)) Object.assign(state, { [name]: decode(value) });
    else {
      const filter = readFilter(name, value);
      if (accept(filter)) first.push(filter);
    }
  }
  if (first.length > 0) state.terms.push({ add: true, filters: first });
  state.terms.push(...later);
  return { state, ignored };
}
