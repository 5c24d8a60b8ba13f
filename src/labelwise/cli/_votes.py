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
    if file is None and path.suffix != ".npz":
        return {}
    if path.suffix not in (".npy", ".npz"):
        raise ValueError(f"votes are read from .npy or .npz; got {path.name!r}")
    with reading(path):
        arrays = np.load(path)
        if path.suffix == ".npy":
            return {"votes": arrays}
        with arrays:
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
    result: dict[str, Any] = {
        "cases": found.n_cases,
        "left_out": found.left_out,
        "labels": list(found.class_names),
    }
    for part in PARTS:
        claim = getattr(found, part).labels
        result[part] = {
            "claimed": claim.claimed,
            "observed": interval_of(claim.observed),
            "ratio": interval_of(claim.ratio),
        }
    result["score"] = interval_of(score.score)
    result["calibration"], result["resolution"] = score.calibration, score.resolution
    try:
        check = check_votes(q, votes, groups=groups, rng=0, **named)
    except ValueError as error:  # too few disagreements for a test
        return result | {"ok": None, "p_value": None, "within": None, "sentence": f"{error}."}
    numbers = {"ok": check.ok, "p_value": check.p_value, "within": check.within}
    return result | numbers | {"sentence": str(check)}


def show_votes(result: dict[str, Any]) -> None:
    """`compare_votes` as tables and sentences."""
    from ..decomposition import PARTS

    def ratios(part: str) -> list[str]:
        bounds = (result[part]["ratio"][key] for key in ("value", "low", "high"))
        return [f"{x:.2f} ({low:.2f} to {high:.2f})" for x, low, high in zip(*bounds, strict=True)]

    echo_table(
        f"Claimed ÷ observed in votes on {result['cases']:,} cases, squared loss, 95 % interval",
        ("label", *PARTS),
        zip(result["labels"], *map(ratios, PARTS), strict=True),
    )
    echo(
        "Aleatoric: half the probability that two people disagree about the label. Below 1: the "
        "members claim less than there is."
    )
    if result["left_out"]:
        echo(f"{result['left_out']:,} cases with fewer than two votes are left out.")
    echo(result["sentence"])
    columns = (result["score"]["value"], result["calibration"], result["resolution"])
    echo_table(
        "Squared error of claimed aleatoric uncertainty against pairs of votes, × 10,000",
        ("label", "score", "calibration (0 is best)", "resolution"),
        zip(result["labels"], *(1e4 * x for x in columns), strict=True),
    )
