"""People's votes on the cases of a prediction file: claimed against observed disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.files import reading
from ._input import Given
from ._output import echo, echo_table, interval_of

if TYPE_CHECKING:
    import numpy as np

    from ..distributions import Distribution


def find_votes(given: Given, file: Path | None) -> dict[str, Any]:
    """`votes`, and `annotators` if they are named, from their own file or else from the .npz of the
    predictions; empty if there are none.
    """
    import numpy as np

    path = file or given.files[0]
    if path.suffix not in (".npy", ".npz"):
        if file is not None:
            raise ValueError(f"votes are read from .npy or .npz; got {path.name!r}")
        return {}
    with reading(path):
        if path.suffix == ".npy":
            return {} if file is None else {"votes": np.load(path)}
        with np.load(path) as arrays:
            found = {key: arrays[key] for key in ("votes", "annotators") if key in arrays}
    if file is not None and "votes" not in found:
        raise ValueError(
            f"{path.name} has no array `votes`: counts (N, K), the class chosen by each of "
            "`annotators`, (N, A), or for labels that may occur together 0 or 1, (A, N, K)"
        )
    return found


def compare_votes(q: Distribution, groups: Any, votes: np.ndarray, **named: Any) -> dict[str, Any]:
    """All numbers about votes, as plain data; ``named`` are the `annotators`, if they are known."""
    from ..calibration import check_votes, score_votes, vote_reliability
    from ..decomposition import PARTS, decompose

    found = vote_reliability(q, votes, groups=groups, **named)
    score = score_votes(decompose(q, "squared").aleatoric, q, votes, groups=groups, **named)
    labels = []
    for k, name in enumerate(found.class_names):
        row: dict[str, Any] = {"label": name}
        for part in PARTS:
            claim = getattr(found, part).labels
            row[part] = {
                "claimed": float(claim.claimed[k]),
                **{key: interval_of(getattr(claim, key), k) for key in ("observed", "ratio")},
            }
        row["score"] = interval_of(score.score, k)
        row["calibration"] = float(score.calibration[k])
        row["resolution"] = float(score.resolution[k])
        labels.append(row)
    result = {"cases": found.n_cases, "left_out": found.left_out, "labels": labels}
    try:
        check = check_votes(q, votes, groups=groups, rng=0, **named)
    except ValueError as error:  # too few disagreements for a test
        return result | {"ok": None, "p_value": None, "within": None, "sentence": f"{error}."}
    return result | {
        "ok": check.ok,
        "p_value": check.p_value,
        "within": check.within,
        "sentence": str(check),
    }


def show_votes(result: dict[str, Any]) -> None:
    """`compare_votes` as tables and sentences."""
    from ..decomposition import PARTS

    echo_table(
        f"Claimed ÷ observed in votes on {result['cases']:,} cases, squared loss, 95 % interval",
        ("label", *PARTS),
        [
            (row["label"], *(_ratio(row[part]["ratio"]) for part in PARTS))
            for row in result["labels"]
        ],
    )
    echo(
        "Aleatoric: half the probability that two people disagree about the label. Below 1: the "
        "members claim less than there is."
    )
    if result["left_out"]:
        echo(f"{result['left_out']:,} cases with fewer than two votes are left out.")
    echo(result["sentence"])
    keys = ("score", "calibration", "resolution")
    echo_table(
        "Squared error of claimed aleatoric uncertainty against pairs of votes, × 10,000",
        ("label", "score", "calibration (0 is best)", "resolution"),
        [
            (
                row["label"],
                *(1e4 * x for x in (row["score"]["value"], *(row[key] for key in keys[1:]))),
            )
            for row in result["labels"]
        ],
    )


def _ratio(x: dict[str, float]) -> str:
    return f"{x['value']:.2f} ({x['low']:.2f} to {x['high']:.2f})"
