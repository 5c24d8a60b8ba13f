"""Prediction sets: exact thresholds, shapes, files, and a sentence for every mistake."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise.sets import cluster_classes, estimate_prevalence, fit_labels, fit_sets, load_sets
from labelwise.sets._quantiles import as_level, conformal_threshold, p_values
from labelwise.sets._scores import class_scores

NAMES = ["nevus", "melanoma", "lentigo", "angioma"]


def cases(n: int = 400, k: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    p = rng.dirichlet(np.ones(k), n) + 0.8 * np.eye(k)[y] * rng.random((n, 1))
    return p / p.sum(axis=1, keepdims=True), y


def ensemble(p: np.ndarray) -> lw.Ensemble:
    return lw.Ensemble(p[None], class_names=NAMES[: p.shape[-1]])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.sampled_from(["0.5", "0.8", "0.9", "0.95", "0.7", "0.99"]))
def test_thresholds_are_the_smallest_that_cover_enough(values: list[int], written: str) -> None:
    level = as_level(float(written))
    assert level == Fraction(written)
    scores = np.sort(np.asarray(values, float))
    t = conformal_threshold(scores, level)
    enough = [s for s in scores if sum(scores <= s) >= Fraction(written) * (len(scores) + 1)]
    assert t == (min(enough) if enough else inf)
    assert t == conformal_threshold(scores, level, np.ones(len(scores)))  # equal weights
    for s in range(-1, 7):  # p-value above α and score below the threshold are the same thing
        count = sum(scores >= s) + 1
        assert (s <= t) == (Fraction(int(count), len(scores) + 1) > 1 - Fraction(written))
        assert p_values(scores, np.array(float(s)), None, 1.0, None) == pytest.approx(count / (len(scores) + 1))


def strangeness(score: str, row: np.ndarray, k: int) -> float:
    return float(1 - row[k] if score == "lac" else sum(x for x in sorted(row, reverse=True) if x >= row[k]))


@pytest.mark.parametrize("score", ["lac", "aps"])
def test_a_class_is_in_the_set_by_the_definition_of_lac_and_aps(score: str) -> None:
    p, y = cases()
    new, _ = cases(50, seed=1)
    member = fit_sets(p, y, coverage=0.85, score=score).predict(new).member
    for k in range(4):
        own = sorted(strangeness(score, p[j], k) for j in np.flatnonzero(y == k))
        threshold = own[ceil(Fraction("0.85") * (len(own) + 1)) - 1]
        assert member[:, k].tolist() == [strangeness(score, row, k) <= threshold for row in new]


def test_aps_does_not_depend_on_the_order_of_classes_and_counts_ties_together() -> None:
    p = np.array([[0.25, 0.5, 0.25, 0.0], [0.25, 0.25, 0.25, 0.25]])
    scores = class_scores("aps", p)
    np.testing.assert_array_equal(scores, [[1, 0.5, 1, 1], [1, 1, 1, 1]])
    half = class_scores("aps", p, np.array([0.5, 0.5]))
    np.testing.assert_allclose(half, [[0.75, 0.25, 0.75, 1], [0.5, 0.5, 0.5, 0.5]])
    order = np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(class_scores("aps", p[:, order]), scores[:, order])


def test_events_hold_each_and_a_class_of_two_has_the_larger_threshold() -> None:
    p, y = cases()
    single = fit_sets(ensemble(p), y, coverage=0.8)
    pooled = fit_sets(ensemble(p), y, coverage=0.8, per={"rare": ["lentigo", "angioma"]})
    assert [e.name for e in pooled.events] == ["rare", "nevus", "melanoma"]
    assert pooled.thresholds[2] == pooled.thresholds[3]
    np.testing.assert_array_equal(pooled.thresholds[:2], single.thresholds[:2])
    assert "not for each class in 'rare' (lentigo, angioma) by itself" in pooled.guarantee
    both = fit_sets(ensemble(p), y, coverage=0.8, per={"rare": ["lentigo", "angioma"], "lentigo": ["lentigo"]})
    assert both.thresholds[2] == max(pooled.thresholds[2], single.thresholds[2])
    evaluation = both.evaluate(ensemble(p), y)
    assert evaluation["rare"].guaranteed
    assert not evaluation["angioma"].guaranteed  # its own coverage is beside it
    marginal = fit_sets(p, y, coverage=0.8, per="marginal")
    assert len(set(marginal.thresholds)) == 1


def test_clusters_share_thresholds_and_rare_classes_use_all_cases() -> None:
    p, y = cases(600)
    p[:, 0] += 3 * (y == 0)
    p /= p.sum(axis=1, keepdims=True)
    kept = (y != 3) | (np.arange(600) % 30 == 0)
    p, y = p[kept], y[kept]
    first = np.arange(len(y)) % 2 == 0
    clusters = cluster_classes(ensemble(p[first]), y[first], n_clusters=2, coverage=0.9)
    assert clusters.rare == ("angioma",)
    assert ("nevus",) in clusters.clusters
    sets = fit_sets(ensemble(p[~first]), y[~first], per=clusters)
    assert sets.thresholds[1] == sets.thresholds[2] != sets.thresholds[0]
    assert sets.thresholds[3] == fit_sets(p[~first], y[~first], per="marginal").thresholds[0]
    assert "nothing is guaranteed for angioma" in sets.guarantee


def test_ordinal_sets_have_no_gaps_and_grow_with_the_level() -> None:
    p, y = cases()
    scale = lw.events.ordinal(["angioma", "nevus", "lentigo", "melanoma"])
    order = [NAMES.index(name) for name in ("angioma", "nevus", "lentigo", "melanoma")]
    before = np.zeros((len(p), 4), bool)
    for coverage in (0.5, 0.7, 0.9, 0.95):
        plain = fit_sets(ensemble(p), y, coverage=coverage)
        member = fit_sets(ensemble(p), y, coverage=coverage, shape=scale).predict(ensemble(p)).member
        assert (plain.predict(ensemble(p)).member <= member).all()
        for row in member[:, order]:
            where = np.flatnonzero(row)
            assert len(where) == 0 or len(where) == where[-1] - where[0] + 1
        assert (before <= member).all()
        before = member


@pytest.mark.parametrize("max_nodes", [1, 2, 3])
def test_trees_give_few_nodes_and_grow_with_the_level(max_nodes: int) -> None:
    rng = np.random.default_rng(0)
    names = list("abcdefgh")
    tree = lw.events.tree({"left": {"ab": ["a", "b"], "cd": ["c", "d"]}, "right": {"ef": ["e", "f"], "gh": ["g", "h"]}})
    y = rng.integers(8, size=800)
    p = rng.dirichlet(np.full(8, 0.5), 800) + 0.4 * np.eye(8)[y]
    q = lw.Ensemble(p[None] / p.sum(axis=1, keepdims=True), class_names=names)
    before = np.zeros((800, 8), bool)
    for coverage in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95):
        plain = fit_sets(q, y, coverage=coverage).predict(q)
        sets = fit_sets(q, y, coverage=coverage, shape=tree, max_nodes=max_nodes).predict(q)
        assert (plain.member <= sets.member).all()
        assert (before <= sets.member).all()
        assert sets.nodes is not None
        assert max(map(len, sets.nodes)) <= max_nodes
        small = plain.size <= max_nodes
        assert (sets.member[small] == plain.member[small]).all()
        before = sets.member
    leaves = {"left": "abcd", "right": "efgh", "ab": "ab", "cd": "cd", "ef": "ef", "gh": "gh", "any class": "abcdefgh"}
    for i in range(100):
        assert set(sets[i]) == set("".join(leaves.get(node, node) for node in sets.nodes[i]))


def test_label_answers_and_cuts_without_doubt() -> None:
    p = np.linspace(0.001, 0.999, 200)[:, None]
    perfect = p[:, 0] > 0.5
    q = lw.MultiLabelEnsemble(np.concatenate([p, p], axis=1)[None], class_names=["edema", "mass"])
    y = np.stack([perfect, np.arange(200) % 2 == 0], axis=-1)
    labels = fit_labels(q, y)
    assert labels.lower[0] == labels.upper[0]  # no doubt is left
    assert labels.lower[1] < 0.15 < 0.85 < labels.upper[1]
    answers = labels.predict(q)
    assert set(answers.answer[:, 0]) == {0, 1}
    assert list(answers.to_frame()["mass"].iloc[[0, 100, 199]]) == ["no", "unsure", "yes"]
    strict = fit_labels(q, y, method="learn_then_test", confidence=0.9)
    many = fit_labels(q, y, method="learn_then_test", confidence=0.9, family_wise=True)
    assert many.lower[1] < strict.lower[1] < labels.lower[1]
    assert "90 %" in many.guarantee
    assert "for all labels at once" in many.guarantee
    family = fit_labels(q, y, family_wise=True)
    assert family.lower[1] < labels.lower[1]
    assert "any present label" in family.guarantee
    evaluation = labels.evaluate(q, y)
    missed = (answers.answer[:, 1] == 0) & y[:, 1]
    assert evaluation.missed.value[1] == pytest.approx(missed.sum() / y[:, 1].sum())
    assert evaluation.missed.low[1] < evaluation.missed.value[1] < evaluation.missed.high[1] < 0.2
    assert evaluation.to_frame().shape == (2, 10)
    assert "mass" in repr(evaluation)
    by_patient = fit_labels(q, y, groups=np.arange(200))
    np.testing.assert_array_equal(by_patient.lower, labels.lower)  # a group for each case


@pytest.mark.parametrize("method", ["em", "bbse"])
def test_prevalences_are_estimated(method: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [3500, 1500]), np.repeat([0, 1], [1000, 4000])
    odds = [np.exp(2 * rng.normal(2 * z) - 2) * 3 / 7 for z in y]
    q = [np.stack([1 / (1 + o), o / (1 + o)], axis=-1) for o in odds]
    found = estimate_prevalence(q[0], y[0], q[1], method=method)
    np.testing.assert_allclose(found.values, [0.2, 0.8], atol=0.03)
    sets = fit_sets(q[0], y[0], per="marginal", prevalence=found)
    assert "approximately" in sets.guarantee
    known = fit_sets(q[0], y[0], per="marginal", prevalence=[0.2, 0.8], source_prevalence=[0.7, 0.3])
    assert "approximately" not in known.guarantee
    same = fit_sets(q[0], y[0], per="marginal", prevalence=[0.7, 0.3])
    np.testing.assert_allclose(same.thresholds, fit_sets(q[0], y[0], per="marginal").thresholds)


def fitted() -> dict[str, Any]:
    p, y = cases()
    q = ensemble(p)
    code = np.arange(len(y)) // 8
    return {
        "class": fit_sets(q, y),
        "aps": fit_sets(q, y, score="aps", smoothed=True, rng=0),
        "pool": fit_sets(q, y, per={"rare": ["lentigo", "angioma"]}, shape=lw.events.ordinal(NAMES)),
        "groups": fit_sets(q, y, groups=code),
        "whole": fit_sets(q, y, groups=code, cover="group", per="marginal"),
        "shift": fit_sets(q, y, per="marginal", prevalence=[0.1, 0.2, 0.3, 0.4]),
        "tree": fit_sets(q, y, shape=lw.events.tree({"mole": ["nevus", "lentigo"], "other": ["melanoma", "angioma"]}), max_nodes=2),
    }


@pytest.mark.parametrize("which", ["class", "aps", "pool", "groups", "whole", "shift", "tree"])
def test_saved_sets_are_the_same(which: str, tmp_path: Path) -> None:
    sets = fitted()[which]
    again = load_sets(sets.save(tmp_path / "sets.npz"))
    p, _ = cases(50, seed=3)
    rng = 5 if sets.smoothed else None
    a, b = sets.predict(p, rng=rng), again.predict(p, rng=rng)
    np.testing.assert_array_equal(a.member, b.member)
    assert a.nodes == b.nodes
    assert repr(sets) == repr(again)
    assert sets.guarantee == again.guarantee


def test_saved_label_thresholds_are_the_same(tmp_path: Path) -> None:
    p, y = cases()
    for labels in (fit_labels(ensemble(p), y), fit_labels(ensemble(p), y, method="learn_then_test", confidence=0.9)):
        again = load_sets(labels.save(tmp_path / "labels.npz"))
        assert repr(labels) == repr(again)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", np.asarray("other")), ("coverage", np.asarray(1.5)), ("offsets", np.array([0, 9, 3, 7, 400])), ("scores", np.full(400, np.nan)),
        ("inside", np.zeros((4, 3), bool)), ("score", np.asarray("mine")), ("used_by", np.zeros((4, 4), bool)), ("class_names", np.asarray(["a"] * 4)),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(key: str, value: np.ndarray, tmp_path: Path) -> None:
    path = fitted()["class"].save(tmp_path / "sets.npz")
    with np.load(path) as file:
        arrays = dict(file) | {key: value}
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"sets\.npz|must lie strictly"):
        load_sets(path)


def test_evaluation_tells_coverage_size_and_what_to_expect() -> None:
    p, y = cases(800)
    sets = fit_sets(ensemble(p[:400]), y[:400])
    evaluation = sets.evaluate(ensemble(p[400:]), y[400:])
    member = sets.predict(p[400:]).member
    row = evaluation["melanoma"]
    mine = y[400:] == 1
    assert row.n == mine.sum()
    assert row.coverage == pytest.approx(member[mine, 1].mean())
    assert row.size == pytest.approx(member[mine].sum(axis=1).mean())
    assert row.low < row.coverage < row.high
    assert row.expected is not None
    assert row.expected[0] < 0.9 < row.expected[1]
    assert evaluation.size_counts.sum() == 400
    assert "melanoma" in repr(evaluation)
    assert evaluation.to_frame().shape[0] == 5
    frame = sets.predict(ensemble(p[400:])).to_frame(y_true=y[400:])
    assert frame["covered"].mean() == pytest.approx(evaluation["all classes"].coverage)
    code = np.arange(400) // 8
    grouped = fit_sets(p[:400], y[:400], groups=code, per="marginal")
    shares = [grouped.predict(p[400:]).member[np.arange(400), y[400:]][code == g].mean() for g in range(50)]
    assert grouped.evaluate(p[400:], y[400:], groups=code)["all classes"].coverage == pytest.approx(np.mean(shares))
    whole = fit_sets(p[:400], y[:400], groups=code, per="marginal", cover="group", coverage=0.8)
    assert whole.evaluate(p[400:], y[400:], groups=code).unit == "group"


def test_another_level_from_the_same_cases() -> None:
    p, y = cases()
    np.testing.assert_array_equal(fit_sets(p, y).with_coverage(0.8).thresholds, fit_sets(p, y, coverage=0.8).thresholds)
    with pytest.raises(ValueError, match="needs at least"):
        fit_sets(p, y).with_coverage(0.999)


P, Y = cases()
MANY = lw.MultiLabelEnsemble(P[None])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: fit_sets(P, np.where(Y == 1, 7, Y)), r"`y_cal` must lie between 0 and 3 .* got 7"),
        (lambda: fit_sets(ensemble(P), ["nevuss"] * 400), "unknown class 'nevuss' in row 0. Did you mean 'nevus'"),
        (lambda: fit_sets(P[Y != 1], Y[Y != 1]), r"⌈1/\(1 − 0\.9\)⌉ − 1 = 9 calibration cases of each class or event; '1' has 0.*pool rare classes"),
        (lambda: fit_sets(P[:5], Y[:5], per="marginal"), r"needs at least .* = 9 calibration cases; got 5"),
        (lambda: fit_sets(P, Y, coverage=1.0), "`coverage` must lie strictly between 0 and 1, such as 0.9; got 1.0"),
        (lambda: fit_sets(P, Y, coverage=90), "`coverage` must lie strictly"),
        (lambda: fit_sets(P, Y, coverage=True), "`coverage` must lie strictly"),
        (lambda: fit_sets(MANY, Y), "may occur together.*fit_labels"),
        (lambda: fit_sets(P, np.ones((400, 4), int)), "labels that may occur together"),
        (lambda: fit_sets(P, Y, groups=np.arange(399)), "`groups` must name the group of each of the 400 instances"),
        (lambda: fit_sets(P, Y, groups=np.arange(400) // 80), r"needs at least .* = 9 groups of each class or event; '0' has 5"),
        (lambda: fit_sets(P, Y, groups=np.arange(400), cover="patient"), "`cover` must be 'case'"),
        (lambda: fit_sets(P, Y, cover="group"), "needs `groups`"),
        (lambda: fit_sets(P, Y, per="klass"), "`per` must be 'class', 'marginal'.*Did you mean 'class'"),
        (lambda: fit_sets(P, Y, per=3), "`per` must be 'class'"),
        (lambda: fit_sets(P, Y, per=lw.events.one_vs_one(4)), "conditional events"),
        (lambda: fit_sets(P, Y, per={"rare": [9]}), "names class 9"),
        (lambda: fit_sets(P, Y, score="raps"), "`score` must be 'lac' or 'aps'"),
        (lambda: fit_sets(P, Y, prevalence=[0.25] * 4), "for per='marginal'"),
        (lambda: fit_sets(P, Y, per="marginal", prevalence=[0.5] * 4), "sum to 1"),
        (lambda: fit_sets(ensemble(P), Y, per="marginal", prevalence={"nevus": 1}), "share of each class; got 1 of 4"),
        (lambda: fit_sets(P[Y > 0], Y[Y > 0], per="marginal", prevalence=[0.25] * 4), "no calibration case has it"),
        (lambda: fit_sets(P, Y, per="marginal", prevalence=[0.25] * 4, groups=Y), "cannot be combined with `groups`"),
        (lambda: fit_sets(P, Y, source_prevalence=[0.25] * 4), "only with `prevalence`"),
        (lambda: fit_sets(P, Y, smoothed=True), "pass `rng`"),
        (lambda: fit_sets(P, Y, smoothed=True, rng=0).predict(P), "pass `rng`"),
        (lambda: fit_sets(P, Y, smoothed=True, rng=0, groups=Y), "not with `groups`"),
        (lambda: fit_sets(P, Y).predict(P, rng=0), "not random"),
        (lambda: fit_sets(P, Y).predict(P[:, :3] / P[:, :3].sum(axis=1, keepdims=True)), "4 classes of the calibration cases; got K = 3"),
        (lambda: fit_sets(ensemble(P), Y).predict(lw.Ensemble(P[None], class_names=NAMES[::-1])), "class 0 is 'angioma' instead of 'nevus'"),
        (lambda: fit_sets(P * 2, Y), "between 0 and 1"),
        (lambda: fit_sets(P / 2, Y), "must sum to 1"),
        (lambda: fit_sets(P, Y, shape=lw.events.one_vs_one(4)), "`shape` must be"),
        (lambda: fit_sets(P, Y, shape=lw.events.tree({"a": [0, 1]})), "must contain every class; '2' is missing"),
        (lambda: fit_sets(P, Y, groups=np.arange(400)).evaluate(P, Y), "pass the group of each case"),
        (lambda: fit_labels(MANY, np.ones((400, 4), int)), r"`false_alarm_rate` 0\.1 needs at least 9 calibration cases without the label '0'; got 0"),
        (lambda: fit_labels(P, Y, method="ltt"), "`method` must be"),
        (lambda: fit_labels(P, Y, confidence=0.9), "for method='learn_then_test'"),
        (lambda: fit_labels(P, Y, method="learn_then_test", groups=Y), "need method='risk_control'"),
        (lambda: fit_labels(P, Y, miss_rate=0), "`miss_rate` must lie strictly"),
        (lambda: cluster_classes(P, Y, n_clusters=5), "`n_clusters` must be at most"),
        (lambda: fit_sets(P, Y, per=cluster_classes(ensemble(P), Y, n_clusters=2)), "made for other classes"),
        (lambda: estimate_prevalence(P, Y, P[:, :2]), "`q_new` must"),
        (lambda: estimate_prevalence(P, Y, P, method="x"), "`method` must"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()
