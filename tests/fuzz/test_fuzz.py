"""A small part of `make fuzz`, and that the campaign notices every way to fail."""

from __future__ import annotations

import json

import pytest

from fuzz.campaign import damaged, outcome, run
from fuzz.formats import FORMATS


def test_a_few_hundred_damaged_files() -> None:
    tallies = run(seed=0, files=360)
    assert {name: dict(t.failures) for name, t in tallies.items() if t.failures} == {}
    assert sum(t.files for t in tallies.values()) == 360
    assert all(t.refused for name, t in tallies.items() if not name.startswith("command"))


def test_every_way_to_fail_is_noticed_and_kept(tmp_path) -> None:
    tallies = run(seed=3, files=12, limit=1.0, memory=512, module="fuzz.broken", keep=tmp_path)
    found = {name: "; ".join(t.failures) for name, t in tallies.items() if t.failures}
    assert found["crashes"] == "killed by SIGSEGV"
    assert found["hangs"] == "more than 1 s"
    assert found["eats memory"].startswith("memory in ")
    assert found["raises"].startswith("KeyError in ")
    assert found["says nothing"].startswith("no sentence in ")
    assert "refuses" not in found
    assert tallies["refuses"].refused
    kept = [json.loads(path.read_text()) for path in tmp_path.glob("*/failure.json")]
    assert {facts["format"] for facts in kept} == set(found)
    assert all((path / "files" / "x").is_file() for path in tmp_path.iterdir())


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="no format is called like 'tiff'"):
        run(only="tiff")


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_seed_gives_the_same_bytes(name) -> None:
    kind = FORMATS[name]
    assert outcome(kind, kind.sample) == ("read", "")
    trees = [damaged(name, kind, *place) for place in ((1, 5), (1, 5), (1, 6), (2, 5))]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]
    assert trees[0] != trees[3]
