"""Downloads from the publishers: checksum, progress bar, and resuming after an interruption."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import shutil
import sys
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ._limits import human, refuse
from .catalogue import Remote

ATTEMPTS = 4
TIMEOUT = (10, 60)
MAX_DOWNLOAD = 2**32


def fetch(remote: Remote, data_dir: Path, sha256: Mapping[str, str] | None = None) -> Path:
    """The file below ``data_dir``, downloaded first if it is not there; in either case its checksum
    is right.

    What arrives is kept in ``NAME.part`` until it is complete and its checksum is right; an
    interrupted download continues from there. ``sha256`` has checksums by file name, needed for
    files of which the publisher gives none.
    """
    target = data_dir / remote.path
    remote = _with_checksum(remote, sha256 or {})
    if target.exists():
        verify(remote, target)
        return target
    if remote.url is None:
        raise FileNotFoundError(
            f"{remote.name} cannot be downloaded automatically; put the file at {target}"
        )
    if remote.checksum is None:
        raise ValueError(
            f"no checksum of {remote.name} is published, so a download cannot be checked; give "
            f"one, sha256={{{remote.name!r}: ...}} "
            f"(--sha256 {remote.name}=...), or get {remote.url} yourself and put it at {target}"
        )
    if not remote.url.startswith("https://") and not remote.checksum.startswith("sha256:"):
        raise ValueError(
            f"{remote.url} is sent without encryption and has no SHA-256 to check it by; get it "
            f"yourself and put it at {target}"
        )
    requests, urllib3 = _libraries()
    part = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        resumed = part.exists()
        _complete(part, remote.url)
        if resumed and not _matches(
            remote, part
        ):  # the old part may be the wrong one: once more from the beginning
            part.unlink()
            _complete(part, remote.url)
    except requests.HTTPError as error:
        raise ConnectionError(
            f"{remote.url} answered {error.response.status_code}; get {remote.name} elsewhere and "
            f"put it at {target}"
        ) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        if part.exists() and part.stat().st_size:
            raise ConnectionError(
                f"The download of {remote.name} was interrupted after "
                f"{human(part.stat().st_size)}; run it again to continue where it stopped"
            ) from error
        host = urlsplit(remote.url).hostname
        raise ConnectionError(
            f"Cannot reach {host}. Where there is a network, get {remote.url} and put the file at "
            f"{target}"
        ) from error
    if not _matches(remote, part):
        part.unlink()
        raise ValueError(
            f"{remote.name} from {remote.url} does not have the published checksum "
            f"({remote.checksum}) and was deleted; "
            "try again later, the server may have sent something else"
        )
    os.replace(part, target)
    return target


def verify(remote: Remote, path: Path, sha256: Mapping[str, str] | None = None) -> None:
    """Refuse a file that is not the published one, if it can be told; files that were compressed
    again are compared by their content.
    """
    remote = _with_checksum(remote, sha256 or {})
    if remote.checksum is None or (path.name != remote.name and remote.content is None):
        return
    if _matches(remote, path):
        return
    if remote.content is not None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with contextlib.suppress(OSError, EOFError, zlib.error):
                if (
                    _digest(gzip.GzipFile(fileobj=file) if packed else file, "sha256")
                    == remote.content
                ):
                    return
    raise ValueError(
        f"{path} does not have the published checksum ({remote.checksum}): it is damaged or "
        "another file. Delete it to download it "
        "again, or do not ask for a download to use it as it is"
    )


def _with_checksum(remote: Remote, sha256: Mapping[str, str]) -> Remote:
    """With the user's checksum, if there is one for this file; it must not contradict the published
    one.
    """
    given = sha256.get(remote.name)
    if given is None:
        return remote
    if not re.fullmatch("[0-9a-fA-F]{64}", given):
        raise ValueError(
            f"`sha256` of {remote.name} must be 64 hexadecimal digits; got {given!r:.100}"
        )
    mine = f"sha256:{given.lower()}"
    if (
        remote.checksum is not None
        and remote.checksum.startswith("sha256:")
        and remote.checksum != mine
    ):
        raise ValueError(
            f"`sha256` of {remote.name} must be the published one, {remote.checksum}; got {given}"
        )
    return replace(remote, checksum=mine)


def _matches(remote: Remote, path: Path) -> bool:
    algorithm, expected = str(remote.checksum).split(":")
    with path.open("rb") as file:
        return _digest(file, algorithm) == expected


def _digest(file: Any, algorithm: str) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    length = 0
    while block := file.read(2**20):
        digest.update(block)
        length += len(block)
        if length > MAX_DOWNLOAD:
            return ""
    return digest.hexdigest()


def _libraries() -> tuple[Any, Any]:
    try:
        import requests
        import urllib3
    except ImportError as error:
        raise ImportError(
            'Downloads need requests; install it with: pip install "labelwise[torch]" or pip '
            "install pooch"
        ) from error
    return requests, urllib3


def _complete(part: Path, url: str) -> None:
    """Try until ``part`` is complete, as long as each attempt brings something."""
    requests, urllib3 = _libraries()
    for attempt in range(ATTEMPTS):
        before = part.stat().st_size if part.exists() else 0
        try:
            _transfer(part, url)
            return
        except requests.HTTPError:
            raise
        except (requests.RequestException, urllib3.exceptions.HTTPError):
            if attempt == ATTEMPTS - 1 or not part.exists() or part.stat().st_size <= before:
                raise


def _transfer(part: Path, url: str) -> None:
    requests, urllib3 = _libraries()
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if (
            have and answer.status_code == 416
        ):  # nothing follows: complete, or not a part of this file; the checksum will tell
            return
        answer.raise_for_status()
        if url.startswith("https://") and not answer.url.startswith("https://"):
            raise ConnectionError(
                f"{url} leads to an address without encryption; the download was stopped"
            )
        if not (
            answer.status_code == 206
            and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        ):
            have = 0
        length = answer.headers.get("Content-Length", "")
        total = have + int(length) if length.isdigit() else None
        with part.open("ab" if have else "wb") as file, _progress() as progress:
            task = progress.add_task(part.name.removesuffix(".part"), total=total, completed=have)
            # Bytes as they are stored: some servers declare .gz files to be encoded, and the
            # checksum is that of the .gz file.
            for block in answer.raw.stream(2**16, decode_content=False):
                have += len(block)
                if have > MAX_DOWNLOAD:
                    raise ConnectionError(
                        f"{url} sends more than {human(MAX_DOWNLOAD)}; the download was stopped"
                    )
                file.write(block)
                progress.update(task, completed=have)
        if total is not None and have < total:
            raise urllib3.exceptions.ProtocolError(f"{have} of {total} bytes arrived")


def _progress() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    hidden = (
        not sys.stderr.isatty()
    )  # before rich 14.3 a disabled bar ends with an empty line unless its console is quiet
    return Progress(
        *columns, console=Console(stderr=True, quiet=hidden), transient=True, disable=hidden
    )


def unpack_cifar10(archive: Path, data_dir: Path) -> None:
    """Write the six batches of ``cifar-10-binary.tar.gz`` below ``data_dir``; nothing else in the
    archive is written anywhere.
    """
    wanted = {
        f"cifar-10-batches-bin/{name}.bin": 10_000 * 3073
        for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
    }
    try:
        with tarfile.open(archive, "r|gz") as tar:
            for member in tar:
                if wanted.get(member.name) != member.size or not member.isreg():
                    continue
                target = data_dir / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                part = target.with_name(target.name + ".part")
                with part.open("wb") as file:
                    shutil.copyfileobj(tar.extractfile(member) or file, file)
                os.replace(part, target)
                del wanted[member.name]
                if not wanted:
                    return
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise refuse(
            archive, f"not a whole .tar.gz archive ({error}); delete it and get it again"
        ) from error
    raise refuse(
        archive,
        f"no {min(wanted)} of {human(10_000 * 3073)} in this archive; it is not the published one",
    )
