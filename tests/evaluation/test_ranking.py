"""Scores that tie exactly rank as ties, whatever the order of classes and members and the
floating-point type.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

import labelwise as lw
from labelwise.decomposition import PARTS
from labelwise.evaluation import detection_scores, ranking_scores, rejection_curve
from labelwise.evaluation.ranking import RankedScores, rounded

LOSSES = {
    "zero-one": "zero_one",
    "cost 1 : 9": lw.CostLoss(1, 9),
    "cost 9 : 1": lw.CostLoss(9, 1),
    "log": "log",
    "squared": "squared",
}
RESULTS = Path(__file__).parents[2] / "lab/results/cifar10-paper-10-epochs/run-0"


@st.composite
def counts(draw):
    """Votes (M, N, K) of whole numbers, so that ties are known exactly; few different numbers, so
    that there are many.
    """
    m, n, k = (draw(st.integers(low, high)) for low, high in ((1, 5), (2, 8), (2, 5)))
    whole = draw(st.integers(1, 12))
    rows = st.lists(st.integers(0, whole), min_size=k, max_size=k).filter(any)
    return np.array(draw(st.lists(st.lists(rows, min_size=n, max_size=n), min_size=m, max_size=m)))


def exact(votes: np.ndarray, a: int, b: int) -> dict[str, list[Fraction]]:
    """Summed TU, AU and EU of G(t) = min(b·t, a·(1 − t)) in rational arithmetic."""

    def entropy(t: Fraction) -> Fraction:
        return min(b * t, a * (1 - t))

    m, n, k = votes.shape
    found: dict[str, list[Fraction]] = {part: [] for part in PARTS}
    for i in range(n):
        p = [[Fraction(int(v), int(votes[j, i].sum())) for v in votes[j, i]] for j in range(m)]
        total = sum(entropy(sum(p[j][c] for j in range(m)) / m) for c in range(k))
        aleatoric = sum(entropy(p[j][c]) for j in range(m) for c in range(k)) / m
        for part, value in zip(PARTS, (total, aleatoric, total - aleatoric), strict=True):
            found[part].append(value)
    return found


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 9), (9, 1), (3, 2)])
@settings(max_examples=20)
@given(votes=counts(), data=st.data())
def test_ranks_are_those_of_exact_arithmetic(a, b, votes, data):
    order = [data.draw(st.permutations(range(n))) for n in (votes.shape[0], votes.shape[2])]
    probs = votes / votes.sum(-1, keepdims=True)
    truth = exact(votes, a, b)
    for p in (probs, probs[order[0]][..., order[1]]):
        scores = ranking_scores(lw.Ensemble(p), lw.CostLoss(a, b))
        for part in PARTS:
            expected = [float(x) for x in truth[part]]
            np.testing.assert_allclose(getattr(scores, part), expected, rtol=1e-9, atol=1e-11)
            np.testing.assert_array_equal(
                rankdata(getattr(scores, part)), rankdata(rounded(np.array(expected)))
            )


@pytest.mark.parametrize(("loss", "most"), [("zero_one", 0.499), (lw.CostLoss(9, 1), 0.899)])
def test_rows_that_sum_to_one_only_in_float32_tie_below_the_kink(loss, most):
    """Below the kink G is linear, so that the total is the sum of the probabilities: exactly 1."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(10, 0.3), 3000).astype(np.float32)
    q = lw.Ensemble(np.stack([probs, probs[:, ::-1]]))
    undecided = q.mean().max(-1) < most
    assert undecided.sum() > 300
    assert len(np.unique(lw.decompose(q, loss).sum().total[undecided])) > 1  # split
    assert np.unique(ranking_scores(q, loss).total[undecided]).tolist() == [1.0]


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@settings(max_examples=10)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["float32", "float64"]),
    sharp=st.sampled_from([0.3, 3.0, 30.0]),
)
def test_scores_do_not_depend_on_order_or_type(loss, seed, kind, sharp):
    rng = np.random.default_rng(seed)
    q = lw.Ensemble.from_logits(sharp * rng.normal(size=(4, 30, 5)).astype(kind))
    probs = np.asarray(q.probs)
    scores = ranking_scores(q, loss)
    for other in (probs[rng.permutation(4)], probs[..., rng.permutation(5)], probs.astype(float)):
        again = ranking_scores(lw.Ensemble(other), loss)
        for part in PARTS:
            np.testing.assert_array_equal(
                rankdata(getattr(again, part)), rankdata(getattr(scores, part))
            )
    usual = lw.decompose(
        lw.Ensemble(probs.astype(float) / probs.astype(float).sum(-1, keepdims=True)), loss
    ).sum()
    for part in PARTS:
        np.testing.assert_allclose(
            getattr(scores, part), getattr(usual, part), rtol=2e-9, atol=1e-11
        )


