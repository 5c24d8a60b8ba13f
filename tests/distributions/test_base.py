"""A distribution of a user's own, written from CONTRIBUTING, works everywhere; and what all
distributions check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from labelwise import InputError
from labelwise.distributions.base import sum_of_other_classes
from strategies import KINDS, distributions
from wrong_input import refused

NAMES = ("nevus", "melanoma", "other")


# --- what a user writes: sticks broken at correlated Gaussian places
# ---------------------------------------------------------
@dataclass(frozen=True, eq=False)
class StickBreaking(lw.Distribution):
    """Θ_1 = v_1, Θ_2 = v_2 (1 − v_1), …, with logit(v) ~ N(loc, S Sᵀ); the last class gets what is
    left.
    """

    loc: np.ndarray  # (..., K − 1)
    root: np.ndarray  # S, (K − 1, K − 1)
    class_names: tuple[str, ...] | None = None

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.loc.shape[:-1]

    @property
    def n_classes(self) -> int:
        return self.loc.shape[-1] + 1

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        z = np.random.default_rng(rng).standard_normal((n, *self.loc.shape))
        v = 1 / (1 + np.exp(-(self.loc + z @ self.root.T)))
        left = np.cumprod(1 - v, axis=-1)
        return np.concatenate([v[..., :1], v[..., 1:] * left[..., :-1], left[..., -1:]], axis=-1)

    def marginal(self, events: Any = None) -> Any:
        return lw.Ensemble(
            self.sample(2000, rng=0), member_axis=0, class_names=self.class_names
        ).marginal(events)

    def __getitem__(self, index: Any) -> StickBreaking:
        return StickBreaking(self.loc[index], self.root, self.class_names)


# ----------------------------------------------------------------------


@pytest.fixture
def q() -> StickBreaking:
    loc = np.random.default_rng(0).normal(0, 2, (40, 2))
    return StickBreaking(loc, np.array([[0.8, 0.0], [0.4, 0.6]]), NAMES)


@pytest.fixture
def y_true(q: StickBreaking) -> np.ndarray:
    return np.argmax(q.sample(1, rng=1)[0], axis=-1)


def test_decompose(q: StickBreaking) -> None:
    u = lw.decompose(q)
    assert u.total.shape == (40, 3)
    assert u.class_names == NAMES
    draws = q.sample(2000, rng=0)
    np.testing.assert_allclose(lw.decompose(q, "squared").epistemic, draws.var(axis=0), rtol=1e-10)
    np.testing.assert_allclose(u.total, u.aleatoric + u.epistemic, rtol=1e-10)
    event = lw.decompose(q, "squared", events={"skin cancer": ["melanoma", "other"]})
    np.testing.assert_allclose(
        event.epistemic[:, 0], (draws[..., 1] + draws[..., 2]).var(axis=0), rtol=1e-9
    )
    assert lw.decompose(q[3]).total.shape == (3,)
    assert len(q[:7]) == 7
    np.testing.assert_allclose(q.mean(), draws.mean(axis=0))


def test_joint(q: StickBreaking) -> None:
    u = lw.joint.decompose(q)
    draws = q.sample(50_000, rng=2)
    entropy = -(draws * np.log2(draws)).sum(axis=-1).mean(axis=0)
    assert u.error is not None
    near = np.abs(u.aleatoric - entropy) < 3 * u.error.aleatoric + 0.01
    assert near.mean() > 0.95
    with pytest.raises(ValueError, match="no closed form"):
        lw.joint.mutual_information_by_class(q)


def test_decide_and_acquire(q: StickBreaking) -> None:
    costs = lw.decisions.Costs([[0, 1, 1], [20, 0, 5], [1, 1, 0]], class_names=NAMES, ask=0.5)
    plan = lw.decisions.decide(q, costs, task="multiclass")
    assert plan.action.shape == (40,)
    assert np.all(plan.value_of_knowledge >= 0)
    assert len(lw.decisions.acquire(q, budget=5).indices) == 5


def test_evaluate_and_calibrate(q: StickBreaking, y_true: np.ndarray) -> None:
    u = lw.decompose(q)
    correct = np.argmax(q.mean(), axis=-1) == y_true
    assert 0 <= lw.evaluation.rejection_curve(u.sum().total, correct=correct).area <= 1
    assert lw.evaluation.by_class(u, y_true).class_names == NAMES
    assert 0 <= lw.calibration.calibration_errors(q, y_true, n_bootstrap=100, rng=0).ece.value <= 1
    with pytest.raises(ValueError, match="must be an ensemble"):
        lw.evaluation.uncertainty_intervals(q)


def test_report(q: StickBreaking, y_true: np.ndarray, tmp_path: Any) -> None:
    path = tmp_path / "report.html"
    lw.report.write_report(path, q, y_true=y_true)
    assert "melanoma" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("q", distributions(), ids=KINDS)
def test_sampling(q: Any) -> None:
    for rng in (1.5, True, -1, "seed"):
        with refused(
            TypeError,
            "`rng` must be None, an integer seed from 0 or a numpy.random.Generator",
            f"got {rng!r}",
        ):
            q.sample(3, rng=rng)
    for n in (2.5, "3", True):
        with refused(
            InputError, "`n` must be a number of draws, an integer of at least 0", f"got {n!r}"
        ):
            q.sample(n, rng=0)
    with refused(InputError, "an integer of at least 0; got -1"):
        q.sample(-1, rng=0)


def test_sum_of_other_classes() -> None:
    x = np.array([[1.0, 1e-20, 0.0], [1e-20, 1e-20, 1.0]])
    np.testing.assert_array_equal(sum_of_other_classes(x), [[1e-20, 1, 1], [1, 1, 2e-20]])
