"""The page in a real browser: every control, the library's numbers, the keyboard, narrow and dark
screens, accessibility.
"""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from labelwise.report import build_report
from report_pages import LOSSES, PARTS, check_plan, costs_of, ensemble, rounded, value, values


def test_page_computes_and_shows_the_librarys_numbers(clothes, open_page) -> None:
    q, y, report = clothes
    page = open_page(report)
    r = rounded(report, q)  # what the page computes with
    assert value(page, "accuracy") == pytest.approx(np.mean(q.mean().argmax(-1) == y))
    for loss in LOSSES:
        page.select_option("#loss", loss)
        u, ours = lw.decompose(q, loss), lw.decompose(r, loss)
        for part in PARTS:
            assert value(page, part, "#cards") == pytest.approx(
                getattr(u.sum(), part).mean(), rel=1e-9
            )
            found = np.array(
                page.evaluate(f"Array.from(labelwise.view.components().labels.{part})")
            ).reshape(300, 5)
            np.testing.assert_allclose(found, getattr(ours, part), atol=2e-12)
            gap = np.max(np.abs(found - getattr(u, part)))
            assert gap <= report.data["sample"]["error"][loss] + 1e-12
            sums = np.array(page.evaluate(f"Array.from(labelwise.view.components().sums.{part})"))
            np.testing.assert_allclose(sums, getattr(ours.sum(), part), atol=1e-11)
        by = lw.evaluation.by_class(u, y)
        for rule in ("own", "everywhere"):
            page.select_option("#rule", rule)
            expected = getattr(by, rule).total.value
            np.testing.assert_allclose(
                values(page, "class-total"), np.sort(expected)[::-1], rtol=1e-9
            )
            names = page.locator("#classes tbody th").all_text_contents()
            assert names == [q.class_names[k] for k in np.argsort(-expected)]
            order = [q.class_names.index(name) for name in names]
            np.testing.assert_allclose(
                values(page, "class-epistemic"), getattr(by, rule).epistemic.value[order], rtol=1e-9
            )


def test_class_table_sorts_and_detection_has_its_numbers(clothes, open_page) -> None:
    _, _, report = clothes
    page = open_page(report)
    found = report.data["detection"][0]["losses"]["log"]
    assert values(page, "auroc") == pytest.approx([found[part]["auroc"] for part in PARTS])
    page.select_option("#detect-part", "total")
    assert "AUROC" in page.locator("#detect-chart svg").first.get_attribute("aria-label")
    button = page.locator("#classes thead button", has_text="Epistemic share")
    button.click()
    assert page.locator("#classes th[aria-sort]").inner_text().startswith("Epistemic share")
    shares = values(page, "class-epistemic") / values(page, "class-total")
    assert np.all(np.diff(shares) <= 0)
    page.locator("#classes thead button", has_text="Epistemic share").click()
    shares = values(page, "class-epistemic") / values(page, "class-total")
    assert np.all(np.diff(shares) >= 0)
    page.locator("#classes thead button", has_text="Class").click()
    names = page.locator("#classes tbody th").all_text_contents()
    assert names == sorted(names, key=str.lower)


def test_slider_rejects_the_most_uncertain(clothes, open_page) -> None:
    q, y, report = clothes
    page = open_page(report)
    r = rounded(report, q)
    correct = q.mean().argmax(-1) == y
    for loss, part, percent in (
        ("log", "total", 20),
        ("squared", "epistemic", 35.5),
        ("zero_one", "aleatoric", 0),
        ("log", "epistemic", 99.5),
    ):
        page.select_option("#loss", loss)
        page.select_option("#reject-part", part)
        page.locator("#reject").fill(str(percent))
        curve = lw.evaluation.rejection_curve(
            getattr(lw.decompose(q, loss).sum(), part), correct=correct
        )
        assert value(page, "rejection-value") == pytest.approx(
            curve.value[int(300 * percent / 100 + 1e-9)], rel=1e-9
        )
        score = getattr(lw.decompose(r, loss).sum(), part)
        number = min(int(300 * percent / 100 + 1e-9), 299)
        out = np.argsort(-score, kind="stable")[:number]
        if len(np.unique(score[out])) == number:  # without ties it is a count, else an expectation
            assert value(page, "rejected-wrong") == pytest.approx(np.sum(~correct[out]), abs=1e-6)
            assert values(page, "rejected-count").sum() == pytest.approx(number)


