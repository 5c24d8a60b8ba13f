// Text of a CSV file as rows of cells: quotes, a byte-order mark, and the separator that its first line has most.

export function parseCsv(text: string): string[][] {
  const source = text.replace(/^\ufeff/, "");
  const first = source.slice(0, source.search(/\r?\n|$/));
  const separator = [",", ";", "\t"].reduce((a, b) =>
    first.split(b).length > first.split(a).length ? b : a,
  );
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (source[i + 1] === '"') {
        cell += c;
        i++;
      } else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === separator) {
      row.push(cell);
      cell = "";
    } else if (c === "\n" || c === "\r") {
      if (c === "\r" && source[i + 1] === "\n") i++;
      row.push(cell);
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
      cell = "";
    } else cell += c;
  }
  if (quoted) throw new Error("a quote is opened and never closed");
  if (cell !== "" || row.length > 0) rows.push([...row, cell]);
  return rows.map((cells) => cells.map(withoutApostrophe));
}

function withoutApostrophe(cell: string): string {
  return cell.startsWith("'") && isFormula(cell.slice(1)) ? cell.slice(1) : cell;
}

/** What a spreadsheet takes for a formula. */
function isFormula(text: string): boolean {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) && Number.isNaN(Number(text));
}

/** A cell of a CSV file; an apostrophe keeps a spreadsheet from running it. */
export function csvCell(value: string): string {
  const safe = isFormula(value) ? "'" + value : value;
  return /[",;\n\r\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
