import { render } from "preact";
import { CasePanel } from "./case";
import { CaseList, listenForCases } from "./case-list";
import { effect } from "@preact/signals-core";
import { isKnown, listed } from "./cases";
import { K, R, meta } from "./data";
import { hovering, listenForDrops } from "./drop";
import { readHash, writeHash } from "./hash";
import { VIEWS, focusView, listenForKeys } from "./keyboard";
import { MapView } from "./map";
import { Matrix } from "./matrix";
import * as measures from "./measures";
import { Bar } from "./menu";
import { PolicyView } from "./policy";
import { Sentence } from "./sentence";
import { figures } from "./sums";
import { go, listen, now as current, state } from "./state";
import { TableView } from "./table";

function Tabs() {
  return (
    <nav class="tabs" aria-label="Views">
      {Object.values(VIEWS).map((view) => (
        <button
          key={view}
          aria-current={current.view === view ? "true" : undefined}
          onClick={() => focusView(view)}
        >
          {view}
        </button>
      ))}
    </nav>
  );
}

// a matrix of many classes, or of large counts, is as wide as the page
const many = !meta.multilabel && (K > 14 || K * String(R).length > 50);

// made once: what shows the open case or another view draws nothing else again
const content = (
  <>
    <Sentence />
    <div class={many ? "views many" : "views"}>
      <Matrix />
      <MapView />
      <TableView />
      <PolicyView />
      <CaseList />
    </div>
    <CasePanel />
  </>
);
const above = (
  <>
    <a
      class="skip"
      href="#cases"
      onClick={(event) => {
        event.preventDefault();
        focusView("cases");
      }}
    >
      Skip to the cases
    </a>
    <Bar />
  </>
);

function App() {
  return (
    <>
      {above}
      <main class={`view-${current.view} ${current.case !== "" ? "case-open" : ""}`}>
        {content}
      </main>
      <Tabs />
      {hovering.value && (
        <div class="dropping">
          Drop tables, predictions or pictures: nothing leaves this machine.
        </div>
      )}
    </>
  );
}

listen(isKnown);
if (!meta.losses.includes(state.peek().loss)) go({ loss: "log" }, "replace");
listenForKeys();
listenForDrops();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
listenForCases();
effect(() => {
  if (figures.value !== null && listed.value !== null) document.documentElement.dataset.ready = "";
});

/** For tests: the page's own arithmetic and what is selected. */
Object.assign(window, {
  labelwise: {
    measures,
    state,
    go,
    readHash,
    writeHash,
    rows: () => Array.from(listed.value ?? []),
  },
});
