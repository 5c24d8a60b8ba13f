"""The pages of .parquet files, walked through by their headers alone before Arrow, which believes
them, decodes anything.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import open_regular

__all__ = ["Chunk", "Group", "check_pages", "column_of", "read_footer"]

_LONGEST_HEADER, _LONGEST_FOOTER = 1 << 16, 1 << 24
_DEEPEST = 8
# By the type of a page with data (version 1, version 2) the field of its header that has the number
# of values.
_PAGE_HEADERS = {0: 5, 3: 8}


@dataclass(frozen=True)
class Chunk:
    """What the footer says about a column of a row group."""

    values: int
    start: int
    size: int


@dataclass(frozen=True)
class Group:
    """What the footer says about a row group."""

    rows: int
    columns: dict[str, Chunk]


def read_footer(path: Path) -> list[Group]:
    """The row groups of a file. Arrow's own functions for this end the process where a footer
    contradicts itself.
    """
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        file.seek(max(length - 8, 0))
        end = file.read(8)
        size = int.from_bytes(end[:4], "little")
        if end[4:] != b"PAR1" or size > length - 8:
            raise ValueError("it does not end as one")
        if size > _LONGEST_FOOTER:
            raise ValueError(
                f"its footer has {size:,} bytes; write it with fewer row groups and columns"
            )
        file.seek(length - 8 - size)
        fields, _ = _struct(file.read(size))
    return [_group(group) for group in _a(list, fields.get(4, []))]


def _group(fields: Any) -> Group:
    columns: dict[str, Chunk] = {}
    for column in _a(list, _a(dict, fields).get(1)):
        about = _a(dict, _a(dict, column).get(3))
        name = b"".join(_a(list, about.get(3))[:1]).decode()
        if name in columns:
            continue
        values, size, *starts = (_a(int, about.get(i, 0)) for i in (5, 7, 9, 11))
        columns[name] = Chunk(values, min(at for at in starts if at > 0 or at == starts[0]), size)
    return Group(_a(int, fields.get(3)), columns)


def _a(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError("its footer is damaged")
    return value


def check_pages(path: Path, group: Group, name: str, largest: int) -> None:
    """Refuse a column whose pages lie outside of the file, take more than ``largest`` bytes, or
    hold more than the footer says.
    """
    column = column_of(path, group, name)
    values = 0
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        at, end = column.start, column.start + column.size
        if not 0 < at <= end <= length:
            raise ValueError(f"{path.name} is damaged: column `{name}` lies outside of the file")
        while at < end and values < column.values:
            file.seek(at)
            header, used = _struct(file.read(min(_LONGEST_HEADER, end - at)))
            kind, unpacked, packed = (_a(int, header.get(i, 0)) for i in (1, 2, 3))
            if not (0 <= packed <= end - at - used and unpacked >= 0):
                raise ValueError(
                    f"{path.name} is damaged: a page of column `{name}` lies outside of the file"
                )
            if unpacked > largest:
                raise ValueError(
                    f"{path.name}: a page of column `{name}` takes {unpacked:,} bytes, where "
                    f"{largest:,} are allowed; write it with smaller "
                    "pages, or allow more memory"
                )
            if kind in _PAGE_HEADERS:
                count = _a(int, _a(dict, header.get(_PAGE_HEADERS[kind])).get(1))
                if count < 0:
                    raise ValueError(
                        f"{path.name} is damaged: a page of column `{name}` has fewer values than "
                        "none"
                    )
                values += count
            at += used + packed
    if values != column.values:
        raise ValueError(
            f"{path.name} is damaged: column `{name}` holds {values:,} values in its pages, but "
            f"{column.values:,} by its footer"
        )


def column_of(path: Path, group: Group, name: str) -> Chunk:
    """One of its columns."""
    if name not in group.columns:
        raise ValueError(f"{path.name} is damaged: a row group has no column `{name}`")
    return group.columns[name]


# Thrift's compact form: a struct is a sequence of fields, each with its type and the distance of
# its number from the last one's.


def _struct(data: bytes, at: int = 0, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by number, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    try:
        while data[at]:
            kind, step = data[at] & 15, data[at] >> 4
            at += 1
            if step:
                number += step
            else:
                number, at = _number(data, at)
            if kind in (1, 2):  # true and false: the type is the value
                fields[number] = kind == 1
            else:
                fields[number], at = _value(kind, data, at, depth)
        return fields, at + 1
    except IndexError as error:
        raise ValueError("a header is damaged") from error


def _value(kind: int, data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2, 3):
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _number(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind in (9, 10) and depth < _DEEPEST:
        size, inner = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError("a header is damaged")
        items = []
        for _ in range(size):
            item, at = _value(inner, data, at, depth + 1)
            items.append(item)
        return items, at
    if kind == 12 and depth < _DEEPEST:
        return _struct(data, at, depth + 1)
    raise ValueError("a header is damaged")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
    raise ValueError("a header is damaged")


def _number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return value >> 1 ^ -(value & 1), at
