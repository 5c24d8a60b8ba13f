"""The study of acquisition: its arms, its rule, the level of its tests, and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

import labelwise as lw

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def claims(load: Any) -> Any:
    return load("acquisition_claims")


def test_scores_are_crossed_with_turns(claims: Any) -> None:
    scores = ("label-wise", "BALD", "entropy", "random")
    assert set(claims.ARMS) == {
        *scores,
        *(f"{score}, in turn" for score in scores),
        "label-wise, in turn by predicted class",
    }
    for contrast in (claims.PRIMARY, *claims.OTHERS):
        assert set(contrast) <= set(claims.ARMS)


def test_classes_take_turns(claims: Any) -> None:
    """Against a loop that hands out one case at a time."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        score, predicted = rng.random(30), rng.choice(4, 30, p=[0.6, 0.25, 0.1, 0.05])
        classes, counts = np.unique(predicted, return_counts=True)
        queues = [
            sorted(np.flatnonzero(predicted == k), key=lambda i: -score[i])
            for k in classes[np.argsort(counts, kind="stable")]
        ]
        expected: list[int] = []
        while any(queues):
            expected += [queue.pop(0) for queue in queues if queue]
        assert claims.take_turns(score, predicted, 12).tolist() == expected[:12]


def test_every_arm_chooses_a_budget_of_cases(claims: Any) -> None:
    probs = np.random.default_rng(0).dirichlet([1, 0.5, 0.2], (5, 40))
    q = lw.Ensemble(probs)
    chosen = {
        arm: strategy(q, 10, np.random.default_rng(1)).tolist()
        for arm, strategy in claims.ARMS.items()
    }
    assert all(len(set(cases)) == 10 for cases in chosen.values())
    assert all(0 <= case < 40 for cases in chosen.values() for case in cases)
    assert len({tuple(cases) for cases in chosen.values()}) == len(claims.ARMS)
    predicted = probs.mean(axis=0).argmax(axis=1)
    every = set(predicted.tolist())
    first = chosen["label-wise, in turn by predicted class"][: len(every)]
    assert set(predicted[first].tolist()) == every


def test_the_rule_leaves_out_ceilings_small_sets_and_noise(claims: Any) -> None:
    assert claims.eligible(1000, 10, 0.5)
    assert not claims.eligible(150, 3, 0.5)
    assert not claims.eligible(1000, 10, 0.96)
    assert not claims.eligible(1000, 10, 0.19)
    assert claims.budget_of(1500) == 20
    assert claims.INITIAL + claims.ROUNDS * claims.budget_of(217) <= 217 / 2


def test_balanced_sets_are_thinned_and_splits_share_no_case(load: Any) -> None:
    study = load("acquisition")
    y = np.repeat(np.arange(5), 400)
    x = np.arange(2000.0)[:, None]
    data = study.divide(x, y, 0)
    sizes = np.sort(np.bincount(data["y"]))
    assert 8 < sizes[-1] / sizes[0] < 12
    assert len(data["y_test"]) == 600
    # standardized by the pool; the order of values tells the cases apart
    assert not set(data["X"].ravel()) & set(data["X_test"].ravel())
    unequal = study.divide(x, (np.arange(2000) < 400).astype(int), 0)
    assert np.bincount(unequal["y"]) == pytest.approx([1120, 280], abs=40)
    assert study.pooled(np.full((2, 28, 28), 255)) == pytest.approx(16)


def test_a_unit_is_the_curves_of_all_arms(load: Any, monkeypatch: Any) -> None:
    study = load("acquisition")
    arms = {arm: study.ARMS[arm] for arm in ("label-wise, in turn", "BALD, in turn")}
    monkeypatch.setattr(study, "ARMS", arms)
    x, y = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
    unit = study.run("made", x, y, "forest", 0)
    first, second = unit["balanced accuracy"].values()
    assert len(first) == 9
    assert first[0] == second[0]  # the same labels and fit to begin with
    assert sum(unit["labels by class"]["BALD, in turn"]) == unit["labeled"][-1]
    described = study.describe("made", x, y)
    assert described["counts"]
    assert not study.describe("made", x[:60], y[:60])["counts"]


def test_without_an_effect_little_is_shown(claims: Any) -> None:
    """The primary contrast, and any of the others, in at most 5 % of studies of ten sets."""
    rng = np.random.default_rng(0)
    primary, others, studies = 0, 0, 400
    for _ in range(studies):
        areas = {
            f"set {i}": dict(zip(claims.ARMS, rng.normal(rng.random(), 0.1, 9), strict=True))
            for i in range(10)
        }
        first, *rest = claims.examine_claims(areas)
        primary += first["shown"]
        others += any(record["shown"] for record in rest)
    noise = 3 * (0.05 * 0.95 / studies) ** 0.5
    assert primary / studies <= 0.05 + noise
    assert others / studies <= 0.05 + noise


def test_the_page_shows_the_stored_curves(load: Any) -> None:
    results = json.loads((STUDIES / "acquisition.json").read_text())
    page = (STUDIES / "acquisition.md").read_text()
    assert load("acquisition_page").page(results) == page
    assert ".695" in page.replace("0.695", ".695")  # what made the hypothesis stays


def results(claims: Any, better: float) -> dict[str, Any]:
    """Stored results of ten data sets where the primary arm is better by so much."""
    rng = np.random.default_rng(0)
    units = []
    for i in range(10):
        for family in ("forest", "logistic"):
            areas = dict.fromkeys(claims.ARMS, 0.5) | {"label-wise, in turn": 0.5 + better}
            curves = {arm: [area + rng.normal(0, 0.001)] for arm, area in areas.items()}
            unit = {"name": f"set {i}", "family": family, "split": 0}
            units.append(unit | {"balanced accuracy": curves})
    rule = [
        {"name": f"set {i}", "cases": 500, "classes": [300, 200]}
        | {"balanced accuracy": 0.7, "counts": True}
        for i in range(10)
    ]
    earlier = {"hypothyroid": {"random": "0.5 ± 0.1"}}
    return {"splits": 1, "minutes": 1, "rule": rule, "units": units, "earlier": earlier}


@pytest.mark.parametrize(
    ("better", "words"), [(0.1, "**Yes**"), (-0.1, "**No**"), (0, "**Not shown**")]
)
def test_the_answer_follows_from_the_numbers(
    load: Any, claims: Any, better: float, words: str
) -> None:
    page = load("acquisition_page").page(results(claims, better))
    assert page.splitlines()[4].startswith(words)


def test_finished_units_are_kept(load: Any, tmp_path: Any, monkeypatch: Any) -> None:
    units = load("units")
    path = tmp_path / "work" / "units.jsonl"
    assert units.finished(path) == {}
    units.keep(path, {"unit": "a", "x": 1})
    path.write_text(path.read_text() + '{"unit": "b", "x"')  # the machine stopped
    units.keep(path, {"unit": "c", "x": 3})
    assert {name: record["x"] for name, record in units.finished(path).items()} == {"a": 1, "c": 3}
    pause = tmp_path / "pause"
    pause.touch()
    monkeypatch.setenv("LABELWISE_PAUSE", str(pause))
    monkeypatch.setattr(units.time, "sleep", lambda seconds: pause.unlink())
    units.wait_while_paused()
    assert not pause.exists()
