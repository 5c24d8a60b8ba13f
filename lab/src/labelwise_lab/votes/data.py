"""Data sets with predictions and people's votes, read from the user's own copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labelwise import Distribution, Ensemble

from ..datasets.cifar import CLASS_NAMES
from ..files import read_npy, read_npz

FOLDERS = (".", "votes", "cifar10", "cifar-10h", "cifar-10h/data")
"""Where published files are looked for, below the data folder."""


@dataclass(frozen=True, eq=False)
class VoteData:
    """Predictions and votes of the same cases."""

    name: str
    q: Distribution
    votes: np.ndarray
    """Counts (N, K), or with ``annotators`` the class each of them chose, (N, A), −1 for none."""
    annotators: tuple[str, ...] | None = None
    groups: np.ndarray | None = None
    note: str = ""
    """What to know before reading the numbers."""


def load_vote_data(name: str, data_dir: Path) -> VoteData:
    """One of the known data sets, by name: ``"cifar10h"``, ``"chaosnli"`` or ``"sleep"``."""
    if name not in KNOWN:
        raise ValueError(f"the data sets with votes are {', '.join(KNOWN)}; got {name!r}")
    return KNOWN[name](data_dir)


def _cifar10h(data_dir: Path) -> VoteData:
    logits = _read(_find(data_dir, "cifar10_8_networks.npz"), "logits")["logits"]
    path = _find(data_dir, "cifar10h-counts.npy", "cifar10_human.npz")
    votes = (
        read_npy(path)
        if path.suffix == ".npy"
        else _read(path, "cifar10h_counts")["cifar10h_counts"]
    )
    note = (
        "Eight published networks, trained on curated labels; about 50 votes for each of 10,000 "
        "test images (CIFAR-10H)."
    )
    return VoteData(
        "cifar10h",
        Ensemble.from_logits(logits.astype(float), class_names=CLASS_NAMES),
        np.asarray(votes),
        note=note,
    )


def _chaosnli(data_dir: Path) -> VoteData:
    found = _read(_find(data_dir, "chaosnli_snli.npz"), "logits", "votes", "class_names")
    q = Ensemble.from_logits(
        found["logits"].astype(float), class_names=[str(x) for x in found["class_names"]]
    )
    note = (
        "Five networks; 100 votes for each of 1,514 pairs of sentences. The cases were selected "
        "for disagreement, so this is no verdict on the networks."
    )
    return VoteData("chaosnli", q, np.asarray(found["votes"]), note=note)


def _sleep(data_dir: Path) -> VoteData:
    found = _read(_find(data_dir, "sleep_dodh.npz"), "models", "scorers", "night", "class_names")
    names = [str(x) for x in found["class_names"]]
    models = np.asarray(found["models"])
    probs = (models[..., None] == np.arange(len(names))).astype(float)
    scorers = np.asarray(found["scorers"]).T.astype(np.int64)
    note = (
        "Six models that predict one class each, so that only their mean and TU can be checked; "
        "five scorers of 9,059 half minutes in 9 nights."
    )
    annotators = tuple(f"scorer {i + 1}" for i in range(scorers.shape[1]))
    scored = (models >= 0).all(axis=0)
    q = Ensemble(probs[:, scored], class_names=names)
    return VoteData(
        "sleep", q, scorers[scored], annotators, np.asarray(found["night"])[scored], note
    )


KNOWN: dict[str, Callable[[Path], VoteData]] = {
    "cifar10h": _cifar10h,
    "chaosnli": _chaosnli,
    "sleep": _sleep,
}


def known_files(data_dir: Path) -> list[Path]:
    """Where the files of the known data sets may be."""
    files = (
        "cifar10_8_networks.npz",
        "cifar10h-counts.npy",
        "cifar10_human.npz",
        "chaosnli_snli.npz",
        "sleep_dodh.npz",
    )
    return [data_dir / folder / file for folder in FOLDERS for file in files]


def _find(data_dir: Path, *files: str) -> Path:
    for folder in FOLDERS:
        for file in files:
            if (data_dir / folder / file).is_file():
                return data_dir / folder / file
    raise FileNotFoundError(
        f"there is no {' or '.join(files)} in {str(data_dir)!r}. Put it there, or give its folder "
        "with --data-dir"
    )


def _read(path: Path, *keys: str) -> dict[str, np.ndarray]:
    found = read_npz(path, keys)
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(f"{path.name} has no array `{missing[0]}`")
    return found
