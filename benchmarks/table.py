"""What is measured: the rows of the table, each with its data, the plain formula, the call of
labelwise, and the target.

Only the public API is used. ``N`` instances are those of the full size; `labelwise` and the plain
formulas of a row must agree.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import plain
import values
from files import copied, stored

import labelwise as lw

Run = Callable[[Any], Any]
"""From the data of a row to the results."""


@dataclass(frozen=True)
class Measured:
    """Seconds of a row's contenders: "ours", those of `Row.plain` by name, and "reference"."""

    seconds: Mapping[str, float]
    count: int
    """Predictions, or labels of a distribution, that the row is about."""

    @property
    def ratio(self) -> float | None:
        """How many times longer the plain formula takes: the first that the row names."""
        names = [name for name in self.seconds if name not in ("ours", "reference")]
        return self.seconds[names[0]] / self.seconds["ours"] if names else None


@dataclass(frozen=True)
class Target:
    """What a row is to reach."""

    text: str
    reached: Callable[[Measured], bool]


def at_least(ratio: float) -> Target:
    """The plain formula takes at least ``ratio`` times as long."""
    return Target(f"≥ {ratio:g}", lambda m: m.ratio is not None and m.ratio >= ratio)


def each(nanoseconds: float, what: str = "prediction") -> Target:
    words = f"{nanoseconds:g} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:g} µs"
    return Target(
        f"≤ {words} a {what}", lambda m: m.seconds["ours"] <= 1e-9 * nanoseconds * m.count
    )


def within(seconds: float) -> Target:
    return Target(f"< {seconds:g} s", lambda m: m.seconds["ours"] < seconds)


