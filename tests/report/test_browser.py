"""The page in a real browser: every number opens its cases, the address is the state, numbers are
the library's, and what is dropped is only read.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import labelwise as lw
from labelwise.io import Predictions
from labelwise.report import build_report
from report_pages import LOSSES, PARTS, SKIN, choose, ensemble, listed, press, settle, value

CRAWL = """async (by) => {
  const settled = async () => {
    for (let i = 0; i < 400; i++) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      if (!/(Counting|Sorting|Reading the cases) …/.test(document.body.innerText)) return;
    }
  };
  const start = async () => {
    labelwise.go({ terms: [], case: "", by });
    await settled();
  };
  const buttons = () => [...document.querySelectorAll("button[data-count]")];
  await start();
  const keys = [...new Set(buttons().map((button) => button.dataset.key))];
  const found = {};
  for (const key of keys) {
    await start();
    const button = buttons().find((each) => each.dataset.key === key);
    const shown = Number(button.dataset.count);
    button.click();
    await settled();
    found[key] = [shown, labelwise.rows()];
  }
  return found;
}"""


def crawl(page, by: str = "class") -> dict[str, list[int]]:
    """Press every number: it must list as many cases as it says."""
    found = page.evaluate(CRAWL, by)
    for key, (shown, rows) in found.items():
        assert shown == len(rows) > 0, key
    return {key: sorted(rows) for key, (_, rows) in found.items()}


def check_rows(found: dict[str, list[int]], expected: dict[str, np.ndarray]) -> None:
    """Each key has NumPy's cases; one that is not on the page has none."""
    for key, mask in expected.items():
        assert found.get(key, []) == np.flatnonzero(mask).tolist(), key


def test_every_number_opens_its_cases(lesions, open_page) -> None:
    data, report = lesions
    page = open_page(report, width=1440)
    guess = data.probs.mean(0).argmax(-1)
    wrong = guess != data.y
    found = crawl(page)
    expected = rows_of_classes(SKIN, data.y, guess)
    check_rows(found, expected)
    referred = np.isin(np.arange(len(guess)), found["policy.referred"])
    check_rows(
        found,
        {
            "policy.referred.wrong": referred & wrong,
            "policy.kept": ~referred,
            "policy.kept.wrong": ~referred & wrong,
            "selected.flagged.n": referred,
            **{f"table.{x}.known": referred & wrong & (data.y == k) for k, x in enumerate(SKIN)},
        },
    )
    assert set(found) <= {*expected} | {key for key in found if key.split(".")[0] != "matrix"}
    own = data.probs.argmax(-1)
    found = crawl(page, "member")
    for j in range(5):
        check_rows(found, {f"member.seed-{11 + j}.right": own[j] == data.y})
    found = crawl(page, "site")
    for site in ("Aachen", "Bonn", "Köln"):
        here = data.site == site
        check_rows(found, {f"table.{site}.n": here, f"table.{site}.wrong": here & wrong})


def rows_of_classes(names, y, guess) -> dict[str, np.ndarray]:
    """By the key of a number, which cases it is about: classes."""
    wrong = guess != y
    expected = {"selected.n": np.ones(len(y), bool), "selected.accuracy.n": ~wrong}
    for t, truth in enumerate(names):
        expected[f"table.{truth}.n"] = y == t
        expected[f"table.{truth}.missed"] = (y == t) & wrong
        expected[f"table.{truth}.alarms"] = (guess == t) & wrong
        for p, predicted in enumerate(names):
            expected[f"matrix.{truth}.{predicted}"] = (y == t) & (guess == p)
    return expected


def rows_of_labels(names, y, called) -> dict[str, np.ndarray]:
    """The same for labels that may occur together."""
    expected = {
        "selected.n": np.ones(len(y), bool),
        "selected.accuracy.n": np.all(called == y, axis=-1),
    }
    for k, name in enumerate(names):
        true, said = y[:, k] == 1, called[:, k]
        expected[f"matrix.{name}.hit"] = true & said
        expected[f"matrix.{name}.missed"] = expected[f"table.{name}.missed"] = true & ~said
        expected[f"matrix.{name}.alarm"] = expected[f"table.{name}.alarms"] = ~true & said
        expected[f"table.{name}.n"] = true
    return expected


