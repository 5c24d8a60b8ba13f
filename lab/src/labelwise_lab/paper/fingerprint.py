"""Which setting explains the paper's Table 1? Levels of the AUROC and, far more precise, the
differences between the measures.

Ensembles of every size are drawn from the members of all stored runs; other trainings are compared
one by one. Each quantity is given with its distance from the paper's in standard errors: our own
between runs, the paper's (its deviation for levels, ours for differences, which it does not print)
and its rounding to three digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import numpy as np

from labelwise import Ensemble

from ..files import read_npz, replacing, write_compressed_npz
from .intervals import welch
from .prediction_files import read_predictions
from .published_tables import TABLE_1
from .records import Record, over_runs, select
from .results_folder import Options, record, save_figure
from .scores import MEASURES, epistemic_in_float32, scores
from .settings import DATA

__all__ = ["COMPARED", "FLOAT32", "INSIDE", "QUANTITIES", "Quantity", "is_candidate", "run"]

INSIDE = "fashion-mnist"
OUTSIDE = DATA[INSIDE]
FLOAT32 = "variance, float32"
"""The variance as the published code computes it, p (p − mean) in single precision: small values
are lost in rounding errors.
"""
SCORES = (*MEASURES, FLOAT32)


class Quantity(NamedTuple):
    """An AUROC against a set, or by how much that of one measure exceeds that of another."""

    set: str
    measure: str
    minus: str | None = None

    @property
    def rounding(self) -> float:
        """Variance of rounding to three digits, of one number or of two."""
        return 0.001**2 / 12 * (1 if self.minus is None else 2)

    @property
    def paper(self) -> float:
        """What the paper's Table 1 has for it."""
        row = TABLE_1[INSIDE][self.set]
        level = row["variance" if self.measure == FLOAT32 else self.measure][0]
        return level if self.minus is None else level - row[self.minus][0]

    @property
    def paper_sd(self) -> float | None:
        """The paper's deviation of a level; it prints none of a difference."""
        return None if self.minus else TABLE_1[INSIDE][self.set][self.measure][1]


LEVELS = [Quantity(name, score) for name in OUTSIDE for score in SCORES]
QUANTITIES = [
    Quantity(name, score, None if score == "entropy" else "entropy")
    for name in OUTSIDE
    for score in ("entropy", "label-wise entropy", "variance", FLOAT32)
]
"""One level and three differences for each set; the other levels follow."""
DIFFERENCES = [quantity for quantity in QUANTITIES if quantity.minus]
COMPARED = [quantity for quantity in QUANTITIES if quantity.measure != "variance"]
"""What a training must have in common with the paper to be a candidate: the levels and the
differences between measures, as published.
"""
SIZES = range(2, 16)
SHUFFLES = 8
RUNS = 5
"""Of the paper."""
FRESH_RUNS = 4
"""A candidate is judged once, by its runs 1 to 4, which were not seen when run 0 made it one: it is
refuted if one of the intervals of `COMPARED` (95 % for all of them together) excludes 0. Fewer runs
are stored and shown, but not judged.
"""
Aurocs = dict[Quantity, float]


