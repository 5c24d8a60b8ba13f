"""Votes: pair statistics, exactly unbiased, and a sentence for each mistake."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import labelwise as lw
from labelwise.calibration import vote_reliability
from labelwise.evaluation.votes import pair_statistics
from vote_cases import predictions


@pytest.mark.parametrize("n_votes", [2, 3, 5])
def test_pair_statistics_are_means_over_pairs(n_votes):
    for votes in itertools.product([0, 1], repeat=n_votes):
        mean = 0.3
        pairs = list(itertools.permutations(votes, 2))
        expected = [
            np.mean([(v - mean) ** 2 for v in votes]),
            np.mean([(v - w) ** 2 / 2 for v, w in pairs]),
            np.mean([(v - mean) * (w - mean) for v, w in pairs]),
        ]
        found = pair_statistics(
            np.array([float(sum(votes))]), np.array([float(n_votes)]), np.array([mean])
        ).ravel()
        np.testing.assert_allclose(found, expected, atol=1e-15)
        assert found[0] == pytest.approx(found[1] + found[2], abs=1e-15)


@pytest.mark.parametrize("n_votes", [2, 3, 5, 50])
@pytest.mark.parametrize(("p", "mean"), [(0.5, 0.4), (0.02, 0.3), (0.9, 0.9)])
def test_pair_statistics_are_unbiased_exactly(n_votes, p, mean):
    """The expectation over all outcomes of the binomial, without simulation."""
    yes = np.arange(n_votes + 1.0)
    chance = np.array([math.comb(n_votes, int(y)) * p**y * (1 - p) ** (n_votes - y) for y in yes])
    found = (
        pair_statistics(yes, np.full(n_votes + 1, float(n_votes)), np.full(n_votes + 1, mean))
        @ chance
    )
    np.testing.assert_allclose(
        found, [p * (1 - p) + (p - mean) ** 2, p * (1 - p), (p - mean) ** 2], atol=1e-14
    )


@pytest.mark.parametrize(
    ("votes", "options", "words"),
    [
        (np.zeros((4, 2)), {}, r"shape \(5, 3\); got shape \(4, 2\)"),
        (np.full((5, 3), 0.3), {}, "Shares do not tell how many people voted"),
        (np.full((5, 3), -1), {}, "need `annotators`"),
        (np.eye(3)[[0, 1, 2, 0, 1]], {}, "at least 2 cases with 2 votes"),
        (np.full((5, 2), 3), {"annotators": ["x", "y"]}, "must lie between 0 and 2"),
        (np.zeros((5, 2), int), {"annotators": ["x"]}, "at least 2 different names"),
        (np.array([["a", "d"]] * 5), {"annotators": ["x", "y"]}, "unknown class 'd'"),
        (np.full((5, 3), 2), {"groups": [1] * 5}, "at least 2 groups"),
    ],
)
def test_friendly_errors(votes, options, words):
    q = predictions(np.random.default_rng(0), 5)
    with pytest.raises((ValueError, TypeError), match=words):
        vote_reliability(q, votes, **options)


def test_a_label_that_may_occur_with_others_is_a_question_of_yes_and_no():
    """Each label gives what its two classes yes and no give, with annotators or without."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, size=(3, 200, 4))
    votes = (rng.random((5, 200, 4)) < p[0]).astype(int)
    votes[1, :30] = -1  # one of them did not see some cases
    q = lw.MultiLabelEnsemble(p, class_names=list("wxyz"))
    for annotators in (None, list("abcde")):
        together = vote_reliability(q, votes, annotators=annotators)
        for k in range(4):
            alone = lw.Ensemble(np.stack([1 - p[..., k], p[..., k]], axis=-1))
            chosen = votes[..., k].T
            if annotators is None:
                chosen = np.stack([(chosen == c).sum(axis=1) for c in (0, 1)], axis=-1)
            one = vote_reliability(alone, chosen, annotators=annotators)
            for part in ("total", "aleatoric", "epistemic"):
                a, b = getattr(together, part), getattr(one, part)
                for claim in ("observed", "gap", "ratio"):
                    for bound in ("value", "low", "high"):
                        np.testing.assert_allclose(
                            getattr(getattr(a.labels, claim), bound)[k],
                            getattr(getattr(b.labels, claim), bound)[1],
                            rtol=1e-9,
                        )
        sums = together.aleatoric.labels.observed.value.sum()
        assert together.aleatoric.summed.observed.value == pytest.approx(sums)
    assert "5 annotators" in together.total.labels.gap.method


@pytest.mark.parametrize(
    ("votes", "options", "sentence"),
    [
        (
            np.full((5, 3), 2),
            {},
            "`votes` on labels that may occur together must be 0 or 1 for each annotator, case and "
            "label, shape (A, 5, 3); got shape (5, 3)",
        ),
        (
            np.full((2, 5, 3), 2),
            {},
            "`votes` must be 0 or 1 for each label, or −1 for all labels of a case that an "
            "annotator did not see; got 2",
        ),
        (
            np.array([[[0, 1, -1]] * 5] * 2),
            {},
            "`votes` must be 0 or 1 for each label, or −1 for all labels of a case that an "
            "annotator did not see; got -1",
        ),
        (
            np.ones((2, 5, 3)),
            {"annotators": list("abc")},
            "`annotators` must name the 2 annotators of `votes`; got 3 names",
        ),
        (
            np.ones((2, 5, 3)),
            {"events": {"x": [0, 1]}},
            "`events` are for classes of which one is chosen; labels that may occur together are "
            "compared one by one",
        ),
    ],
)
def test_votes_on_labels_that_may_occur_together_are_checked(votes, options, sentence):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        vote_reliability(lw.MultiLabelEnsemble(np.full((2, 5, 3), 0.5)), votes, **options)
    assert str(error.value) == sentence


def test_class_names_that_are_numbers():
    """Votes as text are names, never positions."""
    q = lw.Ensemble(np.full((2, 4, 2), 0.5), class_names=["1", "2"])
    text = np.array([["1", "2"], ["1", "1"], ["2", "2"], ["1", "2"]])
    named = vote_reliability(q, text, annotators=["a", "b"])
    counts = vote_reliability(q, [[1, 1], [2, 0], [0, 2], [1, 1]])
    np.testing.assert_array_equal(
        named.aleatoric.labels.observed.value, counts.aleatoric.labels.observed.value
    )
