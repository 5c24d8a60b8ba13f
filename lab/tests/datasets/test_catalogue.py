"""The catalogue: safe addresses and paths, and checksums of the published files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from labelwise_lab.datasets import catalogue, download
from labelwise_lab.datasets.catalogue import ENTRIES


def test_checksums_are_those_of_the_published_files(real: Path) -> None:
    """Where the file here is the published one byte for byte."""
    for entry, role, folder in (
        (ENTRIES["kmnist"], "test images", "KMNIST/raw"),
        (ENTRIES["kmnist"], "test labels", "KMNIST/raw"),
        (ENTRIES["retinamnist"], "all", "medical"),
        *(
            (ENTRIES[name], "all", "medical")
            for name in ("dermatology", "arrhythmia", "hypothyroid", "column3c")
        ),
    ):
        remote = entry.files[role]
        assert remote.checksum is not None
        algorithm, expected = remote.checksum.split(":")
        assert algorithm == "sha256"
        assert (
            hashlib.new(algorithm, (real / folder / remote.name).read_bytes()).hexdigest()
            == expected
        )


def test_files_that_were_compressed_again_are_known_by_their_content(real: Path) -> None:
    for name, folder in (("mnist", "MNIST/raw"), ("fashion-mnist", "FashionMNIST/raw")):
        for remote in ENTRIES[name].files.values():
            download.verify(remote, real / folder / remote.name)
            with pytest.raises(ValueError, match="does not have the published checksum"):
                download.verify(remote, real / "medical" / "dermatology.arff")


def test_catalogue() -> None:
    for entry in (*ENTRIES.values(), catalogue.CIFAR10H):
        for remote in entry.files.values():
            assert remote.url is None or remote.url.startswith(
                ("https://", "http://ufldl.stanford.edu/")
            )
            assert remote.checksum is None or re.fullmatch(
                "sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", remote.checksum
            )
            assert (
                remote.checksum or remote.url is None or re.search("/[0-9a-f]{40}/", remote.url)
            )  # at least one revision
            assert (
                remote.url is None
                or remote.url.startswith("https://")
                or (remote.checksum or "").startswith("sha256:")
            )
            assert not Path(remote.path).is_absolute()
            assert ".." not in remote.path
        assert len(set(entry.class_names)) == len(entry.class_names)