def run(options: Options, trainings: Sequence[Path] = ()) -> dict[str, Any]:
    """Compare everything stored with the paper's Table 1; write ``fingerprint.json`` and
    ``fingerprint.png``; returns the numbers.

    ``trainings`` are folders with ``run-0`` and so on; the ranks of their scores, all that an AUROC
    depends on, are stored run by run, so that runs of another machine can be added.
    """
    folder, own_name = options.results / "fingerprint", f"{INSIDE}-paper"
    for path in trainings:
        _store_ranks(path, folder / path.name)
    stored = _stored_runs(options.results / own_name)
    if len(stored) < 2:
        raise FileNotFoundError(
            f"a comparison needs several runs of {INSIDE}-paper in {str(options.results)!r}; run "
            "`reproduce ood --runs 5`"
        )
    members = {
        name: np.concatenate([of[name] for of in stored.values()]) for name in (INSIDE, *OUTSIDE)
    }
    # training -> number of the run -> its AUROCs and their differences
    runs = {own_name: {r: _aurocs(of) for r, of in stored.items()}}
    for name in sorted({path.parent.name for path in folder.glob("*/run-*.npz")}):
        paths = _numbered(folder / name, ".npz")
        runs[name] = {r: _from_ranks(path) for r, path in paths.items()}
    own = list(runs[own_name].values())
    spread = {quantity: over_runs([of[quantity] for of in own])["sd"] for quantity in own[0]}
    candidates = [
        name
        for name, of in runs.items()
        if name != own_name and is_candidate(_distances(of[min(of)], spread, 1))
    ]
    # A candidate is judged without the run that made it one.
    fresh = {name: fresh_runs(runs[name]) for name in candidates}
    fresh = {name: of for name, of in fresh.items() if len(of) == FRESH_RUNS}
    numbers = {
        "paper": [
            quantity._asdict() | {"value": quantity.paper} for quantity in LEVELS + DIFFERENCES
        ],
        "by members": by_members(members),
        "trainings": _by_training(runs, spread),
        "candidates": candidates,
        "ours − paper's": [
            gap
            for name, of in ({own_name: runs[own_name]} | fresh).items()
            for gap in _gaps(name, of)
        ],
        "candidate − protocol paper": [
            difference
            for name, of in fresh.items()
            for difference in _between(name, list(of.values()), own)
        ],
        "entropies in float32, largest change": _change_in_float32(next(iter(stored.values()))),
    }
    path = record(
        "fingerprint",
        "fingerprint",
        numbers,
        options,
        runs=len(stored),
        members=len(members[INSIDE]),
        shuffles=SHUFFLES,
    )
    draw(numbers, path.with_suffix(".png"))
    return numbers


def fresh_runs(runs: Mapping[int, Aurocs]) -> dict[int, Aurocs]:
    """The runs that judge a candidate: the `FRESH_RUNS` after its first."""
    return {r: runs[r] for r in sorted(runs)[1 : 1 + FRESH_RUNS]}


def is_candidate(distances: Mapping[Quantity, float]) -> bool:
    """Whether every quantity is within two standard errors of the paper's."""
    return all(abs(distances[quantity]) < 2 for quantity in COMPARED)


def by_members(members: Mapping[str, np.ndarray]) -> list[Record]:
    """For each number of members, each quantity: mean over ensembles drawn from ``members`` (M, N,
    K), deviation between disjoint ones, and distance from the paper's.

    All members together count as total / size ensembles; without two disjoint ones, the deviation
    in the distance is that of the largest size with two.
    """
    found = []
    total = len(members[INSIDE])
    spread: dict[Quantity, float] = {}
    for size in (size for size in SIZES if size <= total):
        dealt = [
            [_aurocs({name: p[group] for name, p in members.items()}) for group in groups]
            for groups in _disjoint(total, size)
        ]
        values = {
            quantity: np.array([[of[quantity] for of in groups] for groups in dealt])
            for quantity in LEVELS + DIFFERENCES
        }
        mean = {quantity: float(x.mean()) for quantity, x in values.items()}
        several = len(dealt[0]) > 1
        if several:
            spread = {
                quantity: sqrt(x.var(axis=1, ddof=1).mean()) for quantity, x in values.items()
            }
        distances = _distances(mean, spread, size / total)
        for quantity in values:
            found.append(
                quantity._asdict()
                | {
                    "members": size,
                    "mean": mean[quantity],
                    "sd": spread[quantity] if several else None,
                    "distance": distances.get(quantity),
                }
            )
    return found


def _by_training(
    runs: Mapping[str, Mapping[int, Aurocs]], spread: Mapping[Quantity, float]
) -> list[Record]:
    """The mean of each quantity over the runs of each training, and its distance from the
    paper's.
    """
    found = []
    for name, of in runs.items():
        mean = {
            quantity: fmean(each[quantity] for each in of.values())
            for quantity in LEVELS + DIFFERENCES
        }
        distances = _distances(mean, spread, 1 / len(of))
        for quantity, value in mean.items():
            about = {"training": name, "runs": len(of)} | quantity._asdict()
            found.append(about | {"value": value, "distance": distances.get(quantity)})
    return found


