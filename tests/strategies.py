"""What tests draw from: losses, distributions, and hypothesis strategies for predictions that are
valid but nasty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import labelwise as lw

SMOOTH = [
    lw.LogLoss(),
    lw.LogLoss(base=10),
    lw.SquaredLoss(),
    lw.SphericalLoss(),
    lw.BetaLoss(0.5, 2.0),
    lw.BetaLoss(-0.5, -0.5),
    lw.CustomLoss(lambda f, y: 4 * (1 - f) ** 2 if y else 4 * f**2),
]
LOSSES = [*SMOOTH, lw.ZeroOneLoss(), lw.CostLoss(1.0, 9.0)]


def loss_id(loss: Any) -> str:
    return str(loss).partition("(function")[0]


def distributions(array: Callable[[Any], Any] = np.asarray, n: int = 2, k: int = 3) -> list[Any]:
    """One distribution of each kind for ``n`` instances of ``k`` classes."""
    rng = np.random.default_rng(7)
    probs = rng.dirichlet(np.ones(k), (4, n))
    root = rng.normal(size=(n, k, k))
    return [
        lw.Ensemble(array(probs)),
        lw.Ensemble(array(probs), weights=[1, 2, 3, 4]),
        lw.Dirichlet(array(rng.gamma(2.0, size=(n, k)) + 0.1)),
        lw.DirichletMixture(array(rng.gamma(2.0, size=(3, n, k)) + 0.1)),
        lw.LogisticNormal(
            array(rng.normal(size=(n, k))), array(rng.gamma(2.0, size=(n, k))), points=64
        ),
        lw.LogisticNormal(
            array(rng.normal(size=(n, k))), array(root @ np.swapaxes(root, -1, -2)), points=64
        ),
        lw.MultiLabelEnsemble(array(rng.random((4, n, k)))),
    ]


KINDS = [
    "Ensemble",
    "weighted Ensemble",
    "Dirichlet",
    "DirichletMixture",
    "diagonal LogisticNormal",
    "LogisticNormal",
    "MultiLabelEnsemble",
]

# Unnormalized probabilities: ordinary, equal, exactly zero, and so small that they vanish beside
# the others.
_mass = st.one_of(st.floats(0.01, 1.0), st.just(1.0), st.just(0.0), st.floats(1e-300, 1e-12))


@st.composite
def probabilities(
    draw: Any, members: tuple[int, int] = (1, 5), classes: tuple[int, int] = (2, 6)
) -> np.ndarray:
    """(M, 1, K): the predictions of M members for one instance."""
    m, k = draw(st.integers(*members)), draw(st.integers(*classes))
    rows = [
        draw(st.lists(_mass, min_size=k, max_size=k).filter(lambda row: max(row) >= 0.01))
        for _ in range(m)
    ]
    probs = np.array(rows)[:, None, :]
    return np.asarray(probs / probs.sum(-1, keepdims=True))


@st.composite
def alphas(draw: Any, classes: tuple[int, int] = (2, 6)) -> np.ndarray:
    """(1, K): concentrations between 1e-3 and 1e4."""
    k = draw(st.integers(*classes))
    return 10.0 ** np.array([draw(st.lists(st.floats(-3, 4), min_size=k, max_size=k))])


@st.composite
def partitions(draw: Any, k: int) -> list[list[int]]:
    """The positions 0 … k−1 in at least two groups."""
    order = draw(st.permutations(range(k)))
    cuts = sorted(draw(st.sets(st.integers(1, k - 1), min_size=1, max_size=k - 1)))
    return [list(order[i:j]) for i, j in zip([0, *cuts], [*cuts, k], strict=True)]
