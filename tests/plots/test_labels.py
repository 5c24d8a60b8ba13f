"""Bars of labels and galleries: what is on the axes is what was given."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw


def test_bars_stack_epistemic_below_aleatoric_and_mark_truth_and_prediction(case) -> None:
    _, u, _ = case
    ax = lw.plots.plot_labels(u, 7, y_true=1, y_pred=3)
    bottom, top = ax.containers
    np.testing.assert_allclose([bar.get_height() for bar in bottom], u.epistemic[7])
    np.testing.assert_allclose([bar.get_y() for bar in top], u.epistemic[7])
    np.testing.assert_allclose(
        [bar.get_y() + bar.get_height() for bar in top], u.total[7], rtol=1e-12
    )
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


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda q, u: lw.plots.plot_labels(u), "`i` to choose one"),
        (lambda q, u: lw.plots.plot_labels(u, 99), "one of the 60 instances"),
        (lambda q, u: lw.plots.plot_gallery(np.zeros((60, 2, 2)), u, []), "at least one instance"),
        (lambda q, u: lw.plots.plot_gallery(np.zeros((60, 2, 2)), u, [1, 2], titles=["a"]), "zip"),
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
