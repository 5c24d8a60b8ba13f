"""Columns as few bytes: what is written is what the page reads."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest

from labelwise.report.columns import (
    PROBABILITIES,
    SQUARES,
    PageData,
    as_bytes,
    deflated,
    smallest_type,
)


def inflated(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


@pytest.mark.parametrize("n", [1, 255, 256, 65535, 65536])
def test_codes_fit_with_one_for_missing(n) -> None:
    dtype = np.dtype(smallest_type(n))
    assert n - 1 < np.iinfo(dtype).max
    codes = np.frombuffer(as_bytes(np.array([0, n - 1, -1]), dtype.str[1:]), dtype)
    assert codes.tolist() == [0, n - 1, np.iinfo(dtype).max]


@pytest.mark.parametrize("data", [b"", b"abc" * 1000, np.random.default_rng(0).bytes(5000)])
def test_deflating_keeps_everything(data) -> None:
    assert inflated(deflated(data)) == data


def test_every_kind_of_column() -> None:
    page = PageData(4)
    page.add_category("site", "site", np.array([0, 1, -1, 0]), ["A", "B"])
    page.add_number("age", "age", np.array([3.0, 80.0, np.nan, 41.0]))
    page.add_text("id", ["a", "</script>", "ü", ""])
    page.add_block("weight", np.array([1.0, 2.5, 1.0, 1.0]), "f4")
    kinds = {column["name"]: (column["kind"], column["dtype"]) for column in page.columns}
    assert kinds == {
        "site": ("category", "u1"),
        "age": ("number", "u1"),
        "id": ("text", "json"),
    }
    assert list(inflated(page.arrays["site"])) == [0, 1, 255, 0]
    assert json.loads(inflated(page.arrays["id"])) == ["a", "</script>", "ü", ""]
    assert np.frombuffer(inflated(page.arrays["weight"]), "<f4").tolist() == [1, 2.5, 1, 1]
    age = page.columns[1]
    codes = list(inflated(page.arrays["age"]))
    assert [age["centers"][i] for i in codes if i != 255] == [3, 80, 41]


def test_blocks_of_probabilities_count_exactly_at_twentieths() -> None:
    values = np.random.default_rng(0).random((500, 3))
    page = PageData(500)
    page.add_by_label("mean", values, PROBABILITIES)
    block = page.blocks["mean"]
    codes = np.frombuffer(inflated(page.arrays["mean"]), "u1").reshape(block["shape"])
    for threshold in np.arange(1, 20) / 20:
        at = np.searchsorted(block["edges"], threshold, side="right") - 1
        above = np.sum(codes > at) + np.sum((codes == at) & (values >= threshold))
        assert above == np.sum(values >= threshold)
    assert np.max(np.abs(np.asarray(block["values"])[codes] - values)) < 0.01
    page.add_by_label("epistemic", values**4, SQUARES)
    block = page.blocks["epistemic"]
    codes = np.frombuffer(inflated(page.arrays["epistemic"]), "u1").reshape(block["shape"])
    assert np.max(np.abs(np.asarray(block["values"])[codes] - values**4)) < 0.01
