"""Every kind of prediction gives a sensible page that agrees with the library."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.report import build_report
from report_pages import LOSSES, PARTS, check_plan, costs_of, ensemble, rounded, value, values

GRADES = ["none", "mild", "moderate", "severe"]
HOSTILE = [
    "<script>alert(1)</script>",
    "שלום עולם \u202eabc",
    "👩‍🔬🔥",
    "x" * 300,
    "a & b \"quoted\" 'single' \\",
    "new\nline\ttab\x7f\x01",
    "</script><!--",
    "{} ${1} %s",
]


def sides(n: int):
    """A distribution with labels and options for each kind of page."""
    rng = np.random.default_rng(3)
    weights = np.array([0.5, 0.1, 0.2, 0.1, 0.1])
    q4, y4 = ensemble(n=n, k=4, seed=4, class_names=GRADES)
    p = rng.beta(0.4, 1.2, (n, 6))
    several = lw.MultiLabelEnsemble(
        np.clip(p + rng.normal(0, 0.15, (5, n, 6)), 0, 1), class_names=list("abcdef")
    )
    q2, y2 = ensemble(n=n, k=2, seed=1, class_names=["nevus", "melanoma"])
    return {
        "two": (q2, y2, {}),
        "three": (*ensemble(n=n, k=3, seed=2), {}),
        "one case": (*ensemble(n=1, k=5, seed=3), {}),
        "one member, no truth": (ensemble(n=n, members=1, k=4)[0], None, {}),
        "weighted by case": (
            lw.Ensemble(q4.probs, weights=rng.random((5, n)), class_names=GRADES),
            y4,
            {},
        ),
        "several": (several, (rng.random((n, 6)) < p).astype(int), {}),
        "weighted, ordinal": (
            lw.Ensemble(q4.probs, weights=weights, class_names=GRADES),
            y4,
            {"events": lw.events.ordinal(GRADES)},
        ),
        "groups": (
            q4,
            y4,
            {"events": {"ill": GRADES[1:], "bad": ["severe"], "not severe": GRADES[:3]}},
        ),
        "pairs": (q4, y4, {"events": lw.events.one_vs_one(GRADES)}),
    }


@pytest.mark.parametrize("kind", list(sides(2)))
def test_page_agrees_with_the_library(kind, open_page, tmp_path) -> None:
    q, y, options = sides(60)[kind]
    report = build_report(q, y_true=y, **options)
    page = open_page(report)
    r = rounded(report, q)
    events = options.get("events")
    n = len(q.mean())
    for loss in LOSSES:
        page.select_option("#loss", loss)
        page.select_option("#rule", "everywhere")
        u, exact = (lw.decompose(x, loss, events=events) for x in (r, q))
        names = page.locator("#classes tbody th").all_text_contents()
        order = [exact.class_names.index(name) for name in names]
        for part in PARTS:
            found = np.array(
                page.evaluate(f"Array.from(labelwise.view.components().labels.{part})")
            ).reshape(n, -1)
            np.testing.assert_allclose(found, getattr(u, part), atol=1e-10)
            mean = getattr(exact, part).mean(axis=0)
            np.testing.assert_allclose(
                values(page, f"class-{part}"), mean[order], rtol=1e-9, atol=1e-15
            )
    assert page.locator("#rejection").is_visible() == (n > 1)
    triangles = page.locator("#detail .simplex").count()
    assert triangles == (q.n_classes == 3)  # three classes only
    task = page.locator("#task").input_value()
    assert task == ("per_label" if isinstance(q, lw.MultiLabelEnsemble) else "multiclass")
    page.locator("#costs input[data-kind=missed][data-class='1']").fill("4")
    check_plan(page, r, None if y is None else np.asarray(y), costs_of(page, tmp_path), task)


def test_many_classes(open_page) -> None:
    k = 120
    q, y = ensemble(n=40, k=k, sharpness=50)
    report = build_report(q, y_true=y)
    page = open_page(report, width=800)
    assert page.locator("#classes tbody tr").count() == 20
    page.locator("#classes-more button").click()
    assert page.locator("#classes tbody tr").count() == k
    page.locator("#class-search").fill("77")
    assert page.locator("#classes tbody tr").count() == sum("77" in str(i) for i in range(k))
    page.locator("#cost-search").fill("99")
    page.locator("#costs input[data-kind=missed][data-class='99']").fill("12")
    page.locator("#costs input[data-kind=alarm][data-class='99']").fill("1")
    matrix = 1 - np.eye(k)
    matrix[99], matrix[:, 99] = 12 * (matrix[99] > 0), 2.0
    matrix[99, 99] = 0
    costs = lw.decisions.Costs(matrix, abstain=0.34, ask=0.3, expert_error=0.05)
    check_plan(page, rounded(report, q), y, costs, "multiclass")
    assert page.locator("#detail tbody tr").count() <= 14
    page.locator("#detail button", has_text="Show all").click()
    assert page.locator("#detail tbody tr").count() == k
    assert page.evaluate("document.documentElement.scrollWidth") <= 800


def test_hostile_names_are_text(open_page, tmp_path) -> None:
    width = 360  # where they have the least room
    q, y = ensemble(n=60, k=8, class_names=HOSTILE)
    ids = np.array([f"<b>{i}</b> 👾 שלום" for i in range(60)])
    title = "<img src=x onerror=alert(1)> & Co"
    report = build_report(q, y_true=y, ids=ids, title=title, ood={"<script>": q})
    page = open_page(report, width=width)
    page.on("dialog", lambda dialog: pytest.fail("something was executed"))
    assert sorted(page.locator("#classes tbody th").all_text_contents()) == sorted(HOSTILE)
    assert title in page.locator("#lead").inner_text()
    assert page.title().startswith(title)
    page.locator("#id-search").fill("<b>17</b>")
    assert page.locator("#cases .case-id").all_text_contents() == [ids[17]]
    assert page.locator("main b, main img[src=x]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert costs_of(page, tmp_path).class_names == tuple(HOSTILE)
    page.select_option("#task", "per_label")
    check_plan(page, rounded(report, q), y, costs_of(page, tmp_path), "per_label")


def test_endless_names_do_not_stop_the_page(open_page, tmp_path) -> None:
    k = 30
    names = [f"{i} " + "lung 👩‍🔬 " * 1200 for i in range(k)]
    ids = np.array([f"{i} " + "y" * 10_000 for i in range(40)])
    q, y = ensemble(n=40, k=k, class_names=names)
    page = open_page(build_report(q, y_true=y, ids=ids, title="t" * 10_000, ood={"z" * 10_000: q}))
    # laying text out is what takes time: no piece of it may be longer than a few lines, and all of
    # it must stay small
    longest = page.evaluate("""() => {
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      let most = 0;
      while (walk.nextNode()) if (!walk.currentNode.parentElement.closest("script, style, textarea")) most = Math.max(most, walk.currentNode.data.length);
      for (const x of document.querySelectorAll("[title], [aria-label]")) most = Math.max(most, (x.title ?? "").length, (x.getAttribute("aria-label") ?? "").length);
      return most;
    }""")  # noqa: E501
    assert longest <= 2002
    first = page.locator("#classes tbody th .name").first
    assert first.text_content().endswith("…")
    assert first.get_attribute("title").startswith(first.text_content()[:-1])
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    page.locator("#id-search").fill("17 yy")
    assert page.locator("#cases .case").count() == 1
    assert costs_of(page, tmp_path).class_names == tuple(
        names
    )  # what `labelwise decide` reads must have the names in full


def test_a_continuous_distribution_shows_its_own_numbers(open_page, axe) -> None:
    rng = np.random.default_rng(0)
    q = lw.Dirichlet(
        rng.gamma(0.7, 3, (80, 3)) + 0.05, class_names=["lung", "lymphoma", "melanoma"]
    )
    y = rng.integers(0, 3, 80)
    page = open_page(build_report(q, y_true=y))
    for loss in LOSSES:
        page.select_option("#loss", loss)
        u = lw.decompose(q, loss)
        for part in PARTS:
            found = np.array(
                page.evaluate(f"Array.from(labelwise.view.components().labels.{part})")
            ).reshape(80, 3)
            np.testing.assert_allclose(found, getattr(u, part), atol=3e-5)
            assert value(page, part, "#cards") == pytest.approx(
                getattr(u.sum(), part).mean(), rel=1e-9
            )
    costs = lw.decisions.Costs(1 - np.eye(3), abstain=0.34, ask=0.3, expert_error=0.05)
    plan = lw.decisions.decide(q, costs, task="multiclass")
    assert value(page, "expected-cost") == pytest.approx(plan.expected_cost.mean(), abs=1e-4)
    assert value(page, "value-of-label") == pytest.approx(plan.value_of_label.mean(), abs=1e-4)
    assert value(page, "value-of-knowledge") == pytest.approx(
        plan.value_of_knowledge.mean(), abs=0.03
    )
    assert "draws" in page.locator("#plan").inner_text()
    assert page.locator("#detail .simplex circle").count() == 16
    axe(page)


def test_larger_inputs_are_sampled_and_the_page_says_so(open_page) -> None:
    q, y = ensemble(n=400, k=4)
    report = build_report(q, y_true=y, max_instances=150)
    page = open_page(report)
    assert report.n_shown == 150
    assert "random sample of 150 of the 400 cases" in page.locator("#explorer-intro").inner_text()
    assert "sample of 150" in page.locator("#reject-note").inner_text()
    assert "random sample of 150" in page.locator("#methods").inner_text()
    assert value(page, "accuracy") == pytest.approx(np.mean(q.mean().argmax(-1) == y))
    ids = [int(text.lstrip("#")) for text in page.locator("#cases .case-id").all_text_contents()]
    assert max(ids) > 150
    total = value(page, "total-cost")
    assert total == pytest.approx(400 * value(page, "expected-cost"))
