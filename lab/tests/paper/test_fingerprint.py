"""Levels and differences against the paper's Table 1, from made-up predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import labelwise as lw
from labelwise_lab.paper import fingerprint
from labelwise_lab.paper.fingerprint import (
    COMPARED,
    FLOAT32,
    QUANTITIES,
    SHUFFLES,
    Quantity,
    _auroc,
    _disjoint,
    _distances,
    by_members,
    is_candidate,
)
from labelwise_lab.paper.prediction_files import write_predictions
from labelwise_lab.paper.records import distinct, pick, select
from labelwise_lab.paper.results_folder import Options
from labelwise_lab.paper.scores import epistemic_in_float32

SETS = ("fashion-mnist", "mnist", "kmnist")


def members(n: int, seed: int = 0, size: int = 200) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    known = rng.dirichlet(np.ones(4), size)
    inside = 0.9 * known + 0.1 * rng.dirichlet(np.ones(4), (n, size))
    return {
        "fashion-mnist": inside,
        **{name: rng.dirichlet(np.ones(4), (n, size)) for name in SETS[1:]},
    }


def test_groups_share_no_member_and_leave_out_as_few_as_possible() -> None:
    for total, size in ((25, 10), (25, 5), (4, 3)):
        dealt = list(_disjoint(total, size))
        assert len(dealt) == SHUFFLES
        for groups in dealt:
            assert [len(group) for group in groups] == [size] * (total // size)
            assert len(np.unique(np.concatenate(groups))) == size * (total // size)
    (groups,) = _disjoint(4, 4)
    assert groups[0].tolist() == [0, 1, 2, 3]


def test_auroc_with_ties_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 200), rng.integers(2, 12, 150)
    assert _auroc(a, b) == pytest.approx(roc_auc_score([0] * 200 + [1] * 150, [*a, *b]), abs=1e-12)


def test_every_size_and_all_members_as_the_detector_says() -> None:
    of = members(4)
    found = by_members(of)
    assert distinct(found, "members") == [2, 3, 4]

    def mean(size: int, name: str, measure: str, minus: str | None = None) -> float:
        about = {"set": name, "measure": measure, "minus": minus}
        return pick(found, members=size, **about)["mean"]

    eu = {name: lw.decompose(lw.Ensemble(p), "squared").sum().epistemic for name, p in of.items()}
    expected = lw.evaluation.detection_scores(eu["fashion-mnist"], eu["kmnist"]).auroc.value
    assert mean(4, "kmnist", "variance") == pytest.approx(expected)
    assert all(cell["sd"] is None for cell in select(found, members=4))
    assert all(cell["sd"] > 0 for cell in select(found, members=2))
    gap = mean(3, "mnist", "variance") - mean(3, "mnist", "entropy")
    assert mean(3, "mnist", "variance", "entropy") == pytest.approx(gap)


def test_single_precision_is_the_published_formula_and_close_for_plain_members() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5), (3, 50))
    found = epistemic_in_float32(p)
    u = lw.decompose(lw.Ensemble(p), "log")
    np.testing.assert_allclose(
        found["variance"], lw.decompose(lw.Ensemble(p), "squared").sum().epistemic, rtol=1e-4
    )
    np.testing.assert_allclose(found["label-wise entropy"], u.sum().epistemic, rtol=1e-4)
    np.testing.assert_allclose(
        found["entropy"], lw.joint.decompose(lw.Ensemble(p)).epistemic, rtol=1e-4
    )
    single = p.astype(np.float32)
    kl = stats.entropy(
        single, np.broadcast_to(single.mean(axis=0), single.shape), axis=-1, base=2
    ).mean(axis=0)
    np.testing.assert_allclose(found["entropy"], kl, rtol=1e-4)
    sure = np.full((2, 1, 3), [1 - 2e-9, 1e-9, 1e-9])
    sure[1, 0] = [1 - 6e-9, 3e-9, 3e-9]
    assert lw.decompose(lw.Ensemble(sure), "squared").sum().epistemic[0] > 0
    assert abs(epistemic_in_float32(sure)["variance"][0]) < 1e-15  # lost in rounding


def test_distances_count_each_source_of_error() -> None:
    spread = dict.fromkeys(QUANTITIES, 0.002)
    values = dict.fromkeys(QUANTITIES, 0.9)
    found = _distances(values, spread, 1 / 4)
    level = (0.9 - 0.895) / np.sqrt(0.002**2 / 4 + 0.017**2 / 4 + 0.001**2 / 12)
    difference = (0.9 - (0.894 - 0.895)) / np.sqrt(0.002**2 / 4 + 0.002**2 / 5 + 2 * 0.001**2 / 12)
    assert found[Quantity("mnist", "entropy")] == pytest.approx(level)
    assert found[Quantity("mnist", "label-wise entropy", "entropy")] == pytest.approx(difference)


def store(folder: Path, runs: Sequence[int]) -> None:
    for run in runs:
        (folder / f"run-{run}").mkdir(parents=True, exist_ok=True)
        for name, p in members(2, run).items():
            write_predictions(folder / f"run-{run}" / f"{name}.npz", p, None, list("abcd"))


def test_a_training_is_kept_as_ranks(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fingerprint, "SIZES", range(2, 4))
    store(tmp_path / "fashion-mnist-paper", range(2))
    other = tmp_path / "fashion-mnist-paper-5-epochs"
    store(other, [0])
    numbers = fingerprint.run(Options(tmp_path), [other])
    again = select(numbers["trainings"], training="fashion-mnist-paper-5-epochs")
    assert (tmp_path / "fingerprint" / other.name / "run-0.npz").stat().st_size < 6000
    first = fingerprint._stored_runs(other)[0]
    exact = fingerprint._aurocs(first)
    assert len(again) == len(exact)
    for cell in again:
        assert cell["runs"] == 1
        assert cell["value"] == exact[Quantity(cell["set"], cell["measure"], cell["minus"])]
    assert distinct(numbers["trainings"], "training") == ["fashion-mnist-paper", other.name]
    assert select(again, set="mnist", measure=FLOAT32)
    with pytest.raises(
        FileNotFoundError, match="there are no predictions for fashion-mnist, mnist, kmnist"
    ):
        fingerprint.run(Options(tmp_path), [tmp_path])
    with pytest.raises(FileNotFoundError, match="needs several runs"):
        fingerprint.run(Options(tmp_path / "empty"))


def test_runs_of_another_machine_are_added_and_judge_a_candidate(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fingerprint, "SIZES", range(2, 3))
    monkeypatch.setattr(
        fingerprint, "is_candidate", lambda distances: set(COMPARED) <= set(distances)
    )
    store(tmp_path / "fashion-mnist-paper", range(3))
    here, there = (tmp_path / place / "fashion-mnist-code" for place in ("here", "there"))
    store(here, [0])
    numbers = fingerprint.run(Options(tmp_path), [here])
    assert numbers["candidates"] == ["fashion-mnist-code"]
    gaps = numbers["ours − paper's"]
    assert distinct(gaps, "training") == ["fashion-mnist-paper"]  # no fresh runs yet
    store(there, [1, 2, 4])
    (there / "run-of-the-mill").mkdir()  # is no run
    numbers = fingerprint.run(Options(tmp_path), [there])
    assert select(numbers["trainings"], training="fashion-mnist-code")[0]["runs"] == 4
    # three are shown, not judged: looking after each run would refute too often
    assert distinct(numbers["ours − paper's"], "training") == ["fashion-mnist-paper"]
    store(there, [5, 7])
    numbers = fingerprint.run(Options(tmp_path), [there])
    level = Quantity("mnist", "entropy")
    fresh = pick(numbers["ours − paper's"], training="fashion-mnist-code", **level._asdict())
    # without the run that made it a candidate, and without one too many
    assert fresh["seeds"] == [1, 2, 4, 5]
    runs = list(fingerprint._stored_runs(there).values())[:4]
    levels = [fingerprint._aurocs(sets)[level] for sets in runs]
    assert fresh["runs"] == levels
    assert fresh["mean"] == pytest.approx(np.mean(levels) - 0.895)
    theirs = (
        np.array([0.0, 0.0, 0.0, 1.0, -1.0]) * 0.017 * np.sqrt(5 / 2) + 0.895
    )  # mean and deviation as printed
    expected = stats.ttest_ind(levels, theirs, equal_var=False).confidence_interval(
        1 - 0.05 / len(COMPARED)
    )
    # but for the rounding of the paper's
    assert fresh["low"] == pytest.approx(expected.low, rel=1e-3)


def test_a_candidate_is_near_in_everything_that_is_compared() -> None:
    near = dict.fromkeys(COMPARED, 1.9)
    # as published, it is computed in single precision
    assert is_candidate({**near, Quantity("mnist", "variance", "entropy"): 3.3})
    assert not any(is_candidate({**near, key: -2.1}) for key in COMPARED)
