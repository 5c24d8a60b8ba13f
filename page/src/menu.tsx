// The bar above: what this is about, loss, export, opening files, methods.

import { useRef } from "preact/hooks";
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

function Item({ text, action }: { text: string; action: () => void }) {
  return (
    <li>
      <button
        type="button"
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
  return (
    <details class="menu">
      <summary>Export</summary>
      <ul>
        <Item text="ids of the selection" action={() => save("ids.txt", idsText(), "text/plain")} />
        <Item
          text="table of the selection (.csv)"
          action={() => save("cases.csv", selectionCsv(), "text/csv")}
        />
        {tags.value.size > 0 && (
          <Item
            text="tags and notes (.csv)"
            action={() => save("tags.csv", tagsCsv(), "text/csv")}
          />
        )}
        {given !== null && typeof given !== "string" && (
          <Item
            text="costs.toml"
            action={() => save("costs.toml", costsToml() ?? "", "text/plain")}
          />
        )}
        <Item
          text="matrix (.svg)"
          action={() => save("matrix.svg", matrixSvg() ?? "", "image/svg+xml")}
        />
        {current.y === "right" ? (
          <Item
            text="reliability (.svg)"
            action={() => save("reliability.svg", chartSvg("reliability") ?? "", "image/svg+xml")}
          />
        ) : (
          <Item
            text="map (.png)"
            action={() => mapPng((blob) => save("map.png", blob, "image/png"))}
          />
        )}
        {policy.value.kind !== "costs" && meta.labelled && (
          <Item
            text="risk–coverage curve (.svg)"
            action={() =>
              save("risk-coverage.svg", chartSvg("risk-coverage") ?? "", "image/svg+xml")
            }
          />
        )}
        <Item text="copy the selection as Python" action={() => void copy(asPython(), say)} />
        <Item text="copy a link to this view" action={() => void copy(location.href, say)} />
        <Item text="print" action={() => setTimeout(() => print(), 50)} />
      </ul>
    </details>
  );
}

function Open() {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
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

const BIBTEX = `@inproceedings{sale2024labelwise,
  title     = {Label-wise Aleatoric and Epistemic Uncertainty Quantification},
  author    = {Sale, Yusuf and Hofman, Paul and L{\\"o}hr, Timo and Wimmer, Lisa and Nagler, Thomas and H{\\"u}llermeier, Eyke},
  booktitle = {Proceedings of the Fortieth Conference on Uncertainty in Artificial Intelligence},
  year      = {2024}
}`;

function Methods() {
  return (
    <details class="menu wide">
      <summary>Methods</summary>
      <div class="prose">
        <p>
          For each label, <strong>total</strong> uncertainty is the entropy of the mean prediction;{" "}
          <strong>aleatoric</strong> is the mean entropy of the members, how unsure each is by
          itself; <strong>epistemic</strong> is the mean divergence of the members from their mean,
          what they disagree about. A case’s number is the sum over labels. Neither says what more
          data would do: members can agree because they are alike and disagree because they are
          random.
        </p>
        <p>
          Counts are exact: every threshold is at an edge of the stored values. Intervals are
          Wilson’s at 95 %, or the library’s where it is about all cases. Hover a heading for what
          it means.
        </p>
        {meta.notes?.map((note) => (
          <p key={note}>{note}</p>
        ))}
        {meta.id_note !== null && <p>{meta.id_note}</p>}
        {meta.images !== null && meta.images.count < meta.images.of && (
          <p>
            Pictures of {format.count(meta.images.count)} of {format.count(meta.images.of)} cases
            are in this file.
          </p>
        )}
        <p>
          Click selects, <kbd>Shift</kbd> adds, <kbd>Alt</kbd> excludes. <kbd>/</kbd> finds,{" "}
          <kbd>j</kbd> <kbd>k</kbd> next and previous case, <kbd>m</kbd> matrix, <kbd>a</kbd> map,{" "}
          <kbd>t</kbd> table, <kbd>p</kbd> policy, <kbd>c</kbd> cases, <kbd>Esc</kbd> one step up.
        </p>
        <p>
          Y. Sale, P. Hofman, T. Löhr, L. Wimmer, T. Nagler, E. Hüllermeier:{" "}
          <cite>Label-wise Aleatoric and Epistemic Uncertainty Quantification</cite>, UAI 2024.{" "}
          <button type="button" class="link" onClick={() => void copy(BIBTEX, say)}>
            copy BibTeX
          </button>
        </p>
        <p class="soft">labelwise {meta.version}</p>
      </div>
    </details>
  );
}

function aboutWords(): string {
  const words: string[] = [];
  if (memberNames.length > 0) words.push(format.plural(memberNames.length, "member"));
  words.push(format.plural(meta.n, "case"));
  words.push(
    format
      .plural(meta.class_names.length, meta.multilabel ? "label" : "class")
      .replace("classs", "classes"),
  );
  return words.join(" · ");
}

export function Bar() {
  const options = meta.losses.map(({ key, name }): [string, string] => [key, name]);
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