def times_reference(factor: float, plus: float, text: str) -> Target:
    return Target(text, lambda m: m.seconds["ours"] <= factor * m.seconds["reference"] + plus)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    data: Callable[[Row], Any]
    """Made once, before anything is timed."""
    ours: Run
    target: Target
    plain: Mapping[str, Run] = field(default_factory=dict)
    """By what it is written with. The first is what the target is about; if any is faster, the row
    is flagged.
    """
    shape: tuple[int, ...] = (5, 200_000, 10)
    dtype: str = "float32"
    values: str = "real"
    """One of `values.RANGES`, or empty where the data are not an ensemble."""
    reference: Run | None = None
    """Another call that the target is about."""
    tolerance: float = 1e-4
    """How far plain formula and labelwise may differ, in units of the loss; Monte Carlo much."""
    compared: Callable[[Any], Any] = lambda data: ...
    """Which results are compared."""

    @property
    def size(self) -> str:
        return " × ".join(f"{n:,}" for n in self.shape)

    def smaller(self, factor: int) -> Row:
        """The same with fewer instances (files: fewer rows)."""
        *rest, n, k = self.shape
        return replace(self, shape=(*rest, max(min(n, 100), n // factor), k))


def _parts(u: Any) -> tuple[Any, ...]:
    s = u.sum()
    return u.total, u.aleatoric, u.epistemic, s.total, s.aleatoric, s.epistemic


def ensemble(row: Row) -> np.ndarray:
    return values.ensemble(row.values, row.shape, row.dtype)


def decomposed(loss: Any = "log", **options: Any) -> Run:
    """lw.decompose of an ensemble, with the validation of the input."""
    return lambda p: _parts(lw.decompose(lw.Ensemble(p), loss, **options))


def tensor(row: Row) -> Any:
    import torch

    return torch.from_numpy(ensemble(row))


def torch_gradient(p: Any) -> Any:
    p = p.detach().requires_grad_()
    lw.decompose(lw.Ensemble(p), "log").epistemic.sum().backward()
    return (p.grad,)


def _inside(p: Any) -> Any:
    """Where the slopes of the plain formula have digits left."""
    p = p.numpy()
    return (p > 1e-3) & (p < 1 - 1e-3) & (p.mean(0) < 1 - 1e-3)


def jax_array(row: Row) -> Any:
    import jax

    return jax.numpy.asarray(ensemble(row))


def _ready(f: Run) -> Run:
    """JAX returns before it has computed."""
    import jax

    return lambda p: jax.block_until_ready(f(p))


def jitted(f: Run) -> Run:
    import jax

    return _ready(jax.jit(f))


def accumulated(p: np.ndarray) -> Any:
    acc = lw.Accumulator("log")
    for member in p:
        acc.update(member)
    return _parts(acc.result())


COSTS = np.ones(10), np.linspace(1, 10, 10)
COST_LOSS = lw.CostLoss(*({str(k): float(x) for k, x in enumerate(cost)} for cost in COSTS))

LOSSES = [
    Row(
        "log", ensemble, decomposed(), at_least(20), {"SciPy": plain.log, "NumPy": plain.log_numpy}
    ),
    Row("squared", ensemble, decomposed("squared"), at_least(5), {"NumPy": plain.squared}),
    Row("spherical", ensemble, decomposed("spherical"), at_least(5), {"NumPy": plain.spherical}),
    Row("zero-one", ensemble, decomposed("zero_one"), at_least(5), {"NumPy": plain.zero_one}),
    Row(
        "cost, per class",
        ensemble,
        decomposed(COST_LOSS),
        at_least(5),
        {"NumPy": lambda p: plain.cost(p, *COSTS)},
        tolerance=1e-3,
    ),
    Row(
        "beta family (½, 2)",
        ensemble,
        decomposed(lw.BetaLoss(0.5, 2)),
        at_least(1),
        {"SciPy": lambda p: plain.beta(p, 0.5, 2)},
    ),
    Row(
        "ordinal events, 9 cuts, log",
        ensemble,
        decomposed(events=lw.events.ordinal(10)),
        at_least(4),
        {"SciPy": plain.ordinal},
    ),
    Row("Accumulator, log", ensemble, accumulated, at_least(3), {"SciPy": plain.streamed}),
]


def other_libraries() -> list[Row]:
    """PyTorch and JAX, which take seconds to import."""
    near = times_reference(1.1, 50e-6, "≤ 1.1 × the NumPy call + 50 µs")
    log = decomposed()
    jax_log = _ready(plain.jax_log)
    return [
        Row(
            "torch, no gradient, log",
            tensor,
            log,
            near,
            {"torch": plain.torch_log},
            reference=lambda p: log(p.numpy()),
        ),
        Row(
            "torch, EU forward + backward",
            tensor,
            torch_gradient,
            at_least(2),
            {"torch": lambda p: (plain.torch_gradient(p),)},
            shape=(5, 20_000, 10),
            tolerance=1e-2,
            compared=_inside,
        ),
        Row(
            "JAX, jit, log",
            jax_array,
            jitted(log),
            at_least(0.7),
            {"jnp, jit": jitted(plain.jax_log)},
        ),
        Row(
            "JAX, eager, log",
            jax_array,
            _ready(log),
            at_least(1),
            {"jnp, eager": jax_log, "jnp, jit": jitted(plain.jax_log)},
        ),
    ]


def shapes(quick: bool = False) -> list[Row]:
    """The main call on real predictions, on many classes, and on few predictions."""
    log, squared = LOSSES[0], LOSSES[1]
    found = [
        replace(log, shape=(5, 400_000, 10)),
        replace(log, shape=(5, 400_000, 10), dtype="float64", target=at_least(10)),
        replace(log, shape=(8, 8, 128_000), values="confident", target=at_least(15)),
        replace(log, shape=(10, 5_000, 1000), values="smooth", target=at_least(15)),
        replace(log, shape=(5, 100, 10), target=at_least(1)),
        replace(squared, shape=(5, 400_000, 10)),
        replace(squared, shape=(5, 400_000, 10), dtype="float64"),
        replace(squared, shape=(5, 100, 10), target=at_least(1)),
    ]
    if quick:
        return found
    compiled = plain.torch_compiled(plain.torch_log)  # takes some ten seconds
    return [
        *found,
        Row(
            "torch, no gradient, log",
            tensor,
            decomposed(),
            at_least(1),
            {"torch.compile": compiled},
        ),
    ]


def _dirichlet(row: Row) -> np.ndarray:
    return values.dirichlet(row.shape)


def _of_dirichlet(loss: str) -> Run:
    return lambda alpha: _parts(lw.decompose(lw.Dirichlet(alpha), loss))


def _gaussian(row: Row) -> tuple[np.ndarray, np.ndarray]:
    return values.gaussian(*row.shape)


def _made(
    name: str,
    data: Any,
    ours: Run,
    target: Target,
    formula: Mapping[str, Run],
    shape: tuple[int, ...],
    tolerance: float,
) -> Row:
    return Row(name, data, ours, target, formula, shape, "float64", "", tolerance=tolerance)


DISTRIBUTIONS = [
    _made(
        "Dirichlet, log",
        _dirichlet,
        _of_dirichlet("log"),
        at_least(4),
        {"SciPy": plain.dirichlet_log},
        (200_000, 10),
        1e-9,
    ),
    _made(
        "Dirichlet, zero-one",
        _dirichlet,
        _of_dirichlet("zero_one"),
        each(1000, "label"),
        {"SciPy": plain.dirichlet_zero_one},
        (20_000, 10),
        1e-9,
    ),
    _made(
        "Dirichlet, spherical",
        _dirichlet,
        _of_dirichlet("spherical"),
        each(2000, "label"),
        {"200 draws": plain.dirichlet_spherical},
        (20_000, 10),
        0.1,
    ),
    _made(
        "DirichletMixture, log",
        _dirichlet,
        lambda alpha: _parts(lw.decompose(lw.DirichletMixture(alpha), "log")),
        at_least(4),
        {"SciPy": plain.mixture_log},
        (5, 40_000, 10),
        1e-9,
    ),
    _made(
        "LogisticNormal, full covariance, log",
        _gaussian,
        lambda q: _parts(lw.decompose(lw.LogisticNormal(*q), "log")),
        at_least(1),
        {"1,000 draws": lambda q: plain.logistic_normal(*q)},
        (2_000, 10),
        0.5,
    ),
]


def _decision(row: Row) -> tuple[Any, Any]:
    n, k = row.shape
    costs = np.random.default_rng(3).uniform(1, 20, (k, k)) * (1 - np.eye(k))
    return lw.Dirichlet(values.dirichlet((n, k))), lw.decisions.Costs(costs, ask=1.0)


def _decide(problem: tuple[Any, Any]) -> Any:
    return lw.decisions.decide(*problem, task="multiclass")


DECISIONS = [
    _made(
        "decide on Dirichlets: actions, value of a label",
        _decision,
        lambda x: [(p := _decide(x)).action, p.value_of_label],
        within(0.1),
        {},
        (3_000, 7),
        0,
    ),
    _made(
        "decide on Dirichlets: value of knowledge",
        _decision,
        lambda x: _decide(x).value_of_knowledge,
        within(2),
        {},
        (3_000, 7),
        0,
    ),
]


def quantified(suffix: str) -> Row:
    """A file of 1 GB, with labelwise and as a mere copy; both are removed at once."""

    def data(row: Row) -> tuple[tempfile.TemporaryDirectory[str], Path, Path]:
        folder = tempfile.TemporaryDirectory(prefix="labelwise-bench-")
        source = Path(folder.name, f"predictions{suffix}")
        stored(source, ensemble(row))
        values.forget()
        return folder, source, Path(folder.name, f"results{suffix}")

    def removed(f: Callable[[Path, Path], Any], files: tuple[Any, Path, Path]) -> None:
        _, source, target = files
        f(source, target)
        shutil.rmtree(target) if target.is_dir() else target.unlink()

    near = times_reference(3, 0, "≤ 3 × reading and writing")
    return Row(
        f"quantify {suffix}",
        data,
        partial(removed, lw.quantify),
        near,
        shape=(5, 5_000_000, 10),
        reference=partial(removed, copied),
    )
