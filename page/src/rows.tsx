// A table: a row for each thing, a column for each view of it.

import type { ComponentChildren } from "preact";

export interface View<T> {
  key: string;
  title: ComponentChildren;
  note?: string;
  cell: (row: T) => ComponentChildren;
  class?: string;
  /** aria-sort of the heading. */
  sorted?: "ascending" | "descending";
}

interface RowsProps<T> {
  rows: T[];
  views: View<T>[];
  name: (row: T) => string;
  /** The first column, which names the row. */
  first: View<T>;
  label: string;
  class?: string;
  rowClass?: (row: T) => string;
  /** Rows that are not in the document, above and below, in pixels; and how many are above. */
  gaps?: { before: number; after: number; start: number; count: number };
}

function Gap({ height }: { height: number }) {
  if (height <= 0) return null;
  return <tr class="gap" style={{ height: `${height}px` }} aria-hidden="true" />;
}

export function Rows<T>(props: RowsProps<T>) {
  const { rows, views, name, first, label, rowClass, gaps } = props;
  return (
    <table
      class={`rows ${props.class ?? ""}`}
      aria-label={label}
      aria-rowcount={gaps && gaps.count + 1}
    >
      <thead>
        <tr>
          {[first, ...views].map((view) => (
            <th
              key={view.key}
              scope="col"
              class={view === first ? "" : (view.class ?? "number")}
              title={view.note}
              aria-sort={view.sorted}
            >
              {view.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <Gap height={gaps?.before ?? 0} />
        {rows.map((row, i) => (
          // by position where rows come and go: other cases are written into the same elements
          <tr
            key={gaps ? gaps.start + i : name(row)}
            class={rowClass?.(row)}
            aria-rowindex={gaps && gaps.start + i + 2}
          >
            <th scope="row" title={name(row)}>
              {first.cell(row)}
            </th>
            {views.map((view) => (
              <td key={view.key} class={view.class ?? "number"}>
                {view.cell(row)}
              </td>
            ))}
          </tr>
        ))}
        <Gap height={gaps?.after ?? 0} />
      </tbody>
    </table>
  );
}
