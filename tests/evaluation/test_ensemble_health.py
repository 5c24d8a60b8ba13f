"""Planted faults are found and named; healthy ensembles are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import labelwise as lw
from member_cases import found, members


@pytest.mark.parametrize("m", [2, 3, 8])
def test_healthy_members_pass(m) -> None:
    for seed in range(20):
        probs, y = members(m, seed=seed)
        assert lw.check_ensemble(lw.Ensemble(probs)).ok
        assert lw.check_ensemble(lw.Ensemble(probs), y).ok
        assert lw.check_ensemble(probs).ok
    assert "No faults found" in str(lw.check_ensemble(probs))


def test_bundled_networks_pass() -> None:
    f = lw.demo.load_fashion_ensemble()
    assert lw.check_ensemble(f.ensemble, f.y_true).ok


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (np.log, "must lie between 0 and 1; values range from -6.9"),
        (lambda p: 100 * p, "They sum to 100. Percentages? Divide by 100"),
        (lambda p: np.log(p) + 3, "If these are logits, use Ensemble.from_logits"),
        (lambda p: p * np.where(np.arange(len(p)) % 3, 1, 0.9)[:, None], "must sum to 1"),
        (lambda p: np.where(p > 0.9, np.nan, p), "NaN"),
    ],
)
def test_scale_of_one_member(change, what) -> None:
    probs, _ = members()
    probs[2] = np.clip(probs[2], 1e-3, None)
    probs[2] = change(probs[2] / probs[2].sum(axis=-1, keepdims=True))
    check = lw.check_ensemble(probs)
    assert found(check) == [("scale", (2,))]
    assert check.findings[0].sentence.startswith("Of member 2, `probs` ")
    assert what in check.findings[0].sentence
    assert check.effective_members is not None  # of the other four


def test_effective_number_of_members() -> None:
    rng = np.random.default_rng(0)
    p = 0.5 + 0.1 * rng.normal(size=(6, 4000)).clip(-3, 3)

    def number(p):
        return lw.check_ensemble(lw.Ensemble(np.stack([p, 1 - p], axis=-1))).effective_members[0]

    assert number(p) == pytest.approx(6, abs=0.1)
    assert number(p[[0, 0, 1, 1, 2, 2]]) == pytest.approx(3, abs=0.1)
    assert number(np.stack([*np.tile(p[:1], (5, 1)), p[1]])) == pytest.approx(2, abs=1e-9)
    assert number(np.tile(p[:1], (3, 1))) == 1


def test_folds_are_only_warned_of_when_told() -> None:
    probs, _ = members()
    said = lw.check_ensemble(lw.Ensemble(probs, factors={"fold": list("abcde")}))
    assert found(said) == [("folds", (0, 1, 2, 3, 4))]
    assert lw.check_ensemble(lw.Ensemble(probs, factors={"seed": list("abcde")})).ok


def test_many_instances_stored_predictions_and_single_members() -> None:
    probs, y = members(3, 10_000)
    probs[2] = probs[2][:, [1, 0, 2, 3]]
    stored = lw.io.Predictions(probs=probs, y_true=y, class_names=("a", "b", "c", "d"))
    assert found(lw.check_ensemble(stored)) == [("permuted classes", (2,))]
    assert lw.check_ensemble(lw.Ensemble(probs[:1, :5])).effective_members is None
    assert found(lw.check_ensemble(probs.reshape(3, 100, 100, 4), y.reshape(100, 100))) == [
        ("permuted classes", (2,))
    ]


def test_true_classes_are_matched_by_their_index(optional) -> None:
    """All members have the same wrong order of classes, which only the true classes tell."""
    pandas = optional("pandas")
    probs, y = members(3, 200)
    names = [f"case{i}" for i in range(200)]
    q = lw.Ensemble([pandas.DataFrame(p[:, [1, 0, 2, 3]], index=names) for p in probs])
    labels = pandas.Series(y, index=names)[::-1]
    assert found(lw.check_ensemble(q, labels)) == [("permuted classes", (i,)) for i in range(3)]


def test_refusals() -> None:
    with pytest.raises(TypeError, match="an ensemble with members; Dirichlet has none"):
        lw.check_ensemble(lw.Dirichlet(np.ones((3, 2))))
    with pytest.raises(ValueError, match="floating array"):
        lw.check_ensemble(np.ones((3, 2)))


def test_members_are_called_by_their_names() -> None:
    probs, _ = members()
    probs[3] = probs[1]
    names = ["net", "tree", "forest", "copy", "last"]
    check = lw.check_ensemble(lw.Ensemble(dict(zip(names, probs, strict=True))))
    assert check.findings[0].sentence == "Members 'tree' and 'copy' are identical"
    assert check.findings[0].members == (1, 3)
    assert check.to_frame()["members"].tolist() == ["tree, copy"]
