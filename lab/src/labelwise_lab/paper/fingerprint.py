"""Which setting explains the paper's Table 1? Levels of the AUROC and, far more precise, the
differences between the measures.

Ensembles of every size are drawn from the members of all stored runs; other trainings are compared
one by one. Each quantity is given with its distance from the paper's in standard errors: our own
between runs, the paper's (its deviation for levels, ours for differences, which it does not print)
and its rounding to three digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from labelwise import Ensemble

from ..files import read_npz, replacing, write_compressed_npz
from .intervals import Cells, welch
from .prediction_files import read_predictions
from .published_tables import TABLE_1
from .results_folder import Options, over_runs, plain, record, save_figure
from .scores import MEASURES, epistemic_in_float32, scores
from .settings import DATA

__all__ = ["COMPARED", "FLOAT32", "INSIDE", "QUANTITIES", "is_candidate", "run"]

INSIDE = "fashion-mnist"
OUTSIDE = DATA[INSIDE]
FLOAT32 = "variance, float32"
"""The variance as the published code computes it, p (p − mean) in single precision: small values
are lost in rounding errors.
"""
SCORES = (*MEASURES, FLOAT32)
DIFFERENCES = {f"{a} − entropy": a for a in ("label-wise entropy", "variance", FLOAT32)}
QUANTITIES = ("entropy", *DIFFERENCES)
"""One level and three differences; the other levels follow."""
COMPARED = tuple(
    f"{name} | {q}" for name in OUTSIDE for q in QUANTITIES if q != "variance − entropy"
)
"""What a training must have in common with the paper to be a candidate: the levels and the
differences between measures, as published.
"""
SIZES = range(2, 16)
SHUFFLES = 8
RUNS = 5
"""Of the paper."""
ROUNDING = 0.001**2 / 12
"""Variance of rounding to three digits."""
Aurocs = dict[tuple[str, str], float]
"""(set, score or difference) -> AUROC or its difference."""


def run(options: Options, trainings: Sequence[Path] = ()) -> dict[str, Any]:
    """Compare everything stored with the paper's Table 1; write ``fingerprint.json`` and
    ``fingerprint.png``; returns the numbers.

    ``trainings`` are folders with ``run-0`` and so on; the ranks of their scores, all that an AUROC
    depends on, are stored run by run, so that runs of another machine can be added.
    """
    folder = options.results / "fingerprint"
    for path in trainings:
        _store_ranks(path, folder / path.name)
    runs = _stored_runs(options.results / f"{INSIDE}-paper")
    if len(runs) < 2:
        raise FileNotFoundError(
            f"a comparison needs several runs of {INSIDE}-paper in {str(options.results)!r}; run "
            "`reproduce ood --runs 5`"
        )
    each = [_aurocs({name: _scores(p) for name, p in of.items()}) for of in runs.values()]
    members = {
        name: np.concatenate([of[name] for of in runs.values()]) for name in (INSIDE, *OUTSIDE)
    }
    sizes = by_members(members)
    own = over_runs(each)
    spread = {key: cell["sd"] for key, cell in own.items()}
    names = sorted({path.parent.name for path in folder.glob("*/run-*.npz")})
    others = {
        name: {r: _from_ranks(path) for r, path in _numbered(folder / name, ".npz").items()}
        for name in names
    }
    found = {f"{INSIDE}-paper": (own, len(runs))} | {
        name: (over_runs(list(of.values())), len(of)) for name, of in others.items()
    }
    candidates = [
        name
        for name, of in others.items()
        if is_candidate(plain(_distances(of[min(of)], spread, 1)))
    ]
    own_gaps = _gaps(runs.keys(), each)
    fresh = {}
    for name in candidates:
        seeds = sorted(others[name])[1:]  # without the run that made it a candidate
        if len(seeds) > 1:
            fresh[name] = _gaps(seeds, [others[name][r] for r in seeds])
    numbers = {
        "paper": dict(_paper()),
        "by members": {
            (*key, str(size)): cell for size, cells in sizes.items() for key, cell in cells.items()
        },
        "distance by members": {
            (*key, str(size)): z
            for size in sizes
            for key, z in _distance_of_size(sizes, size, len(members[INSIDE])).items()
        },
        "trainings": {
            name: {"runs": n, **{" | ".join(key): cell["mean"] for key, cell in cells.items()}}
            for name, (cells, n) in found.items()
        },
        "distance": {
            name: _distances({k: c["mean"] for k, c in cells.items()}, spread, 1 / n)
            for name, (cells, n) in found.items()
        },
        "candidates": candidates,
        "ours − paper's": {f"{INSIDE}-paper": own_gaps, **fresh},
        "candidate − protocol paper": {
            name: _between(gaps, own_gaps) for name, gaps in fresh.items()
        },
        "entropies in float32, largest change": _change_in_float32(next(iter(runs.values()))),
    }
    draw(
        numbers,
        record(
            "fingerprint",
            "fingerprint",
            numbers,
            options,
            runs=len(runs),
            members=len(members[INSIDE]),
            shuffles=SHUFFLES,
        ).with_suffix(".png"),
    )
    return numbers


def is_candidate(distance: Mapping[str, float]) -> bool:
    """Whether every quantity is within two standard errors of the paper's."""
    return all(abs(distance[key]) < 2 for key in COMPARED)


