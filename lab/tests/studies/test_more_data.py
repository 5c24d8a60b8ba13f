"""The study of epistemic uncertainty and more data: its draws, its statistics, and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture
def claims(load: Any) -> Any:
    return load("more_data_claims")


def test_draws_of_fashion_mnist_share_no_image(load: Any) -> None:
    study = load("more_data")
    y = np.random.default_rng(0).integers(0, 10, 70_000)
    seen: set[int] = set()
    for number in range(study.DRAWS):
        training, test = study.draw("fashion-mnist", y, number)
        assert (len(training), len(test)) == (2400, 3000)
        assert set(np.bincount(y[training[:75]], minlength=10)) == {7, 8}
        drawn = {*training.tolist(), *test.tolist()}
        assert len(drawn) == 5400
        assert not seen & drawn
        seen |= drawn


def test_noise_stays_within_its_classes(claims: Any) -> None:
    y = np.tile(np.arange(10), 2000)
    noisy = claims.noisy(y, np.random.default_rng(0))
    assert np.array_equal(noisy[y >= 5], y[y >= 5])
    changed = noisy[y < 5] != y[y < 5]
    assert np.mean(changed) == pytest.approx(claims.NOISE, abs=0.02)
    assert noisy[y < 5].max() == 4


def test_rank_correlation_is_scipys(claims: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 6, (2, 10))
        assert claims.spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)
    assert claims.spearman(np.zeros(10), np.arange(10)) == 0


def units(claims: Any, rng: Any, signal: float = 0.0, draws: int = 12) -> list[dict[str, Any]]:
    """Stored units whose EU follows the gain as much as ``signal`` says."""
    found = []
    for number in range(draws):
        for data, model, arm in claims.CELLS:
            after = rng.random((6, 10))
            scores = {score: rng.random((6, 10)) for score in ("EU", "TU", "error")}
            scores["EU"] += signal * (after - after[-1])
            about = {"data": data, "model": model, "arm": arm, "draw": number}
            found.append(about | {key: x.tolist() for key, x in scores.items()})
            found[-1]["after"] = after.tolist()
    return found


def test_without_an_effect_little_is_shown(claims: Any, monkeypatch: Any) -> None:
    """The primary contrast, and any of the others, in at most 5 % of studies, also where the
    contrasts depend on each other.
    """
    rng = np.random.default_rng(0)
    primary, others, studies = 0, 0, 400
    for _ in range(studies):
        common = rng.normal(size=claims.DRAWS)
        monkeypatch.setattr(
            claims, "by_draw", lambda *about, c=common: c + rng.normal(size=claims.DRAWS)
        )
        first, *rest = claims.examine_claims([])
        primary += first["shown"]
        others += any(record["shown"] for record in rest)
    noise = 3 * (0.05 * 0.95 / studies) ** 0.5
    assert primary / studies <= 0.05 + noise
    assert others / studies <= 0.05 + noise


def test_scores_without_a_relation_to_the_gain_favor_no_side(claims: Any) -> None:
    values = claims.by_draw(
        units(claims, np.random.default_rng(0), draws=60), claims.PRIMARY, "digits"
    )
    assert len(values) == 60
    assert abs(values.mean()) < 3 * values.std() / 60**0.5


@pytest.mark.parametrize(
    ("signal", "words"), [(1, "**Yes**"), (-1, "**No**"), (0, "**Not shown**")]
)
def test_the_answer_follows_from_the_numbers(
    load: Any, claims: Any, signal: float, words: str
) -> None:
    stored = {"draws": 12, "minutes": 1, "units": units(claims, np.random.default_rng(1), signal)}
    page = load("more_data_page").page(stored)
    assert page.splitlines()[4].startswith(words)


def test_a_unit_measures_claims_and_gains(load: Any, monkeypatch: Any) -> None:
    study = load("more_data")
    monkeypatch.setattr(study, "SIZES", {"digits": (30, 60)})
    x, y = study.load("digits", None)
    for model in ("forest", "mlp"):
        unit = study.run("digits", x, y, model, "clean", 0)
        scores = {key: np.array(unit[key]) for key in ("EU", "TU", "error", "after")}
        assert all(values.shape == (2, 10) for values in scores.values())
        assert np.all(scores["EU"] <= scores["TU"])
        assert scores["after"].sum(axis=1) == pytest.approx(scores["error"].sum(axis=1), rel=0.2)


def test_mlps_follow_their_gradient_and_learn(load: Any) -> None:
    mlps = load("more_data_mlps")
    x, y = load("more_data").load("digits", None)
    networks = mlps.train_mlps(x[:600], y[:600], 0, steps=300)
    probs = networks.predict(x[600:])
    assert probs.shape == (5, 1197, 10)
    assert np.all((probs.argmax(axis=-1) == y[600:]).mean(axis=1) > 0.85)
    networks.parameters = networks.parameters.astype(float)
    batch = x[None, :8].repeat(5, axis=0)
    labels = y[None, :8].repeat(5, axis=0)

    def loss() -> float:  # of the first member
        return -np.log(networks.predict(x[:8])[0, np.arange(8), y[:8]]).mean()

    gradient = networks.gradient(batch, labels)
    for i in (3000, 4100, 4300, -1):  # of each layer
        before = networks.parameters[0, i]
        ends = []
        for step in (1e-5, -1e-5):
            networks.parameters[0, i] = before + step
            ends.append(loss())
        networks.parameters[0, i] = before
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(gradient[0, i], rel=1e-3, abs=1e-8)


def test_the_page_shows_the_stored_units(load: Any) -> None:
    results = json.loads((STUDIES / "more_data.json").read_text())
    assert load("more_data_page").page(results) == (STUDIES / "more_data.md").read_text()
