"""Files are there whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from labelwise.io import atomic, save_predictions
from labelwise.io.atomic import replacing

PROBS = np.full((5, 7, 4), 0.25)


def test_failed_write_keeps_the_old_file(tmp_path):
    path = save_predictions(tmp_path / "p.npz", probs=PROBS)
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(bytes(100 // (file.write(b"half") - 4)))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["p.npz"]


KILLED = """
import os, pathlib, signal, sys
from labelwise.io import atomic
path = pathlib.Path(sys.argv[2])
with getattr(atomic, sys.argv[1])(path) as new:
    (new / "part").touch() if sys.argv[1] == "replacing_folder" else new.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="leftovers are not told from live files there")
@pytest.mark.parametrize("kind", ["replacing", "replacing_folder"])
def test_leftovers_of_a_killed_process_go_and_files_of_a_live_one_stay(kind: str, tmp_path):
    path = tmp_path / "p.npz"
    (tmp_path / ".p.npz.mine.labelwise.tmp").touch()
    (tmp_path / ".p.npz.b.abcdefgh.labelwise.tmp").touch()  # of another target
    kept = set(os.listdir(tmp_path))
    subprocess.run([sys.executable, "-c", KILLED, kind, str(path)], check=False)
    assert len(set(os.listdir(tmp_path)) - kept) == 1
    write = getattr(atomic, kind)
    with write(path):
        (live,) = set(os.listdir(tmp_path)) - kept  # the killed one's is gone
        with write(path):
            assert live in os.listdir(tmp_path)
    assert set(os.listdir(tmp_path)) - kept == {"p.npz"}
