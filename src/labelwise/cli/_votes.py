"""People's votes on the cases of a prediction file: claimed against observed disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.files import reading
from ..io.ids import order_by_ids
from ..io.npz import NpzArrays, read_npy
from ._input import Given
from ._output import Section

if TYPE_CHECKING:
    import numpy as np

    from ..distributions import Distribution


def find_votes(given: Given, file: Path | None, ids: Any = None) -> dict[str, Any]:
    """`votes`, and `annotators` if they are named, from their own file or else from the .npz of the
    predictions; empty if there are none. A file with ids is put in the order of ``ids``, those of
    the predictions.
    """
    import numpy as np

    path = file or given.files[0]
    if file is None and path.suffix != ".npz":
        return {}
    with reading(path):
        if path.suffix == ".npy":
            return {"votes": read_npy(path)}
        if path.suffix != ".npz":
            raise ValueError(f"votes are read from .npy or .npz; got {path.name!r}")
        arrays = NpzArrays(path)
        found = {key: arrays[key] for key in ("votes", "annotators") if key in arrays}
    if file is not None and "votes" not in found:
        raise ValueError(
            f"{path.name} has no array `votes`: counts (N, K), the class chosen by each of "
            "`annotators`, (N, A), or for labels that may occur together 0 or 1, (A, N, K)"
        )
    if file is not None and "ids" in arrays:
        if ids is None:
            raise ValueError(
                f"{path.name} has ids, and the predictions have none, so that they cannot be "
                "matched. Add the ids to the predictions, or leave them out of the votes"
            )
        order = order_by_ids(
            "the predictions", ids.astype(str), path.name, arrays["ids"].astype(str)
        )
        found["votes"] = np.take(found["votes"], order, axis=-2)
    return found


def compare_votes(q: Distribution, groups: Any, votes: np.ndarray, **named: Any) -> Section:
    """What the members claim against what people say; ``named`` are the `annotators`, if they are
    known.
    """
    from ..calibration import check_votes, score_votes, vote_reliability
    from ..decomposition import decompose

    reliability = vote_reliability(q, votes, groups=groups, **named)
    score = score_votes(decompose(q, "squared").aleatoric, q, votes, groups=groups, **named)
    data: dict[str, Any] = {"reliability": reliability, "score": score, "check": None}
    try:
        data["check"] = check_votes(q, votes, groups=groups, rng=0, **named)
        sentence = str(data["check"])
    except ValueError as error:  # too few disagreements for a test
        sentence = f"{error}."
    data["sentence"] = sentence
    about = (
        "Aleatoric: half the probability that two people disagree about the label. Below 1: the "
        "members claim less than there is."
    )
    return data, f"{reliability!r}\n{about}\n{sentence}\n\n{score!r}"