def rows_without_labels(names, mean) -> dict[str, np.ndarray]:
    """Predicted × second choice."""
    order = np.argsort(-mean, axis=-1, kind="stable")
    expected = {"selected.n": np.ones(len(mean), bool)}
    for p, first in enumerate(names):
        expected[f"table.{first}.n"] = order[:, 0] == p
        for s, second in enumerate(names):
            expected[f"matrix.{first}.{second}"] = (order[:, 0] == p) & (order[:, 1] == s)
    return expected


def rows_of_events(names, y, guess, events) -> dict[str, np.ndarray]:
    expected = rows_of_classes(names, y, guess)
    expected = {key: mask for key, mask in expected.items() if not key.startswith("table.")}
    for name, inside in events.items():
        classes = [names.index(x) for x in inside]
        true, said = np.isin(y, classes), np.isin(guess, classes)
        expected[f"table.{name}.n"] = true
        expected[f"table.{name}.missed"] = true & ~said
        expected[f"table.{name}.alarms"] = ~true & said
    return expected


CRAWLED = ["ensemble", "weighted", "dirichlet", "multilabel", "ordinal", "events"]
CRAWLED += ["unlabeled", "unlabeled multilabel"]


@pytest.mark.parametrize("kind", [*CRAWLED, "ood", "fashion", "ecg", "binary file"])
def test_every_number_of_other_pages_opens_its_cases(kind, open_page, tmp_path) -> None:
    if kind == "fashion":
        bundled = lw.demo.load_fashion_ensemble()
        q, y, options = bundled.ensemble, bundled.y_true, {}
    elif kind == "ecg":
        bundled = lw.demo.load_ecg_ensemble()
        q, y, options = bundled.ensemble, bundled.y_true, {}
    elif kind == "binary file":
        q, y, options = kinds()["binary"]
        path = tmp_path / "binary.npz"
        lw.io.save_predictions(path, probs=q.probs, y_true=y, class_names=q.class_names)
        options = {"given": lw.load_predictions(path)}
    else:
        q, y, options = kinds()[kind]
    given = options.pop("given", q)
    page = open_page(build_report(given, y_true=y, **options), width=1440)
    names, mean = list(q.class_names), q.mean()
    guess = mean.argmax(-1)
    if y is None and not q.exclusive:
        expected = {"selected.n": np.ones(len(mean), bool)}
        for name, called in zip(names, (mean > 0.5).T, strict=True):
            expected[f"matrix.{name}.hit"] = expected[f"table.{name}.n"] = called
    elif y is None:
        expected = rows_without_labels(names, mean)
    elif y.ndim == 2:
        expected = rows_of_labels(names, y, mean > 0.5)
    elif "events" in options:
        events = options["events"]
        if kind == "ordinal":
            events = {f"≥ {x}": names[k:] for k, x in enumerate(names) if k}
        expected = rows_of_events(names, y, guess, events)
    else:
        expected = rows_of_classes(names, y, guess)
    found = crawl(page)
    check_rows(found, expected)
    # nothing else is counted but what depends on the policy, and the sentences to start with
    others = {key.split(".")[0] for key in set(found) - set(expected)}
    rest = {key for key in set(found) - set(expected) if key.startswith("table.")}
    assert others <= {"policy", "selected", "finding", "table"}
    assert {key.split(".")[-1] for key in rest} <= {"known", "flagged"}
    if y is not None:
        wrong = np.flatnonzero(~expected["selected.accuracy.n"])
        for part in ("referred", "kept"):
            both = np.intersect1d(found[f"policy.{part}"], wrong).tolist()
            assert found.get(f"policy.{part}.wrong", []) == both
    else:
        for name in names:
            both = np.intersect1d(found[f"table.{name}.n"], found["policy.referred"])
            assert found.get(f"table.{name}.flagged", []) == both.tolist()
    if kind == "ood":
        found = crawl(page, "dataset")
        assert found["table.elsewhere.n"] == list(range(len(mean), len(mean) + 40))


def test_a_wrong_number_is_noticed(clothes, open_page) -> None:
    """The crawler fails where a number says more than it opens, and where NumPy differs."""
    q, y, report = clothes
    page = open_page(report)
    found = crawl(page)
    wrong = rows_of_classes(list(q.class_names), (y + 1) % 5, q.mean().argmax(-1))
    with pytest.raises(AssertionError):
        check_rows(found, wrong)
    page.evaluate("labelwise.go({ terms: [] })")
    page.locator("button[data-key='selected.accuracy.n']").evaluate(
        "(button) => button.setAttribute('data-count', '7')"
    )
    with pytest.raises(AssertionError):
        crawl(page)


