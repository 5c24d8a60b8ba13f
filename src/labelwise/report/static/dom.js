// Elements and tables. Names are always set as text, never as HTML.

/** @typedef {Node | string | number | null | undefined} Child */

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...Child} children @returns {HTMLElement} */
function h(tag, attributes = {}, ...children) {
  return /** @type {HTMLElement} */ (fill(document.createElement(tag), attributes, children));
}

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...Child} children @returns {SVGElement} */
function svg(tag, attributes = {}, ...children) {
  return /** @type {SVGElement} */ (fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children));
}

/** @param {Element} element @param {Record<string, any>} attributes @param {Child[]} children */
function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child instanceof Node ? child : String(child));
  return element;
}

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
function $(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error("no element " + id);
  return /** @type {T} */ (found);
}

/** A select or input by id. @param {string} id @returns {HTMLInputElement} */
function field(id) {
  return /** @type {HTMLInputElement} */ (/** @type {unknown} */ ($(id)));
}

// Layout time grows with the length of a text: names of 10,000 letters in every table would freeze the page.
const LONGEST_NAME = 300, LONGEST_TITLE = 1000;

/** A name as text with its own writing direction. @param {string} text */
function named(text) {
  const long = text.length > 40;
  return h("bdi", { class: long ? "name long" : "name", title: long ? shortName(text, LONGEST_TITLE) : null }, shortName(text, LONGEST_NAME));
}

/** A name for places that allow only text. @param {string} text */
function shortName(text, most = 28) {
  if (text.length <= most) return text;
  const letters = Array.from(text.slice(0, 2 * most + 2)); // a letter has one or two code units
  return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
}

/** Announce a change to screen readers. @param {string} text */
function say(text) {
  $("said").textContent = text;
}

/** A number that a test can read in full. @param {string} key @param {number | null | undefined} value @param {string} text @param {string} [tag] */
function shown(key, value, text, tag = "strong") {
  return h(tag, { "data-key": key, "data-value": value ?? "" }, text);
}

/** @param {string} id @param {[string, string][]} options value and text @param {string} [chosen] */
function options(id, options, chosen) {
  const select = $(id);
  select.replaceChildren(...options.map(([value, text]) => h("option", { value, selected: value === chosen, dir: "auto" }, text)));
}

/** @typedef {{title: string, number?: boolean, down?: boolean, sort?: (i: number) => number | string, cell: (i: number) => Child, class?: string}} Column */

/**
 * A table of rows given by position, sortable by its heads where columns say how.
 * @param {HTMLElement} table @param {Column[]} columns @param {number[]} rows @param {{column: number, down: boolean} | null} order @param {(order: {column: number, down: boolean}) => void} [reorder]
 */
function drawTable(table, columns, rows, order, reorder) {
  const heads = columns.map((column, c) => {
    const active = order !== null && order.column === c;
    const attributes = { scope: "col", class: column.number ? "number" : null, "aria-sort": active ? (order.down ? "descending" : "ascending") : null };
    if (column.sort === undefined || reorder === undefined) return h("th", attributes, column.title);
    const press = () => {
      reorder({ column: c, down: active ? !order.down : Boolean(column.down ?? column.number) });
      /** @type {HTMLElement | null} */ (table.querySelectorAll("th")[c].querySelector("button"))?.focus();
    };
    return h("th", attributes, h("button", { type: "button", class: "sort", onclick: press }, column.title, h("span", { "aria-hidden": "true" }, active ? (order.down ? " ↓" : " ↑") : "")));
  });
  const body = rows.map((i) =>
    h("tr", {}, ...columns.map((column, c) => h(c === 0 ? "th" : "td", { scope: c === 0 ? "row" : null, class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null }, column.cell(i)))),
  );
  table.replaceChildren(h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...body));
}

/** Positions 0 … n − 1 in the order of a key. @param {number} n @param {(i: number) => number | string} key @param {boolean} down */
function sorted(n, key, down) {
  const keys = Array.from({ length: n }, (_, i) => key(i));
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => {
    const [x, y] = [keys[a], keys[b]];
    if (typeof x === "string" || typeof y === "string") return (down ? -1 : 1) * String(x).localeCompare(String(y));
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return down ? y - x : x - y;
  });
}