def _disjoint(total: int, size: int) -> Iterator[list[np.ndarray]]:
    """All ``total`` members dealt out into as many groups of ``size`` as they make, several times
    over.
    """
    rng = np.random.default_rng(0)
    for _ in range(SHUFFLES if size < total else 1):
        order = rng.permutation(total)
        yield [np.sort(order[i : i + size]) for i in range(0, total - size + 1, size)]


def _scores(probs: np.ndarray) -> dict[str, np.ndarray]:
    of = scores(Ensemble(probs))
    return {
        **{m: of[m, "epistemic"] for m in MEASURES},
        FLOAT32: epistemic_in_float32(probs)["variance"],
    }


def _aurocs(probs: Mapping[str, np.ndarray]) -> Aurocs:
    """Levels and differences for each out-of-distribution set, from probabilities (M, N, K)."""
    return _from_scores({name: _scores(p) for name, p in probs.items()})


def _from_scores(of: Mapping[str, Mapping[str, np.ndarray]]) -> Aurocs:
    found = {
        level: _auroc(of[INSIDE][level.measure], of[level.set][level.measure]) for level in LEVELS
    }
    for quantity in DIFFERENCES:
        other = found[Quantity(quantity.set, "entropy")]
        found[quantity] = found[Quantity(quantity.set, quantity.measure)] - other
    return found


def _auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """P(outside > inside) + P(equal) / 2."""
    ordered = np.sort(inside)
    below = (
        np.searchsorted(ordered, outside, side="left").mean()
        + np.searchsorted(ordered, outside, side="right").mean()
    )
    return float(below / 2 / len(inside))


def _distances(
    values: Mapping[Quantity, float], spread: Mapping[Quantity, float], share: float
) -> Aurocs:
    """(ours − paper's) in standard errors; ``share`` times the variance between ensembles is that
    of our mean.
    """
    found = {}
    for quantity in QUANTITIES:
        variance = spread[quantity] ** 2
        if quantity.paper_sd is None:
            of_paper = variance / RUNS  # it prints none: taken to vary like ours
        else:
            of_paper = quantity.paper_sd**2 / (RUNS - 1)  # n in its denominator
        error = sqrt(variance * share + of_paper + quantity.rounding)
        found[quantity] = (values[quantity] - quantity.paper) / error
    return found


def _numbered(folder: Path, suffix: str = "") -> dict[int, Path]:
    """``run-0``, ``run-1`` and so on in a folder, by number."""
    paths = {
        path.name.removeprefix("run-").removesuffix(suffix): path
        for path in folder.glob(f"run-*{suffix}")
    }
    return dict(sorted((int(number), path) for number, path in paths.items() if number.isdecimal()))


def _stored_runs(folder: Path) -> dict[int, dict[str, np.ndarray]]:
    """The predictions of each finished run, by set."""
    sets = (INSIDE, *OUTSIDE)
    complete = {
        r: path
        for r, path in _numbered(folder).items()
        if all((path / f"{name}.npz").is_file() for name in sets)
    }
    return {
        r: {name: np.asarray(read_predictions(path / f"{name}.npz").probs) for name in sets}
        for r, path in complete.items()
    }