def kinds():
    """Predictions, labels and options for each kind of page."""
    rng = np.random.default_rng(3)
    names = list("abcd")
    q4, y4 = ensemble(n=200, k=4, seed=4, class_names=names)
    p = rng.beta(0.4, 1.2, (200, 6))
    several = lw.MultiLabelEnsemble(
        np.clip(p + rng.normal(0, 0.15, (5, 200, 6)), 0, 1), class_names=list("uvwxyz")
    )
    other, _ = ensemble(n=40, k=4, seed=9, class_names=names, sharpness=2.0)
    alpha = rng.gamma(0.7, 3, (150, 3)) + 0.05
    return {
        "ensemble": (q4, y4, {}),
        "weighted": (lw.Ensemble(q4.probs, weights=[5, 1, 2, 1, 1], class_names=names), y4, {}),
        "binary": (*ensemble(n=200, k=2, seed=1, class_names=["nevus", "melanoma"]), {}),
        "one member": (ensemble(n=100, members=1, k=4)[0], None, {}),
        "one case": (*ensemble(n=1, k=5, seed=3), {}),
        "multilabel": (several, (rng.random((200, 6)) < p).astype(int), {}),
        "dirichlet": (lw.Dirichlet(alpha, class_names=list("abc")), rng.integers(0, 3, 150), {}),
        "unlabeled": (q4, None, {}),
        "unlabeled multilabel": (several, None, {}),
        "ordinal": (q4, y4, {"events": lw.events.ordinal(names)}),
        "events": (q4, y4, {"events": {"left": ["a", "b"], "right": ["c", "d"]}}),
        "ood": (q4, y4, {"ood": {"elsewhere": other}}),
    }


@pytest.mark.parametrize("kind", list(kinds()))
def test_displayed_numbers_are_the_librarys(kind, open_page) -> None:
    q, y, options = kinds()[kind]
    page = open_page(build_report(q, y_true=y, **options))
    events = options.get("events")
    for loss in LOSSES:
        choose(page, "measured by", loss, ".bar")
        u = lw.decompose(q, loss, events=events)
        total, epistemic = (getattr(u.sum(), part).mean() for part in ("total", "epistemic"))
        assert value(page, "selected.total") == pytest.approx(total, rel=1e-9)
        share = epistemic / total if total > 0 else 0
        assert value(page, "selected.epistemic_share") == pytest.approx(share, abs=1e-9)
    if y is None:
        assert page.locator("[data-key='selected.accuracy']").count() == 0
        return
    mean = q.mean()
    if y.ndim == 2:
        right = np.all((mean > 0.5) == y, axis=-1)
    else:
        right = mean.argmax(-1) == y
    assert value(page, "selected.accuracy") == pytest.approx(right.mean())
    assert value(page, "selected.accuracy.n") == right.sum()
    wrong = value(page, "policy.referred.wrong") + value(page, "policy.kept.wrong")
    assert wrong == np.sum(~right)
    choose(page, "measured by", "log", ".bar")
    u = lw.decompose(q, events=events)
    for k, name in enumerate(u.class_names):
        if page.locator(f"[data-key='table.{name}.total']").count():
            found = value(page, f"table.{name}.total")
            assert found == pytest.approx(u.total[:, k].mean(), abs=2e-3, rel=2e-3)


def test_numbers_do_not_depend_on_what_is_read_first(open_page) -> None:
    """A sum over what is not read yet must not be kept."""
    ecg = lw.demo.load_ecg_ensemble()
    right = np.all((ecg.ensemble.mean() > 0.5) == ecg.y_true, axis=-1)
    total = lw.decompose(ecg.ensemble).total.mean(axis=0)
    report = build_report(ecg.ensemble, y_true=ecg.y_true)
    for _ in range(3):
        page = open_page(report)
        wrong = value(page, "policy.referred.wrong") + value(page, "policy.kept.wrong")
        assert wrong == np.sum(~right)
        for k, name in enumerate(ecg.ensemble.class_names):
            found = value(page, f"table.{name}.total")
            assert found == pytest.approx(total[k], abs=2e-3)


