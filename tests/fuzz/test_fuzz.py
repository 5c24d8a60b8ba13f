"""A small part of `make fuzz`, and that the campaign notices every way to fail."""

from __future__ import annotations

import json

import pytest

from fuzz.campaign import by_kind, replay, run
from fuzz.formats import FORMATS, parts, sample
from fuzz.worker import damaged

QUICK = (
    "npy,npz stored,npz deflated,arff,csv "
    "table,idx,cifar,medmnist,costs,events,accumulator,command decide,command evaluate"
)


def test_a_few_hundred_damaged_files() -> None:
    """Without the formats whose libraries take long to import."""
    tallies = run(seed=0, files=400, jobs=1, only=QUICK)
    assert by_kind(tallies) == {}
    assert sum(t.files for t in tallies.values()) == 400
    assert all(t.refused for name, t in tallies.items() if not name.startswith("command"))


def test_every_way_to_fail_is_noticed_kept_and_replayed(tmp_path) -> None:
    tallies = run(
        seed=3, files=12, jobs=1, limit=1.0, memory=512, module="fuzz.broken", keep=tmp_path
    )
    found = {name: "; ".join(kinds) for name, kinds in by_kind(tallies).items()}
    assert found["crashes"] == "killed by SIGSEGV"
    assert found["hangs"] == "more than 1 s"
    assert found["eats memory"].startswith("memory in ")
    assert found["raises"].startswith("KeyError in ")
    assert found["says nothing"].startswith("no sentence in ")
    assert "refuses" not in found
    assert tallies["refuses"].refused == 2
    assert {path.name.rsplit("-", 2)[0] for path in tmp_path.iterdir()} == {
        "crashes",
        "hangs",
        "eats-memory",
        "raises",
        "says-nothing",
    }
    for path in tmp_path.iterdir():
        facts = json.loads((path / "failure.json").read_text())
        assert facts["seed"] == 3
        assert replay(path, limit=1.0, memory=512, module="fuzz.broken")["what"] == facts["what"]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="no format is called like 'tiff'"):
        run(only="tiff")


@pytest.mark.parametrize("name", ["npz stored", "costs", "idx.gz"])
def test_the_same_seed_gives_the_same_bytes(name) -> None:
    samples = {name: sample(FORMATS[name])}
    trees = [
        damaged(name, seed, index, FORMATS, samples)
        for seed, index in ((1, 5), (1, 5), (1, 6), (2, 5))
    ]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]
    assert trees[0] != trees[3]


def test_every_format_has_something_to_damage(optional) -> None:
    for name in ("zarr", "pyarrow", "torch", "nibabel"):
        optional(name)
    made: dict[object, dict[str, bytes]] = {}
    for name, kind in FORMATS.items():
        tree = made[kind.make] = made.get(kind.make) or sample(kind)
        assert parts(tree, kind)[0], name
