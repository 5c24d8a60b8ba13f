"""What the members of an ensemble are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._frames import repeated
from .._validation.labels import check_name_list
from .design import Factors


def as_member_names(
    names: Sequence[str] | None, n_members: int, factors: Factors | None
) -> tuple[str, ...] | None:
    """Validate the names of ``n_members`` members; without any, they are called by the levels of
    their ``factors``, if these tell them apart.
    """
    if names is None:
        joined = _joined_levels(factors or {})
        return joined if joined and repeated(joined) is None else None
    return check_name_list(names, n_members, "member_names", f"{n_members} members")


def name_members(
    members: Sequence[Mapping[str, str]],
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The names and the factors of members, from the levels that are known of each; their `file`
    counts where the others do not tell all members apart, such as two prompts of one model.

    >>> name_members([{"model": "m", "file": "short"}, {"model": "m", "file": "long"}])
    (('short', 'long'), {})
    """
    known: dict[str, list[str]] = {}
    for key in members[0]:
        if all(key in member for member in members):
            known[key] = [member[key] for member in members]
    files = known.pop("file")
    factors = varying_factors(known)
    names = _joined_levels(factors)
    if not names or repeated(names) is not None:
        if repeated(files) is None:
            return tuple(files), {}
        factors = varying_factors({"file": files, **known})
        names = _joined_levels(factors)
    return names, factors


def _joined_levels(factors: Factors) -> tuple[str, ...]:
    """The levels of each member in one text."""
    return tuple(map(" / ".join, zip(*factors.values(), strict=True)))


def varying_factors(factors: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    """The factors that have several levels."""
    given = (factors or {}).items()
    return {key: tuple(levels) for key, levels in given if len(set(levels)) > 1}