def by_members(
    members: Mapping[str, np.ndarray],
) -> dict[int, dict[tuple[str, str], dict[str, float | None]]]:
    """Size -> (set, quantity) -> mean over ensembles drawn from ``members`` (M, N, K), and
    deviation between disjoint ones.
    """
    found = {}
    total = len(members[INSIDE])
    for size in (size for size in SIZES if size <= total):
        dealt = [
            [_aurocs({name: _scores(p[group]) for name, p in members.items()}) for group in groups]
            for groups in _disjoint(total, size)
        ]
        values = {
            key: np.array([[of[key] for of in groups] for groups in dealt]) for key in dealt[0][0]
        }
        found[size] = {
            key: {
                "mean": float(x.mean()),
                "sd": sqrt(x.var(axis=1, ddof=1).mean()) if x.shape[1] > 1 else None,
            }
            for key, x in values.items()
        }
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


def _aurocs(of: Mapping[str, Mapping[str, np.ndarray]]) -> Aurocs:
    """Levels and differences for each out-of-distribution set."""
    found = {
        (name, score): _auroc(of[INSIDE][score], of[name][score])
        for name in OUTSIDE
        for score in SCORES
    }
    return found | {
        (name, text): found[name, a] - found[name, "entropy"]
        for name in OUTSIDE
        for text, a in DIFFERENCES.items()
    }


def _auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """P(outside > inside) + P(equal) / 2."""
    ordered = np.sort(inside)
    below = (
        np.searchsorted(ordered, outside, side="left").mean()
        + np.searchsorted(ordered, outside, side="right").mean()
    )
    return float(below / 2 / len(inside))


def _paper() -> Iterator[tuple[tuple[str, str], float]]:
    for name in OUTSIDE:
        levels = {
            score: TABLE_1[INSIDE][name]["variance" if score == FLOAT32 else score][0]
            for score in SCORES
        }
        yield from (((name, score), level) for score, level in levels.items())
        yield from (
            ((name, text), levels[a] - levels["entropy"]) for text, a in DIFFERENCES.items()
        )


def _distances(
    values: Mapping[tuple[str, str], float], spread: Mapping[tuple[str, str], float], share: float
) -> Aurocs:
    """(set, quantity) -> (ours − paper's) in standard errors; ``share`` times the variance between
    ensembles is that of our mean.
    """
    theirs, found = dict(_paper()), {}
    for name in OUTSIDE:
        for quantity in QUANTITIES:
            level = quantity in MEASURES
            variance = spread[name, quantity] ** 2
            of_mean = (
                TABLE_1[INSIDE][name][quantity][1] ** 2 / (RUNS - 1) if level else variance / RUNS
            )  # n in the denominator
            paper = of_mean + ROUNDING * (1 if level else 2)
            found[name, quantity] = (values[name, quantity] - theirs[name, quantity]) / sqrt(
                variance * share + paper
            )
    return found


