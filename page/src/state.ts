// One object is the state; the URL's hash is the same in writing.

import { computed, signal } from "@preact/signals-core";
import { DEFAULTS, type Filter, type State, type Term, readHash, writeHash } from "./hash";
import { narrowed, withoutKeys } from "./selection";

export const state = signal<State>(readHash("", () => true).state);
export const notice = signal("");
/** The parts of the state: what reads one of them is redone only when that one changes. */
export const now = {} as Readonly<State>;
for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
  const part = computed(() => state.value[key]);
  Object.defineProperty(now, key, { get: () => part.value, enumerable: true });
}

let known: (key: string) => boolean = () => true;

/** "push": the browser's Back undoes it; "replace": it is one of many steps of a gesture. */
export function go(patch: Partial<State>, how: "push" | "replace" = "push"): void {
  const next = { ...state.value, ...patch };
  const hash = "#" + writeHash(next);
  if (hash !== (location.hash || "#")) {
    const url = hash === "#" ? location.pathname + location.search : hash;
    if (how === "push") history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }
  state.value = next;
}

function restore(): void {
  const { state: found, ignored } = readHash(location.hash, known);
  if (ignored.length > 0) notice.value = `Not known here and ignored: ${ignored.join(", ")}.`;
  state.value = found;
}

export function listen(isKnown: (key: string) => boolean): void {
  known = isKnown;
  restore();
  addEventListener("popstate", restore);
  addEventListener("hashchange", restore);
}

export type Change = "replace" | "add" | "exclude";

export function changeOf(event: { shiftKey: boolean; altKey: boolean }): Change {
  if (event.shiftKey) return "add";
  return event.altKey ? "exclude" : "replace";
}

/** Select what `terms` describe: instead of, beside, or taken from what is selected. */
export function select(terms: Term[], change: Change, how: "push" | "replace" = "push"): void {
  const now = state.value.terms;
  if (change === "replace" || (change === "add" && now.length === 0)) go({ terms }, how);
  else if (change === "add") go({ terms: [...now, ...terms] }, how);
  else {
    const taken = terms.filter((term) => term.add && term.filters.length > 0);
    go({ terms: [...now, ...taken.map((term) => ({ ...term, add: false }))] }, how);
  }
}

/** What a number means: where `filters` hold, else as selected now, but for the view's own `keys`. */
export function meaning(filters: Filter[], keys: string[]): Term[] {
  return narrowed(withoutKeys(state.value.terms, keys), filters);
}
