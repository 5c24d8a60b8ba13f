"""Plots: what is on the axes is what was given."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_curve

import labelwise as lw


@pytest.fixture(autouse=True)
def _headless(optional):
    optional("matplotlib").use("Agg")
    yield
    optional("matplotlib.pyplot").close("all")


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.6), (5, 60))
    q = lw.Ensemble(probs, class_names=["lung", "lymphoma", "$melanoma$", "negative"])
    y = rng.integers(0, 4, 60)
    return q, lw.decompose(q), y


def test_bars_stack_epistemic_below_aleatoric_and_mark_truth_and_prediction(case) -> None:
    _, u, _ = case
    ax = lw.plots.plot_labels(u, 7, y_true=1, y_pred=3)
    bottom, top = ax.containers
    np.testing.assert_allclose([bar.get_height() for bar in bottom], u.epistemic[7])
    np.testing.assert_allclose([bar.get_y() for bar in top], u.epistemic[7])
    np.testing.assert_allclose([bar.get_y() + bar.get_height() for bar in top], u.total[7], rtol=1e-12)
    ticks = ax.get_xticklabels()
    assert ticks[1].get_fontweight() == "bold"
    assert ticks[0].get_fontweight() != "bold"
    assert "\u0332" in ticks[3].get_text()
    assert "\u0332" not in ticks[1].get_text()
    assert "bits" in ax.get_ylabel()


def test_many_labels_show_the_most_uncertain_and_the_truth() -> None:
    probs = np.random.default_rng(1).dirichlet(np.full(50, 0.1), (3, 2))
    u = lw.decompose(lw.Ensemble(probs))
    least = int(np.argmin(u.total[0]))
    ax = lw.plots.plot_labels(u, 0, y_true=least, max_labels=10)
    shown = [tick.get_text() for tick in ax.get_xticklabels()]
    assert len(shown) == 11
    assert str(least) in shown
    assert str(int(np.argmax(u.total[0]))) in shown


def test_gallery_shows_the_images(case) -> None:
    q, u, y = case
    images = np.random.default_rng(2).random((60, 8, 8))
    figure = lw.plots.plot_gallery(images, u, [3, 10, 11], y_true=y, y_pred=q.mean().argmax(-1))
    shown = [ax.images[0].get_array() for ax in figure.axes if ax.images]
    np.testing.assert_allclose(shown, images[[3, 10, 11]])
    colors = np.random.default_rng(3).random((60, 3, 8, 10))  # channels first
    for given, expected in ((colors, np.moveaxis(colors, 1, -1)), (images[:, None], images)):
        figure = lw.plots.plot_gallery(given, u, [3, 10])
        shown = [ax.images[0].get_array() for ax in figure.axes if ax.images]
        np.testing.assert_allclose(shown, expected[[3, 10]])


def test_rejection_curves_bands_and_references(case) -> None:
    q, u, y = case
    correct = q.mean().argmax(-1) == y
    curve = lw.evaluation.rejection_curve(u.sum().total, correct=correct, rng=0, n_bootstrap=20)
    ax = lw.plots.plot_rejection({"total": curve})
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 100 * curve.rejected)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve.value)
    assert ax.lines[0].get_color() == "#444444"  # the same as everywhere
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve.random)
    np.testing.assert_allclose(ax.lines[2].get_ydata(), curve.oracle)
    assert len(ax.collections) == 1
    runs = [lw.evaluation.rejection_curve(u.sum().total + i, correct=np.roll(correct, i), grid=50) for i in range(3)]
    mean = lw.evaluation.mean_curve(runs)
    ax = lw.plots.plot_rejection(mean, references=False)
    assert len(ax.lines) == 1
    np.testing.assert_allclose(ax.lines[0].get_ydata(), mean.value)


def test_detection_and_roc() -> None:
    rng = np.random.default_rng(3)
    inside, outside = rng.normal(size=200).round(1), rng.normal(1, size=150).round(1)
    ax = lw.plots.plot_detection(inside, outside)
    assert f"{lw.evaluation.detection_scores(inside, outside, n_bootstrap=0).auroc.value:.3f}" in ax.get_title()
    ax = lw.plots.plot_roc({"score": (inside, outside)})
    false, true, _ = roc_curve(np.r_[np.zeros(200), np.ones(150)], np.r_[inside, outside], drop_intermediate=False)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), false)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), true)


def test_classes(case) -> None:
    q, u, y = case
    by = lw.evaluation.by_class(u, y, mean=q.mean(), rng=0, n_bootstrap=20)
    ax = lw.plots.plot_by_class(by)
    order = [by.class_names.index(name) for name in by.ranking]
    np.testing.assert_allclose([bar.get_height() for bar in ax.containers[0]], np.asarray(by.own.epistemic.value)[order])
    ax = lw.plots.plot_ecdf(by, "total", class_names=["lung"])
    values, shares = by.ecdf("lung", "total")
    np.testing.assert_allclose(ax.lines[0].get_xdata()[1:], values)
    np.testing.assert_allclose(ax.lines[0].get_ydata()[1:], shares)


def test_classes_of_an_uncertainty_are_summarized_first(case) -> None:
    _, u, _ = case
    by = lw.evaluation.by_class(u)
    for draw in (lw.plots.plot_by_class, lw.plots.plot_ecdf):
        ours, expected = draw(u), draw(by)
        assert [x.get_text() for x in ours.get_xticklabels()] == [x.get_text() for x in expected.get_xticklabels()]
        assert [bar.get_height() for bar in ours.patches] == [bar.get_height() for bar in expected.patches]
        with pytest.raises(TypeError, match="`by` must be"):
            draw(u.total)


def test_reliability(case) -> None:
    q, _, y = case
    curves = lw.calibration.reliability_curves(q, y)
    ax = lw.plots.plot_reliability({"top": curves["top label"]})
    np.testing.assert_allclose(ax.lines[1].get_xdata(), curves["top label"].forecast)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curves["top label"].frequency)


def test_simplex_places_corners_and_mean() -> None:
    q = lw.Ensemble(np.array([[[1.0, 0, 0]], [[0, 0, 1.0]]]))
    ax = lw.plots.plot_simplex(q)
    members, mean = ax.collections
    np.testing.assert_allclose(members.get_offsets(), [[0, 0], [0.5, 3**0.5 / 2]])
    np.testing.assert_allclose(mean.get_offsets(), [[0.25, 3**0.5 / 4]])
    assert len(lw.plots.plot_simplex(lw.Dirichlet(np.ones(3)), n_samples=50).collections[0].get_offsets()) == 50


@pytest.mark.parametrize("task", ["multiclass", "per_label"])
def test_decisions_by_class(case, task) -> None:
    q, _, _ = case
    matrix = 1 - np.eye(4)
    costs = lw.decisions.Costs(matrix, false_positive=1, false_negative=2, abstain=0.3, ask=0.25, expert_error=0.05)
    plan = lw.decisions.decide(q, costs, task=task)
    ax = lw.plots.plot_decisions(plan)
    paid = plan.expected_cost.sum(0) if task == "per_label" else np.bincount(q.mean().argmax(-1), plan.expected_cost, minlength=4)
    order = np.argsort(-paid)[::-1]
    assert [tick.get_text().replace("\\", "") for tick in ax.get_yticklabels()] == [q.class_names[k] for k in order]
    likely = q.mean().argmax(-1)
    for bars in ax.containers:
        word = bars.get_label()
        for bar, k in zip(bars, order, strict=True):
            of_class = plan.action_names[likely == k] if task == "multiclass" else plan.action_names[:, k]
            hits = ~np.isin(of_class, ["ask", "abstain"]) if word == "predict" else of_class == word
            assert bar.get_width() == np.sum(hits)
    assert sum(bar.get_width() for bars in ax.containers for bar in bars) == plan.action.size
    ax = lw.plots.plot_values(plan)
    drawn = np.concatenate([dots.get_offsets() for dots in ax.collections])
    expected = np.stack([plan.value_of_knowledge.ravel(), plan.value_of_label.ravel()], axis=-1)
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    assert ax.lines[0].get_ydata()[0] == 0.25


def test_regions_of_a_dirichlet_hold_what_they_say() -> None:
    q = lw.Dirichlet(np.array([6.0, 3.0, 4.0]))
    ax = lw.plots.plot_simplex(q, n_samples=4000)
    regions = ax.collections[0].get_paths()
    sample = ax.collections[1].get_offsets()
    inner = np.mean(regions[1].contains_points(sample))
    both = np.mean(regions[0].contains_points(sample) | regions[1].contains_points(sample))
    assert inner == pytest.approx(0.5, abs=0.04)
    assert both == pytest.approx(0.9, abs=0.03)


def test_the_page_of_the_report_has_the_same_colours() -> None:
    from labelwise.plots import _style
    from labelwise.report.page import asset

    style = asset("style.css").lower()
    for name, color in (("au", _style.ALEATORIC), ("eu", _style.EPISTEMIC), ("act", _style.ACT), ("ask", _style.ASK)):
        assert f"--{name}: {color.lower()};" in style
    for name, color in (("abstain", _style.ABSTAIN), ("predict", _style.PREDICT)):
        assert f"--{name}: {color.lower()};" in style


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda q, u: lw.plots.plot_labels(u), "`i` to choose one"),
        (lambda q, u: lw.plots.plot_labels(u, 99), "one of the 60 instances"),
        (lambda q, u: lw.plots.plot_simplex(q), "K = 3"),
        (lambda q, u: lw.plots.plot_gallery(np.zeros((60, 2, 2)), u, []), "at least one instance"),
        (lambda q, u: lw.plots.plot_rejection({}), "at least one curve"),
    ],
)
def test_wrong_use_has_its_sentence(case, draw, sentence: str) -> None:
    q, u, _ = case
    with pytest.raises(ValueError, match=sentence):
        draw(q, u)


def test_given_axes_are_used(case, optional) -> None:
    _, u, _ = case
    _, ax = optional("matplotlib.pyplot").subplots()
    assert lw.plots.plot_labels(u, 0, ax=ax) is ax