def _distance_of_size(sizes: Mapping[int, Any], size: int, total: int) -> Aurocs:
    """All members together count as total / size ensembles; without two disjoint ones, the
    deviation is that of the largest size with two.
    """
    spread = {
        key: next(
            sizes[m][key]["sd"] for m in range(size, 1, -1) if sizes[m][key]["sd"] is not None
        )
        for key in sizes[size]
    }
    return _distances(
        {key: cell["mean"] for key, cell in sizes[size].items()}, spread, size / total
    )


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
    parts = dict(
        zip(
            (INSIDE, *OUTSIDE),
            np.split(np.arange(len(stored["entropy"])), 1 + len(OUTSIDE)),
            strict=True,
        )
    )
    return _aurocs(
        {name: {score: stored[score][part] for score in SCORES} for name, part in parts.items()}
    )


def _gaps(seeds: Iterable[int], runs: Sequence[Aurocs]) -> dict[str, Any]:
    """Ours − paper's with intervals for all quantities together.

    The paper prints no deviation of a difference between measures: there its runs are taken to vary
    like these.
    """
    theirs, gaps = dict(_paper()), dict[str, Cells]()
    for text in COMPARED:
        name, quantity = text.split(" | ")
        level = quantity in MEASURES
        printed = theirs[name, quantity], TABLE_1[INSIDE][name][quantity][1] if level else None
        values = [of[name, quantity] for of in runs]
        gaps[text] = {
            **welch(
                values,
                printed,
                family=len(COMPARED),
                count=RUNS,
                rounding=ROUNDING * (1 if level else 2),
            ),
            "runs": values,
        }
    return {"seeds": list(seeds), **gaps}


def _between(gaps: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Cells]:
    """The differences between two trainings of ours, with intervals for all quantities together."""
    runs = {key: (gaps[key]["runs"], others[key]["runs"]) for key in COMPARED}
    return {
        key: welch(a, (fmean(b), pstdev(b)), family=len(COMPARED), count=len(b))
        for key, (a, b) in runs.items()
    }


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

    rows = (
        ("entropy", "variance"),
        ("label-wise entropy − entropy",),
        ("variance − entropy", f"{FLOAT32} − entropy"),
    )
    figure, axes = pyplot().subplots(
        3, len(OUTSIDE), figsize=(8.4, 7.6), layout="constrained", sharex=True
    )
    sizes = sorted({int(key[2]) for key in numbers["by members"]})
    for j, name in enumerate(OUTSIDE):
        for row, quantities in enumerate(rows):
            ax = axes[row, j]
            tidy(ax)
            for i, quantity in enumerate(quantities):
                cells = [numbers["by members"][name, quantity, str(size)] for size in sizes]
                mean, sd = (
                    np.array([cell[key] for cell in cells], dtype=float) for key in ("mean", "sd")
                )
                style = line(i)
                ax.plot(sizes, mean, label=quantity, marker="o", markersize=3, **style)
                ax.fill_between(
                    sizes, mean - sd, mean + sd, color=style["color"], alpha=0.15, linewidth=0
                )
                theirs, reach = numbers["paper"][name, quantity], 0.001 if row else 0.0005
                if i == 0 or row == 0:
                    label = "paper (as rounded)" if i == 0 else None
                    ax.axhspan(
                        theirs - reach,
                        theirs + reach,
                        color="#777777",
                        alpha=0.3 if row else 0.6,
                        linewidth=0,
                        label=label,
                    )
            ax.axvline(5, color="#999999", linewidth=0.8, linestyle=":")
            if j == 0:
                ax.set_ylabel("difference of the AUROC" if row else "AUROC (EU)")
                ax.legend(frameon=False, fontsize=8, loc="lower right")
        axes[0, j].set_title(f"{INSIDE} against {name}", fontsize=10)
        axes[-1, j].set_xlabel("members (the paper says 5)")
    save_figure(figure, path)