def test_sets_table(open_page) -> None:
    q, y = ensemble(n=400, k=4, class_names=["shirt", "coat", "dress", "boot"])
    fitted = lw.sets.fit_sets(q[:250], y[:250], coverage=0.8)
    page = open_page(build_report(q[250:], y_true=y[250:], sets=fitted))
    found = fitted.evaluate(q[250:], y[250:])
    assert values(page, "set-coverage") == pytest.approx([row.coverage for row in found.rows])
    assert values(page, "set-size").tolist() == [n for n in found.size_counts if n]
    assert page.locator("#sets-intro").inner_text() == fitted.guarantee


def test_explorer_sorts_and_filters_and_shows_each_case(clothes, open_page) -> None:
    q, y, report = clothes
    page = open_page(report)
    r = rounded(report, q)
    u, guess = lw.decompose(r), q.mean().argmax(-1)

    def listed():
        return [
            int(text.lstrip("#")) for text in page.locator("#cases .case-id").all_text_contents()
        ]

    assert listed() == np.argsort(-u.sum().epistemic, kind="stable")[:24].tolist()
    page.select_option("#sort", "aleatoric")
    page.select_option("#about", "3")
    page.select_option("#order", "up")
    assert listed() == np.argsort(u.aleatoric[:, 3], kind="stable")[:24].tolist()
    page.select_option("#sort", "top")
    page.select_option("#predicted", "2")
    page.select_option("#right", "wrong")
    fits = np.flatnonzero((guess == 2) & (y != 2))
    expected = fits[np.argsort(r.mean()[fits].max(-1), kind="stable")]
    assert listed() == expected[:24].tolist()
    page.select_option("#predicted", "")
    page.select_option("#truth", "4")
    page.select_option("#sort", "position")
    assert listed() == np.flatnonzero((y == 4) & (guess != 4))[:24].tolist()
    page.select_option("#right", "")
    page.select_option("#truth", "")
    page.locator("#id-search").fill("29")
    assert listed() == [i for i in range(300) if "29" in str(i)]
    page.locator("#id-search").fill("no such")
    assert "No case matches" in page.locator("#found").inner_text()
    page.locator("#id-search").fill("")
    page.locator("#next-page").click()
    assert listed() == list(range(24, 48))
    page.locator("#previous-page").click()
    assert listed() == list(range(24))
    # one case in detail
    page.select_option("#sort", "position")
    page.select_option("#order", "up")
    page.locator("#cases .case").nth(7).click()
    assert "#7" in page.locator("#detail-title").inner_text()
    np.testing.assert_allclose(values(page, "label-total"), np.sort(u.total[7])[::-1], atol=1e-11)
    order = np.argsort(-u.total[7])
    np.testing.assert_allclose(values(page, "label-epistemic"), u.epistemic[7][order], atol=1e-11)
    np.testing.assert_allclose(values(page, "label-mean"), r.mean()[7][order], atol=1e-12)
    votes = np.bincount(r.probs[:, 7].argmax(-1))
    assert sorted(values(page, "votes")) == sorted(votes[votes > 0])
    assert page.locator("#detail img.picture").get_attribute("src").startswith("data:image/png")
    page.locator("#next-case").click()
    assert "#8" in page.locator("#detail-title").inner_text()
    page.locator("#previous-case").click()
    assert "#7" in page.locator("#detail-title").inner_text()


