"""What members are called, from what is known of each."""

from __future__ import annotations

import pytest

from labelwise.sources.names import as_member_names, name_members, varying_factors


def test_factors_tell_members_apart() -> None:
    members = [
        {"model": model, "task": "t", "prompt": prompt, "file": f"{model}.csv"}
        for model in "ab"
        for prompt in ("short", "long")
    ]
    names, factors = name_members(members)
    assert names == ("a / short", "a / long", "b / short", "b / long")
    assert factors == {"model": tuple("aabb"), "prompt": ("short", "long") * 2}


def test_the_file_counts_where_factors_do_not_suffice() -> None:
    members = [{"prompt": p, "file": f} for f in ("one", "two") for p in ("short", "long")]
    names, factors = name_members(members)
    assert names[0] == "one / short"
    assert factors == {"file": ("one", "one", "two", "two"), "prompt": ("short", "long") * 2}
    assert name_members([{"file": "one"}, {"file": "two"}]) == (("one", "two"), {})
    assert name_members([{"file": "one", "model": "m"}]) == (("one",), {})
    only_one_knows = [{"file": "one", "model": "m"}, {"file": "two"}]
    assert name_members(only_one_knows) == (("one", "two"), {})


def test_levels_that_do_not_vary_are_no_factors() -> None:
    assert varying_factors({"a": ["x", "x"], "b": ["x", "y"]}) == {"b": ("x", "y")}
    assert varying_factors(None) == {}


def test_names_are_checked_or_made_of_levels() -> None:
    assert as_member_names(None, 2, {"a": ("x", "y")}) == ("x", "y")
    assert as_member_names(None, 2, {"a": ("x", "x")}) is None
    assert as_member_names(None, 2, None) is None
    with pytest.raises(ValueError, match="must have different names; got 'x' twice"):
        as_member_names(["x", "x"], 2, None)
