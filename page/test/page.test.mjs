import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { csv, format, hash, intervals, measures, npy, order, selection } = await import(
  process.env.LABELWISE_MODULES
);

test("numbers are written as labelwise/_format.py writes them", () => {
  const cases = JSON.parse(
    readFileSync(new URL("../../tests/number_cases.json", import.meta.url), "utf-8"),
  );
  for (const [name, values, expected] of cases) {
    const found = format[name](...values).replaceAll("\u00a0", " ");
    assert.equal(found, expected, `${name}(${values})`);
  }
});

test("percent with 0 digits rounds only what it must", () => {
  assert.equal(format.percent(0.003, 0), "< 1\u00a0%");
  assert.equal(format.percent(0.006, 0), "1\u00a0%");
  assert.equal(format.percent(0.999, 0), "> 99\u00a0%");
  assert.equal(format.percent(0.999, 1), "99.9\u00a0%");
  assert.equal(format.percent(0, 0), "0\u00a0%");
  assert.equal(format.percent(1, 0), "100\u00a0%");
  assert.equal(format.count(-0.3), "0");
  assert.equal(format.fixed(-0.001, 2), "0.00");
});

test("letters of members go on after z", () => {
  assert.deepEqual([0, 25, 26, 27, 52].map(format.letter), ["a", "z", "aa", "ab", "ba"]);
});

test("state, address and state again are the same", () => {
  const terms = [
    {
      add: true,
      filters: [
        { key: "truth", values: ["a|b", "!c", "d&e=f", "ü ..", "1+1", "50 %"], not: false },
        { key: "pred", values: ["a|b"], not: true },
        { key: "sort", values: ["a column called sort"], not: false },
        { key: "col.x", values: [""], not: true },
      ],
    },
    { add: true, filters: [{ key: "top", values: ["0.5..0.75"], not: false }] },
    { add: false, filters: [{ key: "wrong", values: ["1"], not: false }] },
  ];
  const state = { ...hash.DEFAULTS, terms, by: "group", case: "#17", without: ["seed 1", "a|b"] };
  const text = hash.writeHash(state);
  assert.deepEqual(
    hash.readHash("#" + text, () => true),
    { state, ignored: [] },
  );
});

test("keys that are not known are left out and named", () => {
  const { state, ignored } = hash.readHash("#truth=a&color=flagged&x1=b", (key) => key !== "x1");
  assert.deepEqual(ignored, ["x1"]);
  assert.equal(state.color, "flagged");
  assert.equal(state.terms[0].filters.length, 1);
});

test("a damaged address is no error", () => {
  for (const text of ["#%", "#truth=%E0%A4%A&=&&or=%", "#not=", "#or=a"]) {
    hash.readHash(text, () => true);
  }
});

test("a selection without the keys of a view, and narrowed", () => {
  const { equals, withoutKeys, narrowed } = selection;
  const terms = [
    { add: true, filters: [equals("truth", "a"), equals("site", "x")] },
    { add: true, filters: [equals("truth", "b")] },
    { add: false, filters: [equals("wrong", "1")] },
  ];
  // the second term is everything once truth is left out; what is taken away after it stays away
  assert.deepEqual(withoutKeys(terms, ["truth"]), [terms[2]]);
  const [first, last] = narrowed([terms[2]], [equals("pred", "c")]);
  assert.deepEqual(first, { add: true, filters: [equals("pred", "c")] });
  assert.deepEqual(last, terms[2]);
});

test("the rows of a mask, whichever mask was asked for before", () => {
  const [one, other] = [Uint8Array.from([1, 0, 0, 1, 1]), Uint8Array.from([0, 1, 0, 0, 0])];
  assert.deepEqual([...selection.rowsIn(one)], [0, 3, 4]);
  assert.deepEqual([...selection.rowsIn(other)], [1]);
  assert.deepEqual([...selection.rowsIn(one)], [0, 3, 4]);
  // written over in place, so that a list of a million rows is allocated once
  const into = new Uint32Array(5);
  const sorted = selection.sortedRows(selection.rowsIn(one), one, 255, false, into);
  assert.deepEqual([...sorted], [0, 3, 4]);
  assert.equal(sorted.buffer, into.buffer);
});

test("rows are counted into order, missing values last", () => {
  const codes = Uint8Array.from([3, 1, 255, 3, 0]);
  const rows = Uint32Array.from([0, 1, 2, 3, 4]);
  assert.deepEqual([...selection.sortedRows(rows, codes, 255, true)], [0, 3, 1, 4, 2]);
  assert.deepEqual([...selection.sortedRows(rows, codes, 255, false)], [4, 1, 0, 3, 2]);
});