def test_decisions_change_as_the_librarys_do_and_wrong_costs_change_nothing(
    clothes, open_page, tmp_path
) -> None:
    q, y, report = clothes
    page = open_page(report)
    r = rounded(report, q)
    before = value(page, "expected-cost")
    page.locator("#costs input[data-kind=missed][data-class='0']").fill("-3")
    assert "nonnegative" in page.locator("#cost-error").inner_text()
    assert value(page, "expected-cost") == before
    page.locator("#costs input[data-kind=missed][data-class='0']").fill("1")
    assert page.locator("#cost-error").inner_text() == ""
    page.locator("#expert-error").fill("100")
    assert "below 100" in page.locator("#cost-error").inner_text()
    page.locator("#reset").click()
    assert page.locator("#cost-error").inner_text() == ""
    check_plan(page, r, y, costs_of(page, tmp_path), "multiclass")
    page.locator("#costs input[data-kind=missed][data-class='2']").fill("7.5")
    page.locator("#costs input[data-kind=alarm][data-class='0']").fill("0.3")
    page.locator("#abstain").fill("0.55")
    page.locator("#ask").fill("0.2")
    page.locator("#expert-error").fill("12")
    costs = costs_of(page, tmp_path)
    assert costs.matrix[2, 0] == pytest.approx(7.8)
    assert costs.matrix[0, 0] == 0
    check_plan(page, r, y, costs, "multiclass")
    assert page.locator("#costs input[data-kind=missed][data-class='-1']").input_value() == ""
    page.locator("#costs input[data-kind=alarm][data-class='-1']").fill("2")
    page.locator("#abstain").fill("")
    check_plan(page, r, y, costs_of(page, tmp_path), "multiclass")
    page.locator("#ask").fill("")
    costs = costs_of(page, tmp_path)
    assert costs.ask is None
    assert costs.abstain is None
    check_plan(page, r, y, costs, "multiclass")
    page.select_option("#task", "per_label")
    page.locator("#costs input[data-kind=missed][data-class='1']").fill("20")
    page.locator("#abstain").fill("0.3")
    page.locator("#ask").fill("0.1")
    costs = costs_of(page, tmp_path)
    assert list(costs.missed.values()) == [1, 20, 1, 1, 1]
    check_plan(page, r, y, costs, "per_label")
    page.locator("#reset").click()
    assert page.locator("#costs input[data-kind=missed][data-class='1']").input_value() == "1"


def test_the_page_starts_with_the_costs_it_was_given(clothes, open_page, tmp_path) -> None:
    q, y, _ = clothes
    given = lw.decisions.Costs(
        default=2,
        missed={q.class_names[1]: 20},
        false_alarm={q.class_names[0]: 0.5},
        ask=0.9,
        expert_error=0.07,
    )
    report = lw.report.build_report(q, y_true=y, costs=given)
    page = open_page(report)
    for _ in range(2):
        costs = costs_of(page, tmp_path)
        np.testing.assert_allclose(
            costs.matrix, given.problem("multiclass", q.n_classes, q.class_names)[0].table
        )
        assert (costs.ask, costs.abstain) == (0.9, None)
        assert costs.expert_error == pytest.approx(0.07)
        check_plan(page, rounded(report, q), y, given, "multiclass")
        page.locator("#ask").fill("3")
        page.locator("#costs input[data-kind=missed][data-class='1']").fill("4")
        page.locator("#reset").click()  # back to the given costs
    page.select_option("#task", "per_label")
    check_plan(page, rounded(report, q), y, given, "per_label")


def test_cases_by_decision_and_by_what_knowing_more_is_worth(clothes, open_page, tmp_path) -> None:
    q, _, report = clothes
    page = open_page(report)
    costs = costs_of(page, tmp_path)
    plan = lw.decisions.decide(rounded(report, q), costs, task="multiclass")

    def listed():
        return [
            int(text.lstrip("#")) for text in page.locator("#cases .case-id").all_text_contents()
        ]

    for key, expected in (
        ("cost", plan.expected_cost),
        ("answer", plan.value_of_label),
        ("knowledge", plan.value_of_knowledge),
    ):
        page.select_option("#sort", key)
        np.testing.assert_allclose(expected[listed()], np.sort(expected)[::-1][:24], atol=1e-9)
    page.select_option("#sort", "position")
    page.select_option("#order", "up")
    page.select_option("#decision", "ask")
    assert listed() == np.flatnonzero(plan.action == lw.decisions.ASK)[:24].tolist()
    page.locator("#ask").fill("9")  # the list follows the costs
    page.locator("#abstain").fill("0.2")
    assert listed() == []
    page.select_option("#decision", "abstain")
    plan = lw.decisions.decide(rounded(report, q), costs_of(page, tmp_path), task="multiclass")
    assert listed() == np.flatnonzero(plan.action == lw.decisions.ABSTAIN)[:24].tolist()