def test_small_values_stay_apart():
    tiny = np.array([1e-30, 1.001e-30, 2e-30])
    q = lw.Ensemble(
        np.stack(
            [
                np.stack([1 - tiny, tiny, 0 * tiny], -1),
                np.stack([1 - 3 * tiny, 3 * tiny, 0 * tiny], -1),
            ]
        )
    )
    for loss in ("zero_one", "squared", "log"):
        scores = ranking_scores(q, loss)
        for part in PARTS if loss != "zero_one" else PARTS[:2]:
            assert (np.diff(getattr(scores, part)) > 0).all(), (loss, part)
    assert not ranking_scores(q, "zero_one").epistemic.any()  # all members on the same side


def test_rounding_is_to_the_stated_grid():
    x = np.array([0.0, 1.0, 1 + 2.0**-31, 1 + 2.0**-29, 3e-40, 5e-13])
    np.testing.assert_array_equal(rounded(x)[:4], [0, 1, 1, 1 + 2.0**-29])
    np.testing.assert_allclose(rounded(x), x, rtol=2.0**-30)
    assert rounded(x, -40)[-1] == 2.0**-40 * round(5e-13 * 2**40)


@pytest.mark.parametrize("weights", [None, [0.5, 0.2, 0.3], "each"])
def test_weights_events_and_other_distributions(weights):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(4), (3, 20))
    w = rng.random((3, 20)) if weights == "each" else weights
    q = lw.Ensemble(probs, weights=w, class_names=list("abcd"))
    for events, label_weights in (
        (None, None),
        ({"ab": ["a", "b"], "cd": ["c", "d"]}, None),
        (None, {"a": 2, "b": 1, "c": 0, "d": 1}),
    ):
        scores, usual = (
            ranking_scores(q, events=events, weights=label_weights),
            lw.decompose(q, events=events).sum(label_weights),
        )
        for part in PARTS:
            np.testing.assert_allclose(getattr(scores, part), getattr(usual, part), rtol=1e-9)
    for other in (lw.Dirichlet(1 + 5 * probs[0]), lw.MultiLabelEnsemble(probs / 2)):
        np.testing.assert_allclose(
            ranking_scores(other).epistemic, lw.decompose(other).sum().epistemic, rtol=1e-9
        )


def test_wrong_input_is_refused():
    with pytest.raises(TypeError, match="distribution"):
        ranking_scores(np.ones((2, 3, 4)) / 4)


def test_tie_shares():
    curve = rejection_curve([1, 2, 2, 3, 4], correct=[1, 1, 0, 1, 0])
    assert curve.tie_share == pytest.approx(0.4)
    assert rejection_curve([1.0], correct=[1]).tie_share == 0


@pytest.fixture(scope="module")
def stored():
    read = {name: lw.load_predictions(RESULTS / f"{name}.npz") for name in ("cifar10", "svhn")}
    q = {name: x.distribution() for name, x in read.items()}
    return q, q["cifar10"].mean().argmax(-1) == read["cifar10"].y_true


@pytest.mark.parametrize(
    ("loss", "part", "area", "auroc", "ties"),
    [
        (lw.CostLoss(9, 1), "total", 0.8621, 0.635, 0.859),
        (lw.CostLoss(9, 1), "aleatoric", 0.8942, 0.741, 0.720),
        ("zero_one", "total", 0.9095, 0.756, 0.382),
    ],
)
def test_stored_predictions_give_the_numbers_of_exact_ties(stored, loss, part, area, auroc, ties):
    q, correct = stored
    scores = {name: getattr(ranking_scores(x, loss), part) for name, x in q.items()}
    assert rejection_curve(scores["cifar10"], correct=correct).area == pytest.approx(area, abs=6e-5)
    found = detection_scores(scores["cifar10"], scores["svhn"])
    assert float(found.auroc) == pytest.approx(auroc, abs=6e-4)
    both = np.concatenate(list(scores.values()))
    assert RankedScores(both).tie_share == pytest.approx(ties, abs=1e-3)


@pytest.mark.parametrize("loss", ["log", "squared", "spherical", "zero_one"])
def test_the_order_of_classes_does_not_matter_for_very_confident_members(loss):
    """Complements that are taken from 1 lose the digits that decide here."""
    rng = np.random.default_rng(0)
    z = 20 * rng.normal(size=(5, 4000, 6))
    probs = np.exp(z - z.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    order = rng.permutation(6)
    for dtype in (np.float32, np.float64):
        a, b = (
            ranking_scores(lw.Ensemble(x.astype(dtype)), loss) for x in (probs, probs[..., order])
        )
        for part in ("total", "aleatoric", "epistemic"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