def test_bundled_ensembles_show_the_librarys_numbers(open_page) -> None:
    clothes = lw.demo.load_fashion_ensemble()
    page = open_page(build_report(clothes.ensemble, y_true=clothes.y_true))
    u = lw.decompose(clothes.ensemble).sum()
    right = clothes.ensemble.mean().argmax(-1) == clothes.y_true
    assert value(page, "selected.accuracy") == pytest.approx(right.mean())
    assert value(page, "selected.total") == pytest.approx(u.total.mean())
    ecg = lw.demo.load_ecg_ensemble()
    page = open_page(build_report(ecg.ensemble, y_true=ecg.y_true))
    u = lw.decompose(ecg.ensemble).sum()
    assert value(page, "selected.total") == pytest.approx(u.total.mean())


def test_the_pages_own_arithmetic_is_the_librarys(clothes, open_page) -> None:
    q, _, report = clothes
    page = open_page(report)
    weights = np.array([0.4, 0.1, 0.2, 0.2, 0.1])
    probs = q.probs[:, :40]
    weighted = lw.Ensemble(probs, weights=weights)
    for loss in LOSSES:
        found = page.evaluate(
            """([probs, weights, loss]) => probs.map((one) => {
              const parts = labelwise.measures.decompose(one, 5, weights, loss);
              return ["total", "aleatoric", "epistemic"].map((part) => [...parts[part]]);
            })""",
            [probs.transpose(1, 0, 2).reshape(40, -1).tolist(), weights.tolist(), loss],
        )
        u = lw.decompose(weighted, loss)
        expected = np.stack([getattr(u, part) for part in PARTS], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    costs = lw.decisions.Costs(
        default=1, missed={"dress": 7.5}, false_alarm={"coat": 0.3}, abstain=0.55, ask=0.2,
        expert_error=0.12,
    )  # fmt: skip
    plan = lw.decisions.decide(q, costs, task="multiclass")
    table = report_costs(q, costs)
    found = page.evaluate(
        """([means, costs]) => means.map((mean) => labelwise.measures.chooseClass(mean, costs))""",
        [q.mean().tolist(), table],
    )
    np.testing.assert_allclose([x["cost"] for x in found], plan.expected_cost, atol=1e-12)
    assert [x["action"] for x in found] == plan.action.tolist()


def report_costs(q, costs) -> dict:
    given = build_report(q, costs=costs).data["costs"]
    return {
        "missed": list(given["missed"]),
        "alarm": list(given["alarm"]),
        "abstain": given["abstain"],
        "ask": given["ask"],
        "error": given["error"],
    }


def test_costs_are_empty_until_given_and_invalid_ones_decide_nothing(clothes, open_page) -> None:
    q, y, report = clothes
    page = open_page(report, hash="#refer=costs")
    assert page.locator("[data-key='selected.cost']").count() == 0
    given = lw.decisions.Costs(default=2, missed={"trouser": 20}, abstain=0.9)
    page = open_page(build_report(q, y_true=y, costs=given), hash="#refer=costs")
    plan = lw.decisions.decide(q, given, task="multiclass")
    assert value(page, "selected.cost") == pytest.approx(plan.expected_cost.mean(), abs=1e-4)
    page.locator("#policy input").first.fill("-3")
    page.keyboard.press("Tab")
    settle(page)
    assert "nonnegative" in page.locator("#policy").inner_text()
    assert page.locator("[data-key='selected.cost']").count() == 0


STATES = [
    "",
    "#truth=melanoma&pred=!melanoma&wrong=1&by=group&refer=each:0.2:epistemic&color=flagged",
    "#truth=nevus|melanoma&site=Köln&sort=-epistemic&cases=list&loss=squared",
    "#top=0.9..&wrong=1&or=group%3Dpatient-0042&not=site%3DBonn&x=top&y=right",
    "#case=scan-00471&without=seed-14&by=member",
    "#agree:seed-12=0&total=..1&refer=class:melanoma:0.9:p&rows=classes",
]


@pytest.mark.parametrize("state", STATES)
def test_state_address_and_reload_are_the_same(state, lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report, hash=state)
    before = page.evaluate("labelwise.state.value"), listed(page)
    assert not page.locator(".notice").count()
    page.evaluate("labelwise.go({ sort: 'top' }); history.back()")
    page.wait_for_function(
        "(expected) => JSON.stringify(labelwise.state.value) === expected",
        arg=json.dumps(before[0], separators=(",", ":"), ensure_ascii=False),
    )
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert (page.evaluate("labelwise.state.value"), listed(page)) == before
    written = page.evaluate("labelwise.writeHash(labelwise.state.value)")
    again = page.evaluate("(text) => labelwise.readHash('#' + text, () => true).state", written)
    assert again == before[0]


def test_a_click_replaces_shift_adds_alt_excludes_and_chips_remove(lesions, open_page) -> None:
    data, report = lesions
    page = open_page(report, width=1440)
    guess = data.probs.mean(0).argmax(-1)
    press(page, "matrix.melanoma.nevus")
    first = (data.y == 0) & (guess == 1)
    assert sorted(listed(page)) == np.flatnonzero(first).tolist()
    press(page, "matrix.nevus.melanoma", modifiers=["Shift"])
    both = first | ((data.y == 1) & (guess == 0))
    assert sorted(listed(page)) == np.flatnonzero(both).tolist()
    choose(page, "by", "site", "#table")
    press(page, "table.Bonn.n", modifiers=["Alt"])
    assert sorted(listed(page)) == np.flatnonzero(both & (data.site != "Bonn")).tolist()
    page.locator(".chip.out").click()
    assert sorted(listed(page)) == np.flatnonzero(both).tolist()
    page.go_back()
    assert len(listed(page)) == np.sum(both & (data.site != "Bonn"))
    page.locator("button:has-text('clear')").click()
    assert len(listed(page)) == len(guess)
    assert not page.evaluate("location.hash").startswith("#truth")


def test_a_member_is_switched_off(lesions, open_page) -> None:
    data, report = lesions
    page = open_page(report, hash="#by=member")
    page.locator("input[aria-label='Member seed-14']").click()
    settle(page)
    assert "without member seed-14" in page.locator("#sentence").inner_text()
    rest = lw.Ensemble(np.delete(data.probs, 3, axis=0))
    u = lw.decompose(rest).sum()
    right = rest.mean().argmax(-1) == data.y
    assert value(page, "selected.accuracy") == pytest.approx(right.mean(), abs=2e-3)
    assert value(page, "selected.total") == pytest.approx(u.total.mean(), abs=2e-3)
    share = u.epistemic.mean() / u.total.mean()
    assert value(page, "selected.epistemic_share") == pytest.approx(share, abs=2e-3)


def dropped(page, *files: tuple[str, bytes]) -> str:
    """Open files as dropping them does, and what the page says about them."""
    payload = [{"name": x, "mimeType": "", "buffer": data} for x, data in files]
    page.locator("#files").set_input_files(payload)
    page.wait_for_selector(".notice")
    settle(page)
    return page.locator(".notice").inner_text()


def test_a_dropped_table_is_joined_by_id(lesions, open_page) -> None:
    data, report = lesions
    page = open_page(report)
    ward = np.where(np.arange(len(data.y)) % 2, "north", "south")
    lines = [f"{name},{w}" for name, w in zip(data.ids, ward, strict=True)]
    text = "\n".join(["image,ward", *reversed(lines[:-1])])
    assert "ward" in dropped(page, ("wards.csv", text.encode()))
    choose(page, "by", "ward", "#table")
    press(page, "table.north.n")
    expected = np.flatnonzero(ward[:-1] == "north")
    assert sorted(listed(page)) == expected.tolist()


def test_dropped_predictions_give_the_members_of_every_case(open_page, tmp_path, monkeypatch):
    from labelwise.report import members

    monkeypatch.setattr(members, "NUMBERS", 400)
    monkeypatch.setattr("labelwise.report.cases.NUMBERS", 400)
    q, y = ensemble(n=200, k=4, class_names=list("abcd"))
    report = build_report(q, y_true=y)
    page = open_page(report, hash="#sort=total")
    shape = report.data["blocks"]["members"]["shape"]
    assert shape[0] <= 20
    for name in ("probs.npy", "preds.npz"):
        path = tmp_path / name
        if name.endswith("npy"):
            np.save(path, q.probs)
        else:
            np.savez(path, probs=q.probs, y_true=y)
        dropped(page, (name, path.read_bytes()))
        i = 123
        page.evaluate("labelwise.go({ case: '#124' })")
        settle(page)
        page.wait_for_function("() => document.querySelectorAll('#case .dots').length > 0")
        k = int(q.mean()[i].argmax())
        mean = value(page, f"case.{'abcd'[k]}.mean")
        assert mean == pytest.approx(q.mean()[i, k], abs=1e-9)
        page.reload()
        page.wait_for_selector("html[data-ready]")


OBJECTS = (
    b"\x93NUMPY\x01\x00\x46\x00"
    + b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }".ljust(69)
    + b"\n"
)
HOSTILE_FILES = [
    ("cut.npz", b"PK\x03\x04" + b"\0" * 30),
    ("empty.npz", b""),
    ("lies.npy", b"\x93NUMPY\x01\x00\xff\xff{'descr': '<f8'"),
    ("objects.npy", OBJECTS),
    ("table.csv", b"id,x\n\"1,<img src=x onerror=alert(1)>\n"),
    ("other.csv", b"id,x\nno such id,1\n"),
    ("<b>x</b>.txt", b"\xff\xfe\x00binary"),
]  # fmt: skip


