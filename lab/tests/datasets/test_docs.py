from __future__ import annotations

from pathlib import Path

import labelwise_lab.datasets as ds
from labelwise_lab.datasets.catalogue import ENTRIES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "lab" / "datasets.md").read_text(
    encoding="utf-8"
)


def test_every_data_set_is_in_the_table_with_its_licence_and_source() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    for name in ds.names():
        (row,) = (row for row in rows if f"`{name}`" in row.split("|")[1])
        if name in ENTRIES:
            entry = ENTRIES[name]
            assert entry.home in row
            assert entry.license.split(";")[0] in row
    named = {name.strip("` ") for row in rows for name in row.split("|")[1].split(",")}
    assert named == set(ds.names())


def test_every_folder_that_downloads_go_to_is_named() -> None:
    for entry in ENTRIES.values():
        assert entry.folders[0] in PAGE


def test_every_public_name_is_explained() -> None:
    unexplained = {name for name in ds.__all__ if name not in PAGE} - {
        "read_cifar10",
    }
    assert not unexplained