def test_everything_works_with_the_keyboard_alone(clothes, open_page) -> None:
    _, _, report = clothes
    page = open_page(report)
    reached = []
    for _ in range(140):
        page.keyboard.press("Tab")
        here = page.evaluate(
            "(() => { const e = document.activeElement; return e.id || e.dataset.kind || "
            "e.getAttribute('href') || e.className || e.tagName; })()"
        )
        reached.append(here)
        if here == "loss":
            page.keyboard.press("ArrowDown")
            assert page.locator("#loss").input_value() == "squared"
        if here == "reject":
            page.keyboard.press("ArrowRight")
            assert page.locator("#reject-share").inner_text() == "20.5\u00a0%"
        if here == "case" and reached.count("case") == 1:
            first = page.locator("#detail-title").inner_text()
            page.keyboard.press("ArrowDown")
            assert page.locator("#detail-title").inner_text() != first
            page.keyboard.press("ArrowUp")
            assert page.locator("#detail-title").inner_text() == first
        if here == "abstain":
            page.keyboard.type("9")
        if here == "bibtex":
            break
    assert {
        "#main",
        "#overview",
        "loss",
        "rule",
        "reject",
        "detect-set",
        "sort",
        "case",
        "next-case",
        "task",
        "abstain",
        "missed",
        "copy",
        "bibtex",
    } <= set(reached)
    assert page.locator("#abstain").input_value().endswith("9")


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 360)])
def test_axe_finds_no_serious_violation_and_nothing_scrolls_sideways(
    clothes, open_page, axe, dark, width
) -> None:
    _, _, report = clothes
    page = open_page(report, dark=dark, width=width, has_touch=width == 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    if width == 360:
        page.locator("#cases .case").nth(3).tap()
        assert page.evaluate("document.activeElement.id") == "detail"
    page.evaluate("document.querySelector('details').open = true")
    axe(page)


def test_policy_lets_nothing_in_or_out(clothes, browser, tmp_path) -> None:
    _, _, report = clothes
    path = tmp_path / "report.html"
    path.write_text(
        report.html.replace(
            "</main>",
            "<img src=x onerror='window.stolen=1'><script>window.stolen=2</script></main>",
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


def test_members_check_and_sources(open_page) -> None:
    rng = np.random.default_rng(0)
    z = (
        rng.normal(size=(1, 1, 60, 3))
        + 0.6 * rng.normal(size=(4, 1, 60, 3))
        + 0.2 * rng.normal(size=(4, 4, 60, 3))
    )
    factors = {"prompt": np.repeat(list("abcd"), 4), "model": np.tile(list("wxyz"), 4)}
    q = lw.Ensemble.from_logits(z.reshape(16, 60, 3), factors=factors)
    page = open_page(build_report(q))
    means = lw.decompose(q).sources(rng=0).means
    expected = np.concatenate(
        [means.sum(axis=1)[:, None] / means.sum(), means / means.sum(axis=0)], axis=1
    )
    assert values(page, "source-share") == pytest.approx(expected.T.ravel())
    assert (
        "More than chance (permutation test, 5 % level): prompt."
        in page.locator("#sources-intro").inner_text()
    )
    assert "No faults found in 16 members." in page.locator("#findings").inner_text()
    broken = lw.Ensemble(
        q.probs[:15][[*range(14), 0]],
        factors={"prompt": factors["prompt"][:15], "model": factors["model"][:15]},
    )
    page = open_page(build_report(broken))
    assert (
        "completely crossed: 1 cell of 16 has no member"
        in page.locator("#sources-intro").inner_text()
    )
    assert "Members 0 and 14 are identical." in page.locator("#findings .warning").inner_text()