def test_damaged_files_have_a_sentence_and_change_nothing(lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report)
    page.on("dialog", lambda _: pytest.fail("something was executed"))
    before = page.evaluate("labelwise.state.value")
    for name, content in HOSTILE_FILES:
        said = dropped(page, (name, content))
        assert len(said) > 15, name
        assert "undefined" not in said, name
        page.locator(".notice button").click()
    assert page.evaluate("labelwise.state.value") == before
    assert len(listed(page)) == 1500
    html = "id,<img src=x onerror=alert(1)>\n" + "\n".join(
        f"scan-{i:05d},<script>alert({i % 3})</script>" for i in range(1500)
    )
    dropped(page, ("html.csv", html.encode()))
    name = "<img src=x onerror=alert(1)>"
    choose(page, "by", name, "#table")
    assert "<script>alert(1)</script>" in page.locator("#table").inner_text()
    assert page.locator("main script, main img[src=x]").count() == 0


HOSTILE = [
    "<script>alert(1)</script>",
    "שלום עולם \u202eabc",
    "👩‍🔬🔥",
    "x" * 300,
    "a & b \"quoted\" 'single' \\",
    "new\nline\ttab\x7f\x01",
    "</script><!--",
    "a|b!c=d&e",
]


def test_hostile_names_are_text(open_page) -> None:
    q, y = ensemble(n=120, k=8, class_names=HOSTILE)
    ids = np.array([f"<b>{i}</b> 👾 שלום" for i in range(120)])
    title = "<img src=x onerror=alert(1)> & Co"
    report = build_report(
        q, y_true=y, ids=ids, title=title, ood={"<script>": q}, metadata={"<i>": list(ids)}
    )
    page = open_page(report, width=390)
    page.on("dialog", lambda _: pytest.fail("something was executed"))
    assert page.locator("h1").inner_text() == title
    assert page.title().startswith(title)
    assert page.locator("main b, main i, main img[src=x], main script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    guess = q.mean().argmax(-1)
    for k, name in enumerate(HOSTILE):
        count = np.sum((y == k) & (guess == k))
        if not count:
            continue
        page.evaluate(
            "(name) => labelwise.go({ terms: [{ add: true, filters: ["
            "{ key: 'truth', values: [name], not: false }, "
            "{ key: 'pred', values: [name], not: false }] }] })",
            name,
        )
        assert len(listed(page)) == count
        page.reload()  # through the address
        page.wait_for_selector("html[data-ready]")
        assert len(listed(page)) == count, name


def test_policy_lets_nothing_in_or_out(clothes, browser, tmp_path) -> None:
    _, _, report = clothes
    path = tmp_path / "report.html"
    path.write_text(
        report.html.replace(
            '<div id="app">',
            "<img src=x onerror='window.stolen=1'><script>window.stolen=2</script><div id='app'>",
        )
    )
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    refused = page.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    assert refused == "refused"
    assert page.evaluate("window.stolen === undefined")
    context.close()


def test_few_elements_for_many_classes_and_cases(open_page) -> None:
    k = 400
    q, y = ensemble(n=2000, k=k, sharpness=50, members=2)
    page = open_page(build_report(Predictions(q=q, y_true=y)), width=1440)
    assert page.evaluate("document.querySelectorAll('*').length") <= 3000
    page.locator("#matrix input.find").fill("39")
    settle(page)
    assert page.locator("#matrix tbody tr").count() >= 10
    assert page.evaluate("document.querySelectorAll('*').length") <= 3000


def saved(page, text: str) -> str:
    """The file that an entry of the menu Export saves."""
    page.locator("summary:has-text('Export')").click()
    with page.expect_download() as download:
        page.locator(f"button:has-text({text!r})").click()
    return download.value.path().read_text(encoding="utf-8")


def test_cases_without_ids_are_exported_by_their_numbers(open_page, monkeypatch) -> None:
    """Also where the page holds a sample of them."""
    monkeypatch.setattr("labelwise.report.cases.MAX_ROWS", 120)
    q, y = ensemble(n=600, k=3)
    page = open_page(build_report(q, y_true=y), width=1440)
    page.evaluate("labelwise.go({ terms: labelwise.readHash('#wrong=1', () => true).state.terms })")
    settle(page)
    header, *lines = saved(page, "table of the selection").splitlines()
    assert header.startswith("row,predicted,truth,")
    numbers = np.array([int(line.split(",")[0]) for line in lines])
    assert len(numbers) == len(listed(page)) > 0
    assert np.all(q.mean().argmax(-1)[numbers - 1] != y[numbers - 1])
    page.locator("#case input").first.fill("check")
    page.keyboard.press("Tab")
    assert saved(page, "tags and notes") == f"row,tag,note\n{numbers[0]},check,\n"
    page.evaluate("labelwise.go({ terms: [], case: '' })")
    settle(page)
    header, *lines = saved(page, "table of the selection").splitlines()
    held = {int(line.split(",")[0]) for line in lines}
    absent = next(i for i in range(1, 601) if i not in held)
    page.evaluate("(name) => labelwise.go({ case: name })", f"#{absent}")
    assert page.locator("#case-title").inner_text() == "There is no such case."


def test_exports(lesions, open_page, tmp_path) -> None:
    data, report = lesions
    page = open_page(report, width=1440)
    press(page, "table.melanoma.missed")
    rows = listed(page)
    lines = saved(page, "table of the selection").splitlines()
    assert len(lines) == len(rows) + 1
    assert lines[0].startswith("id,predicted,truth,")
    assert [line.split(",")[0] for line in lines[1:]] == data.ids[rows].tolist()
    # also of columns that nothing has shown yet
    first = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert first["site"] == data.site[rows[0]]
    assert abs(float(first["age"]) - data.age[rows[0]]) <= 2
    assert saved(page, "matrix (.svg)").startswith("<svg")
    page.locator("#case input").first.fill("check")
    page.keyboard.press("Tab")
    tags = saved(page, "tags and notes")
    assert data.ids[rows[0]] in tags
    assert "check" in tags
    path = tmp_path / "tags.csv"
    path.write_text(tags, encoding="utf-8")
    again = open_page(report, width=1440)
    assert "tags and notes" in dropped(again, ("tags.csv", path.read_bytes()))
    name = data.ids[rows[0]]
    again.evaluate("(id) => labelwise.go({ case: id })", name)
    assert again.locator("#case input").first.input_value() == "check"


def test_the_selection_as_python_is_the_selection(
    lesions, open_page, tmp_path, monkeypatch
) -> None:
    data, report = lesions
    monkeypatch.chdir(tmp_path)
    given = data.predictions
    np.savez(
        "predictions.npz", probs=data.probs, ids=data.ids, class_names=np.array(data_names(given))
    )
    page = open_page(report, hash="#truth=melanoma&wrong=1", permissions=["clipboard-read"])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary:has-text('Export')").click()
    page.locator("button:has-text('as Python')").click()
    page.wait_for_selector(".notice")
    code = page.evaluate("navigator.clipboard.readText()")
    names: dict = {}
    exec(code, names)
    assert list(names["rows"]) == listed(page)
    assert names["q"].probs.shape[1] == len(names["rows"])


def data_names(given: Predictions) -> list[str]:
    return list(given.class_names or ())