test("Wilson's interval of 8 of 10", () => {
  const [low, high] = intervals.wilson(0.8, 10);
  assert.ok(Math.abs(low - 0.4901624715) < 1e-9 && Math.abs(high - 0.9433178485) < 1e-9);
  assert.deepEqual(intervals.wilson(0, 5)[0], 0);
});

test("total is aleatoric plus epistemic, and no disagreement is exactly 0", () => {
  const probs = [0.9, 0.1, 0.5, 0.5, 0.2, 0.8];
  for (const loss of ["log", "squared", "spherical", "zero_one"]) {
    const found = measures.decompose(probs, 2, [1 / 3, 1 / 3, 1 / 3], loss);
    for (const k of [0, 1]) {
      const sum = found.aleatoric[k] + found.epistemic[k];
      assert.ok(Math.abs(found.total[k] - sum) < 1e-15, loss);
    }
    const same = measures.decompose([0.3, 0.7, 0.3, 0.7], 2, [0.5, 0.5], loss);
    assert.deepEqual([...same.epistemic], [0, 0]);
  }
});

/** The same by trying every answer of the expert with every prediction: O(K²). */
function plainChoice(mean, costs) {
  const k = mean.length;
  const risk = (p, j) =>
    p.reduce((sum, x, c) => sum + (c === j ? 0 : x * (costs.missed[c] + costs.alarm[j])), 0);
  const best = (p) => {
    const risks = p.map((_, j) => risk(p, j));
    if (costs.abstain !== null) risks.push(costs.abstain * p.reduce((a, b) => a + b, 0));
    return Math.min(...risks);
  };
  const wrong = costs.error / (k - 1);
  let after = 0;
  for (let a = 0; a < k; a++) {
    after += best(mean.map((p, c) => p * (c === a ? 1 - costs.error : wrong)));
  }
  return Math.min(best(mean), costs.ask + after);
}

test("costs that differ by class: the envelope gives what all pairs give", () => {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let round = 0; round < 300; round++) {
    const k = 2 + Math.floor(random() * 7);
    const raw = Array.from({ length: k }, () => random() ** 4 + 1e-6);
    const sum = raw.reduce((a, b) => a + b, 0);
    const mean = raw.map((x) => x / sum);
    const costs = {
      missed: Float64Array.from(mean, () => 10 * random()),
      alarm: Float64Array.from(mean, () => (random() < 0.5 ? 1 : 5 * random())),
      abstain: random() < 0.5 ? null : random(),
      ask: random() / 2,
      error: random() / 3,
    };
    const found = measures.chooseClass(mean, costs);
    assert.ok(Math.abs(found.cost - plainChoice(mean, costs)) < 1e-12);
  }
});

test("tables: quotes, separators, line ends", () => {
  assert.deepEqual(csv.parseCsv('\ufeffid;"a;b"\r\n1;"say ""x"""\n2;\n'), [
    ["id", "a;b"],
    ["1", 'say "x"'],
    ["2", ""],
  ]);
  assert.throws(() => csv.parseCsv('id\n"1'));
  assert.equal(csv.csvCell("=1+1"), "'=1+1");
  assert.equal(csv.csvCell('a "b", c'), '"a ""b"", c"');
  assert.equal(csv.csvCell("-3.5"), "-3.5");
  for (const text of ["-scan 1", "@x", "＝1", "'quoted", "-3.5", "plain"])
    assert.deepEqual(csv.parseCsv(`id\n${csv.csvCell(text)}\n`), [["id"], [text]]);
});

function npyFile(shape, values) {
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")}), }\n`;
  const head = new Uint8Array(10);
  head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]);
  new DataView(head.buffer).setUint16(8, header.length, true);
  return new Blob([head, header, new Float64Array(values)]);
}

test("members of one case out of a file; a cut file is an error", async () => {
  const blob = npyFile([2, 3, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  const array = await npy.readHeader("probs", blob);
  assert.deepEqual([...(await npy.slice(array, 1, 2))], [10, 11]);
  await assert.rejects(npy.readHeader("probs", blob.slice(0, blob.size - 1)), /ends too early/);
  await assert.rejects(npy.readHeader("probs", new Blob(["nothing of the kind"])));
  await assert.rejects(npy.readZip(blob));
});

test("confused classes are neighbors, and the worst block has the worst pair", () => {
  const pairs = [
    [0, 0, 500],
    [0, 3, 50],
    [3, 0, 40],
    [1, 2, 30],
    [4, 5, 1],
  ].map(([first, second, weight]) => ({ first, second, weight }));
  const line = order.neighbors([0, 1, 2, 3], pairs);
  assert.equal(Math.abs(line.indexOf(0) - line.indexOf(3)), 1);
  assert.equal(Math.abs(line.indexOf(1) - line.indexOf(2)), 1);
  assert.deepEqual(new Set(order.worstBlock(pairs, 100, 4)), new Set([0, 1, 2, 3]));
});
