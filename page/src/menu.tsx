// The bar above: what this is about, loss, export, opening files, methods.

import { createRef } from "preact";
import { copy } from "./case";
import { Select } from "./count";
import { meta } from "./data";
import { openFiles } from "./drop";
import {
  asPython,
  chartSvg,
  costsToml,
  idsText,
  mapPng,
  matrixSvg,
  save,
  selectionCsv,
  tagsCsv,
} from "./export";
import * as format from "./format";
import { memberNames } from "./members";
import { costs, policy } from "./refer";
import { go, notice, now as current } from "./state";
import { tags } from "./tags";

function close(event: Event): void {
  (event.currentTarget as HTMLElement).closest("details")?.removeAttribute("open");
}

function Item({ text, action }: { text: string; action: () => unknown }) {
  return (
    <li>
      <button
        onClick={(event) => {
          action();
          close(event);
        }}
      >
        {text}
      </button>
    </li>
  );
}

const say = (message: string) => (notice.value = message === "copied" ? "Copied." : message);

function Export() {
  const given = costs.value;
  const file = (text: string, name: string, type: string, make: () => string | Promise<string>) => (
    <Item text={text} action={async () => save(name, await make(), type)} />
  );
  const svg = "image/svg+xml";
  return (
    <details class="menu">
      <summary>Export</summary>
      <ul>
        {file("ids of the selection", "ids.txt", "text/plain", idsText)}
        {file("table of the selection (.csv)", "cases.csv", "text/csv", selectionCsv)}
        {tags.value.size > 0 && file("tags and notes (.csv)", "tags.csv", "text/csv", tagsCsv)}
        {given !== null &&
          typeof given !== "string" &&
          file("costs.toml", "costs.toml", "text/plain", () => costsToml(given))}
        {file("matrix (.svg)", "matrix.svg", svg, matrixSvg)}
        {current.y === "right" ? (
          file("reliability (.svg)", "reliability.svg", svg, () => chartSvg("reliability"))
        ) : (
          <Item
            text="map (.png)"
            action={() => mapPng((blob) => save("map.png", blob, "image/png"))}
          />
        )}
        {policy.value.kind !== "costs" &&
          meta.labelled &&
          file("risk–coverage curve (.svg)", "risk-coverage.svg", svg, () =>
            chartSvg("risk-coverage"),
          )}
        <Item text="copy the selection as Python" action={() => copy(asPython(), say)} />
        <Item text="print" action={() => setTimeout(() => print(), 50)} />
      </ul>
    </details>
  );
}

const files = createRef<HTMLInputElement>();
const folder = createRef<HTMLInputElement>();

function Open() {
  const read = (event: Event) => {
    const field = event.currentTarget as HTMLInputElement;
    void openFiles(Array.from(field.files ?? [])).then(() => (field.value = ""));
  };
  return (
    <details class="menu">
      <summary>Open</summary>
      <ul>
        <Item
          text="a table with ids, predictions or pictures …"
          action={() => files.current?.click()}
        />
        <Item text="a folder of pictures …" action={() => folder.current?.click()} />
        <li class="note">Or drop them on the page. They are read here and go nowhere.</li>
      </ul>
      <input
        ref={files}
        id="files"
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={read}
      />
      <input
        ref={folder}
        type="file"
        hidden
        aria-label="Folder"
        onChange={read}
        {...{ webkitdirectory: true }}
      />
    </details>
  );
}

/** What is the same on every page is in the page's HTML. */
function showProse(element: HTMLElement | null): void {
  const prose = document.querySelector<HTMLTemplateElement>("#methods");
  if (element?.childElementCount === 0 && prose) element.append(prose.content.cloneNode(true));
}

function Methods() {
  return (
    <details class="menu wide">
      <summary>Methods</summary>
      <div class="prose">
        <div ref={showProse} />
        {meta.notes.map((note) => (
          <p key={note}>{note}</p>
        ))}
        {meta.id_note !== null && <p>{meta.id_note}</p>}
        {meta.images !== null && meta.images.count < meta.images.of && (
          <p>
            Pictures of {format.count(meta.images.count)} of {format.count(meta.images.of)} cases
            are in this file.
          </p>
        )}
        <p class="soft">labelwise {meta.version}</p>
      </div>
    </details>
  );
}

function aboutWords(): string {
  const words: string[] = [];
  if (memberNames.length > 0) words.push(format.plural(memberNames.length, "member"));
  words.push(format.plural(meta.n, "case"));
  words.push(`${format.count(meta.class_names.length)} ${meta.multilabel ? "labels" : "classes"}`);
  return words.join(" · ");
}

export function Bar() {
  const options = meta.losses.map((loss): [string, string] => [
    loss,
    loss.replace("_", "-") + " loss",
  ]);
  return (
    <header class="bar">
      <div class="title">
        <h1>{meta.title}</h1>
        <p class="soft">{aboutWords()}</p>
      </div>
      <div class="tools">
        {options.length > 1 && (
          <Select
            label="measured by"
            value={current.loss}
            options={options}
            change={(loss) => go({ loss })}
          />
        )}
        <Export />
        <Open />
        <Methods />
      </div>
    </header>
  );
}