def _store_ranks(training: Path, folder: Path) -> None:
    """The rank of each instance of all sets together, for each score, in one file per run: half of
    the size of float32, and no rounding.
    """
    runs = _stored_runs(training)
    if not runs:
        raise FileNotFoundError(
            f"there are no predictions for {', '.join((INSIDE, *OUTSIDE))} in {str(training)!r}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for r, sets in runs.items():
        of = [_scores(p) for p in sets.values()]
        with replacing(folder / f"run-{r}.npz") as file:
            write_compressed_npz(
                file,
                {
                    score: _dense_ranks(np.concatenate([each[score] for each in of]))
                    for score in SCORES
                },
            )


def _dense_ranks(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1].astype(
        np.uint16 if len(values) <= 2**16 else np.uint32
    )


def _from_ranks(path: Path) -> Aurocs:
    """Levels and differences of one run of a training."""
    stored = read_npz(path, SCORES)
    if set(stored) != set(SCORES):
        raise ValueError(
            f"{str(path)!r} must hold ranks of {', '.join(SCORES)}; it holds "
            f"{', '.join(stored) or 'none'}"
        )
    sets = (INSIDE, *OUTSIDE)
    parts = {score: np.split(ranks, len(sets)) for score, ranks in stored.items()}
    return _from_scores(
        {name: {score: parts[score][i] for score in SCORES} for i, name in enumerate(sets)}
    )


def _gaps(training: str, runs: Mapping[int, Aurocs]) -> Iterator[Record]:
    """Ours − paper's with intervals for all quantities together.

    The paper prints no deviation of a difference between measures: there its runs are taken to vary
    like these.
    """
    for quantity in COMPARED:
        values = [of[quantity] for of in runs.values()]
        gap = welch(
            values,
            (quantity.paper, quantity.paper_sd),
            family=len(COMPARED),
            count=RUNS,
            rounding=quantity.rounding,
        )
        about = {"training": training, "seeds": list(runs)} | quantity._asdict()
        yield about | gap | {"runs": values}


def _between(training: str, fresh: Sequence[Aurocs], own: Sequence[Aurocs]) -> Iterator[Record]:
    """The differences between two trainings of ours, with intervals for all quantities together."""
    for quantity in COMPARED:
        ours, others = ([of[quantity] for of in runs] for runs in (fresh, own))
        printed = fmean(others), pstdev(others)
        difference = welch(ours, printed, family=len(COMPARED), count=len(others))
        yield {"training": training} | quantity._asdict() | difference


def _change_in_float32(sets: Mapping[str, np.ndarray]) -> float:
    """The largest change of an AUROC of the two entropies when computed like the published code."""
    exact = {name: _scores(p) for name, p in sets.items()}
    single = {name: epistemic_in_float32(p) for name, p in sets.items()}
    return max(
        abs(_auroc(exact[INSIDE][m], exact[name][m]) - _auroc(single[INSIDE][m], single[name][m]))
        for name in OUTSIDE
        for m in MEASURES[1:]
    )


def draw(numbers: dict[str, Any], path: Path) -> None:
    """For each set (columns): the level, and the differences, against the number of members;
    dashed: the paper's, with rounding.
    """
    from ..plotting import line, pyplot, tidy

    rows: tuple[list[tuple[str, str | None]], ...] = (
        [("entropy", None), ("variance", None)],
        [("label-wise entropy", "entropy")],
        [("variance", "entropy"), (FLOAT32, "entropy")],
    )
    figure, axes = pyplot().subplots(
        3, len(OUTSIDE), figsize=(8.4, 7.6), layout="constrained", sharex=True
    )
    for j, name in enumerate(OUTSIDE):
        for row, quantities in enumerate(rows):
            ax = axes[row, j]
            tidy(ax)
            for i, (measure, minus) in enumerate(quantities):
                quantity = Quantity(name, measure, minus)
                cells = select(numbers["by members"], **quantity._asdict())
                sizes = [cell["members"] for cell in cells]
                mean = np.array([cell["mean"] for cell in cells], dtype=float)
                sd = np.array([cell["sd"] for cell in cells], dtype=float)
                style = line(i)
                label = f"{measure} − {minus}" if minus else measure
                ax.plot(sizes, mean, label=label, marker="o", markersize=3, **style)
                ax.fill_between(
                    sizes, mean - sd, mean + sd, color=style["color"], alpha=0.15, linewidth=0
                )
                if i == 0 or row == 0:
                    reach = 0.001 if row else 0.0005
                    ax.axhspan(
                        quantity.paper - reach,
                        quantity.paper + reach,
                        color="#777777",
                        alpha=0.3 if row else 0.6,
                        linewidth=0,
                        label="paper (as rounded)" if i == 0 else None,
                    )
            ax.axvline(5, color="#999999", linewidth=0.8, linestyle=":")
            if j == 0:
                ax.set_ylabel("difference of the AUROC" if row else "AUROC (EU)")
                ax.legend(frameon=False, fontsize=8, loc="lower right")
        axes[0, j].set_title(f"{INSIDE} against {name}", fontsize=10)
        axes[-1, j].set_xlabel("members (the paper says 5)")
    save_figure(figure, path)
