import { step } from "./current";
import { withoutFilter } from "./selection";
import { go, now as current } from "./state";

/** By the key that goes there. */
export const VIEWS: Record<string, string> = {
  m: "matrix",
  a: "map",
  t: "table",
  p: "policy",
  c: "cases",
};

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("input:not([type=checkbox]):not([type=range]), select, textarea")
  );
}

export function focusView(view: string): void {
  go({ view }, "replace");
  requestAnimationFrame(() => {
    const element = document.getElementById(view);
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  });
}

/** Esc goes up by one: an open menu, the case, the last condition. */
function up(): void {
  const menu = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  const { terms } = current;
  if (menu !== null) {
    menu.open = false;
    menu.querySelector<HTMLElement>("summary")?.focus();
  } else if (current.case !== "") go({ case: "" });
  else if (terms.length > 0) {
    const at = terms.length - 1;
    go({ terms: withoutFilter(terms, at, terms[at].filters.length - 1) });
  }
}

export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (typing(event.target)) (event.target as HTMLElement).blur();
      else up();
      return;
    }
    if (typing(event.target)) return;
    if (event.key === "/") {
      event.preventDefault();
      const field =
        document.getElementById("search") ?? document.querySelector<HTMLElement>("input.find");
      field?.focus();
    } else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (VIEWS[event.key] !== undefined) focusView(VIEWS[event.key]);
  });
  addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll<HTMLDetailsElement>("details.menu[open]")) {
      if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    }
  });
}
