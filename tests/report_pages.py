"""What the tests of the report page share: predictions to show, and how to read the page and
compare it with the library.
"""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
from scipy.stats import norm

import labelwise as lw
from labelwise.report.embed import restore_quantized

PARTS = ("total", "aleatoric", "epistemic")
LOSSES = ("log", "squared", "spherical", "zero_one")


def ensemble(n=300, members=5, k=5, seed=0, class_names=None, sharpness=20.0):
    """A plausible ensemble and labels drawn from its truth."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(k, 0.3), n)
    probs = np.stack([rng.dirichlet(0.05 + sharpness * t, members) for t in theta], axis=1)
    y = np.array([rng.choice(k, p=t) for t in theta])
    return lw.Ensemble(probs, class_names=class_names, member_axis=0), y


def rounded(report, q):
    """The ensemble that the page computes with."""
    s = report.data["sample"]
    codes = np.frombuffer(base64.b64decode(s["probs"]), "<u2").reshape(s["n"], s["m"], -1)
    probs = restore_quantized(codes, normalize=not report.data["multilabel"]).transpose(1, 0, 2)
    return type(q)(probs, weights=q.weights, member_axis=0, class_names=q.class_names)


def value(page, key, within=""):
    return float(page.locator(f"{within} [data-key='{key}']").first.get_attribute("data-value"))


def values(page, key, within=""):
    found = page.eval_on_selector_all(
        f"{within} [data-key='{key}']", "all => all.map(x => x.dataset.value)"
    )
    return np.array([np.nan if x == "" else float(x) for x in found])


def costs_of(page, tmp_path):
    """The costs as copied from the page, read as `labelwise decide` reads them."""
    page.locator("#copy").click()
    page.wait_for_selector("#copied:not(:empty)")
    path = tmp_path / "costs.toml"
    path.write_text(page.locator("#toml").input_value(), encoding="utf-8")
    return lw.decisions.Costs.from_toml(path)


def check_plan(page, q, y, costs, task) -> None:
    """The decisions on the page are the library's."""
    plan = lw.decisions.decide(q, costs, task=task)
    found = {
        key: np.array(page.evaluate(f"Array.from(labelwise.planner.plan.{key})"))
        for key in ("action", "cost", "answer", "knowledge")
    }
    shape = plan.action.shape
    np.testing.assert_allclose(found["cost"].reshape(shape), plan.expected_cost, atol=1e-9)
    np.testing.assert_allclose(found["answer"].reshape(shape), plan.value_of_label, atol=1e-9)
    np.testing.assert_allclose(
        found["knowledge"].reshape(shape), plan.value_of_knowledge, atol=1e-9
    )
    assert np.mean(found["action"].reshape(shape) == plan.action) == 1
    per_case = plan.expected_cost if task == "multiclass" else plan.expected_cost.sum(-1)
    assert value(page, "expected-cost") == pytest.approx(per_case.mean(), abs=1e-9)
    assert value(page, "total-cost") == pytest.approx(per_case.sum(), abs=1e-6)
    assert value(page, "n-ask") == np.sum(plan.action == lw.decisions.ASK)
    assert value(page, "n-abstain") == np.sum(plan.action == lw.decisions.ABSTAIN)
    if y is not None:
        truth = y if task == "multiclass" or y.ndim == 2 else np.eye(q.n_classes, dtype=int)[y]
        story = plan.summary(truth)
        assert value(page, "paid") == pytest.approx(story.cost_after, abs=1e-9)
        assert value(page, "paid-argmax") == pytest.approx(story.cost_before, abs=1e-9)
        check_story(page, story, plan, truth)
        check_excess(page, plan, story)
    assert value(page, "break-even") == pytest.approx(plan.break_even, abs=1e-9)


def check_excess(page, plan, story) -> None:
    """What a case can cost, and whether the realized cost differs from the expected one, are on the
    page as in the library.
    """
    lowest, highest = plan.problem.cost_range(plan.action, plan.after_answer)
    if plan.task == "per_label":
        lowest, highest = lowest.sum(-1), highest.sum(-1)
    assert page.evaluate("labelwise.planner.plan.range") == pytest.approx(
        [lowest.min(), highest.max()]
    )
    text = page.locator("#plan").inner_text()
    words = re.search(
        "chance can explain the difference|as expected|higher|lower", story.cost_sentence()
    )
    assert words is None or words[0] in text  # a few cases have no interval


def fewer_missed(plan, truth) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many fewer cases of each class are missed, and the 95 % interval of Bonett and Price
    (2012) for paired shares: Wald's after one more case of either change.
    """
    classes = np.arange(len(plan.class_names))
    if plan.task == "per_label":
        present, deferred = np.asarray(truth) == 1, plan.action < 0
        before, after = plan.mean > 0.5, plan.action == 1
    else:
        present, deferred = np.asarray(truth)[:, None] == classes, plan.action[:, None] < 0
        before, after = plan.mean.argmax(-1)[:, None] == classes, plan.action[:, None] == classes
    missed_before, missed_after = present & ~before, present & ~after & ~deferred
    n = present.sum(axis=0)
    saved = np.sum(missed_before & ~missed_after, axis=0)
    lost = np.sum(missed_after & ~missed_before, axis=0)
    p, q = (saved + 1) / (n + 2), (lost + 1) / (n + 2)
    half = norm.ppf(0.975) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return saved - lost, n * np.maximum(p - q - half, -1), n * np.minimum(p - q + half, 1)


def check_story(page, story, plan, truth) -> None:
    """What the decisions change for each class is on the page as in the library."""
    found = np.transpose(fewer_missed(plan, truth))
    counts = [
        (story.by_class[f"{name}_before"], story.by_class[f"{name}_after"])
        for name in ("called", "missed", "false_alarms")
    ]
    expected = {
        " ".join(name.split()): [(before[k], after[k]) for before, after in counts]
        for k, name in enumerate(story.class_names)
    }
    position = {" ".join(name.split()): k for k, name in enumerate(story.class_names)}
    rows = page.locator("#plan tbody tr").all()
    assert rows
    for row in rows:
        name, *cells = row.locator("th, td").all_inner_texts()
        changes = [
            tuple(int(number.replace(",", "")) for number in cell.split(" → "))
            for cell in (*cells[:2], cells[3])
        ]
        assert changes == expected[" ".join(name.split())]
        k = position[" ".join(name.split())]
        shown = [int(number.replace(",", "")) for number in re.findall(r"-?[0-9,]+", cells[2])]
        np.testing.assert_allclose(shown, found[k], atol=0.5 + 1e-9)
