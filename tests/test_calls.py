"""How far it is from a function to the arithmetic: Python calls and files of the package on a warm
call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import labelwise as lw

ROOT = str(Path(lw.__file__).parent)


def calls(f: Callable[[], object]) -> list[tuple[str, str]]:
    """File and function of each Python call inside the package."""
    f()
    found = []

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            found.append((frame.f_code.co_filename[len(ROOT) + 1 :], frame.f_code.co_name))

    sys.setprofile(note)
    try:
        f()
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture
def q() -> lw.Ensemble:
    return lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (5, 100)))


def test_the_fast_path_is_short(q: lw.Ensemble) -> None:
    if lw.kernel_info()["kernel"] == "numpy":
        pytest.skip("the native kernel is not in use")
    found = calls(lambda: lw.decompose(q))
    assert len(found) <= 12, found
    assert len({file for file, _ in found}) <= 6, found


def test_the_general_path_is_short(q: lw.Ensemble) -> None:
    found = calls(lambda: lw.decompose(q, "spherical"))
    assert len(found) <= 25, found


def changes_of_file(found: list[tuple[str, str]]) -> int:
    return sum(one[0] != other[0] for one, other in pairwise(found))


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), (5, 200))
    return lw.save_predictions(tmp_path / "p.npz", probs=probs)


def test_opening_a_file_is_short(npz: Path) -> None:
    load = lw.load_predictions
    found = calls(lambda: load(npz))
    assert changes_of_file(found) <= 10, found


def test_quantifying_a_file_is_short(npz: Path) -> None:
    found = calls(lambda: lw.quantify(npz, npz.with_name("u.npz")))
    assert changes_of_file(found) <= 50, found


def test_slices_are_not_validated_again(npz: Path) -> None:
    p = lw.load_predictions(npz)
    found = calls(lambda: [p[i : i + 1] for i in range(200)])
    assert len(found) <= 10 * 200, found[:20]
    assert "__post_init__" not in {name for _, name in found}


def test_calls_are_counted() -> None:
    assert ("losses/__init__.py", "as_loss") in calls(lambda: lw.losses.as_loss("log"))
