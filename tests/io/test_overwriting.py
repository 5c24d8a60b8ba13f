"""No output may be a file that is read, by whatever name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import labelwise as lw
from labelwise._errors import InputError
from labelwise.io.overwriting import refuse_overwriting


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder with files, folders and links."""
    monkeypatch.chdir(tmp_path)
    for name in ("m.csv", "other.csv", "fold/d1.csv", "store.zarr/probs/0.0"):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    os.link("m.csv", "hard.csv")
    os.link("fold/d1.csv", "fold-hard.csv")
    Path("soft.csv").symlink_to("m.csv")
    Path("to-fold").symlink_to("fold")
    Path("fold/elsewhere.csv").symlink_to("../other.csv")
    Path("dangling.csv").symlink_to("nothing.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("output", "given", "sentence"),
    [
        ("m.csv", "m.csv", "'m.csv' is read and would be overwritten; choose another output"),
        ("m.csv", "fold/../m.csv", (
            "'m.csv', the same as 'fold/../m.csv', is read and would be overwritten; choose "
            "another output"
        )),
        ("hard.csv", "m.csv", (
            "'hard.csv', the same as 'm.csv', is read and would be overwritten; choose another "
            "output"
        )),
        ("soft.csv", "m.csv", (
            "'soft.csv', the same as 'm.csv', is read and would be overwritten; choose another "
            "output"
        )),
        ("m.csv", "soft.csv", (
            "'m.csv', the same as 'soft.csv', is read and would be overwritten; choose another "
            "output"
        )),
        ("fold/d1.csv", "fold", (
            "'fold/d1.csv' is read and would be overwritten; choose another output"
        )),
        ("to-fold/d1.csv", "fold", (
            "'to-fold/d1.csv', the same as 'fold/d1.csv', is read and would be overwritten; choose "
            "another output"
        )),
        ("fold-hard.csv", "fold", (
            "'fold-hard.csv', the same as 'fold/d1.csv', is read and would be overwritten; choose "
            "another output"
        )),
        ("other.csv", "fold", (
            "'other.csv', the same as 'fold/elsewhere.csv', is read and would be overwritten; "
            "choose another output"
        )),
        ("store.zarr", "store.zarr", (
            "'store.zarr' is read and would be overwritten; choose another output"
        )),
        ("store.zarr/probs/0.0", "store.zarr", (
            "'store.zarr/probs/0.0' is read and would be overwritten; choose another output"
        )),
        ("store.zarr", "store.zarr/probs", (
            "'store.zarr' would be overwritten, and with it 'store.zarr/probs', which is read; "
            "choose another output"
        )),
    ],
)  # fmt: skip
def test_an_output_that_is_read_is_refused(
    output: str, given: str, sentence: str, here: Path
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        refuse_overwriting(output, ["dangling.csv", "missing.csv", given])


@pytest.mark.parametrize(
    ("output", "given"),
    [
        ("new.csv", "m.csv"),
        ("fold/new.csv", "fold"),
        ("other.csv", "m.csv"),
        ("m.csv", "missing.csv"),
        ("dangling.csv", "m.csv"),
    ],
)
def test_other_outputs_are_not_refused(output: str, given: str, here: Path) -> None:
    refuse_overwriting(output, [given])


def test_a_folder_that_files_are_added_to_is_refused_only_if_it_is_read_itself(here: Path) -> None:
    Path("fold/results").mkdir()
    refuse_overwriting("fold/results", ["fold"], replaced=False)
    refuse_overwriting(".", ["fold"], replaced=False)
    with pytest.raises(
        InputError,
        match=(
            r"^'to-fold', the same as 'fold', is read and would be overwritten; choose another "
            r"output$"
        ),
    ):
        refuse_overwriting("to-fold", ["fold"], replaced=False)


def test_the_library_does_not_write_where_it_reads(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    probs = np.full((2, 3, 2), 0.5)
    np.savez(
        "p.npz", probs=probs, y_true=[0, 1, 0], features=np.arange(3)
    )  # what is not read would be lost
    os.link("p.npz", "page.html")
    before = Path("p.npz").read_bytes()
    with pytest.warns(UserWarning, match="`features` is not read"):
        predictions = lw.load_predictions("p.npz")
    sentence = "is read and would be overwritten; choose another output$"
    with pytest.raises(InputError, match=sentence):
        lw.save_predictions("p.npz", predictions)
    with pytest.raises(InputError, match=sentence):
        lw.report.write_report("page.html", predictions)
    with pytest.raises(InputError, match=sentence):
        lw.quantify("p.npz", "p.npz")
    with pytest.raises(TypeError, match="labels"):  # the results do not depend on them
        lw.quantify("p.npz", "labels.csv", labels="labels.csv")
    assert Path("p.npz").read_bytes() == before
    lw.save_predictions("p.npz", probs=probs)  # what is in memory may go anywhere
    Path("fold").mkdir()
    for name in ("fold/a.csv", "fold/b.csv"):
        Path(name).write_text("cat,dog\n.5,.5\n")
    with pytest.raises(InputError, match=f"^'fold/a.csv' {sentence}"):
        lw.quantify("fold", "fold/a.csv")
    with pytest.raises(InputError, match=f"^'fold/a.csv' {sentence}"):
        lw.quantify(["fold/a.csv", "fold/b.csv"], "fold/a.csv")
    members = lw.load_predictions(["fold/a.csv", "fold/b.csv"])
    lw.save_predictions("fold/both.npz", members)
    lw.save_predictions("fold/both.npz", members)  # beside them is no member
