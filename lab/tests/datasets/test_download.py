from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import socket
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwise_lab.datasets import download
from labelwise_lab.datasets.catalogue import Remote
from labelwise_lab.datasets.download import fetch, unpack_cifar10
from optional_libraries import optional

CONTENT = np.random.default_rng(0).bytes(300_000)


class Server:
    """A web server on this machine that can break off, ignore ranges, or send something else."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.break_after: list[
            int | None
        ] = []  # for each request: bytes to send before the connection breaks
        self.ranges = True
        self.status: int | None = None
        self.announce = True
        self.encoding: str | None = None
        self.requests: list[str | None] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                outer.requests.append(wanted)
                limit = outer.break_after.pop(0) if outer.break_after else None
                if outer.status:
                    self.send_error(outer.status)
                    return
                start = (
                    int(wanted.removeprefix("bytes=").removesuffix("-"))
                    if wanted and outer.ranges
                    else 0
                )
                body = outer.content[start:]
                if start and not body:
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206 if start else 200)
                if start:
                    self.send_header(
                        "Content-Range",
                        f"bytes {start}-{len(outer.content) - 1}/{len(outer.content)}",
                    )
                if outer.announce:
                    self.send_header("Content-Length", str(len(body)))
                if outer.encoding:
                    self.send_header("Content-Encoding", outer.encoding)
                self.end_headers()
                self.wfile.write(body if limit is None else body[:limit])

            def log_message(self, *_: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def remote(self, content: bytes = CONTENT, path: str = "folder/data.bin") -> Remote:
        return Remote(
            path,
            f"http://127.0.0.1:{self.http.server_port}/data.bin",
            f"sha256:{hashlib.sha256(content).hexdigest()}",
        )


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def test_a_download_is_checked_and_kept(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = fetch(server.remote(), tmp_path)
    assert path == tmp_path / "folder" / "data.bin"
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["data.bin"]
    fetch(server.remote(), tmp_path)
    assert len(server.requests) == 1  # the second time it is there
    assert capfd.readouterr() == ("", "")  # no progress bar where nobody looks


def test_nothing_comes_without_a_checksum(server: Server, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError,
        match=(
            r"no checksum of data\.bin is published.*--sha256 data\.bin=\.\.\.\), or get http.* "
            r"and put it at .*data\.bin"
        ),
    ):
        fetch(Remote("data.bin", server.remote().url), tmp_path)
    with pytest.raises(
        ValueError, match=r"`sha256` of data\.bin must be 64 hexadecimal digits; got 'abc'"
    ):
        fetch(Remote("data.bin", server.remote().url), tmp_path, {"data.bin": "abc"})
    assert server.requests == []
    mine = {"data.bin": hashlib.sha256(CONTENT).hexdigest().upper()}
    assert fetch(Remote("data.bin", server.remote().url), tmp_path, mine).read_bytes() == CONTENT
    with pytest.raises(ValueError, match="must be the published one"):
        fetch(server.remote(b"other"), tmp_path, mine)


def test_md5_is_not_enough_without_encryption(server: Server, tmp_path: Path) -> None:
    md5 = hashlib.md5(CONTENT).hexdigest()
    with pytest.raises(ValueError, match="is sent without encryption and has no SHA-256"):
        fetch(Remote("data.bin", server.remote().url, f"md5:{md5}"), tmp_path)
    assert server.requests == []


def test_a_file_that_is_there_is_checked_before_it_is_used(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "data.bin"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert fetch(server.remote(), tmp_path) == path
    md5 = Remote("folder/data.bin", None, f"md5:{hashlib.md5(CONTENT).hexdigest()}")
    assert fetch(md5, tmp_path) == path
    path.write_bytes(CONTENT[:-1] + b"?")
    for remote in (server.remote(), md5):
        with pytest.raises(
            ValueError,
            match=(
                r"data\.bin does not have the published checksum \((sha256|md5):.*Delete it to "
                r"download it again"
            ),
        ):
            fetch(remote, tmp_path)
    assert path.exists()
    assert server.requests == []


def test_an_encrypted_address_that_leads_to_another(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = optional("requests")
    plain = requests.get
    monkeypatch.setattr(
        requests, "get", lambda url, **options: plain(url.replace("https://", "http://"), **options)
    )
    remote = server.remote()
    with pytest.raises(ConnectionError, match="leads to an address without encryption"):
        fetch(
            Remote(remote.path, str(remote.url).replace("http://", "https://"), remote.checksum),
            tmp_path,
        )


def test_a_progress_bar_on_a_terminal(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    fetch(server.remote(), tmp_path)
    assert "data.bin" in terminal.getvalue()
    assert "300.0/300.0 kB" in terminal.getvalue()


def test_something_else_is_deleted(server: Server, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError,
        match=(
            r"data\.bin from http://127.* does not have the published checksum \(sha256:.*\) and "
            r"was deleted"
        ),
    ):
        fetch(server.remote(b"what was published"), tmp_path)
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_broken_connection_is_taken_up_again(server: Server, tmp_path: Path) -> None:
    server.break_after = [70_000, 100_000]
    assert fetch(server.remote(), tmp_path).read_bytes() == CONTENT
    assert server.requests == [None, "bytes=70000-", "bytes=170000-"]


def test_an_interrupted_download_continues_in_the_next_run(server: Server, tmp_path: Path) -> None:
    server.break_after = [50_000, 0]  # the second attempt brings nothing: give up for now
    with pytest.raises(
        ConnectionError,
        match=(
            r"data\.bin was interrupted after 50,000 bytes; run it again to continue where it "
            r"stopped"
        ),
    ):
        fetch(server.remote(), tmp_path)
    assert not (tmp_path / "folder" / "data.bin").exists()
    assert (tmp_path / "folder" / "data.bin.part").read_bytes() == CONTENT[:50_000]
    assert fetch(server.remote(), tmp_path).read_bytes() == CONTENT
    assert server.requests == [None, "bytes=50000-", "bytes=50000-"]
    assert not (tmp_path / "folder" / "data.bin.part").exists()


def test_it_gives_up_after_a_few_attempts(server: Server, tmp_path: Path) -> None:
    server.break_after = [10_000] * 20
    with pytest.raises(ConnectionError, match=r"interrupted after 40,000 bytes"):
        fetch(server.remote(), tmp_path)
    assert len(server.requests) == download.ATTEMPTS


def test_a_server_without_ranges_starts_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.break_after = [50_000]
    assert fetch(server.remote(), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("old", [b"wrong" * 1000, CONTENT + b"more", CONTENT[:-1] + b"?"])
def test_a_part_of_another_file_is_thrown_away(server: Server, tmp_path: Path, old: bytes) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data.bin.part").write_bytes(old)
    assert fetch(server.remote(), tmp_path).read_bytes() == CONTENT
    assert server.requests[-1] is None


def test_a_part_that_is_complete_is_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data.bin.part").write_bytes(CONTENT)
    assert fetch(server.remote(), tmp_path).read_bytes() == CONTENT
    assert server.requests == ["bytes=300000-"]


def test_a_gz_file_stays_compressed_whatever_the_server_calls_it(
    server: Server, tmp_path: Path
) -> None:
    server.content = gzip.compress(CONTENT)
    server.encoding = "gzip"
    assert fetch(server.remote(server.content), tmp_path).read_bytes() == server.content


def test_a_server_that_never_ends(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_DOWNLOAD", 100_000)
    server.announce = False
    with pytest.raises(
        ConnectionError, match=r"sends more than 100,000 bytes; the download was stopped"
    ):
        fetch(server.remote(), tmp_path)


def test_not_found(server: Server, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(
        ConnectionError,
        match=r"http://.* answered 404; get data\.bin elsewhere and put it at .*folder/data\.bin",
    ):
        fetch(server.remote(), tmp_path)


def test_offline(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/data.bin"
    sentence = (
        f"Cannot reach 127.0.0.1. Where there is a network, get {url} and put the file at "
        f"{tmp_path / 'folder' / 'data.bin'}"
    )
    with pytest.raises(ConnectionError) as caught:
        fetch(Remote("folder/data.bin", url, f"sha256:{'0' * 64}"), tmp_path)
    assert str(caught.value) == sentence


def test_no_address(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError,
        match=(
            r"table\.csv cannot be downloaded automatically; put the file at .*medical/table\.csv"
        ),
    ):
        fetch(Remote("medical/table.csv"), tmp_path)


def archive(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


BATCHES = [
    f"cifar-10-batches-bin/{name}.bin"
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
]


def test_unpacking_writes_the_six_batches_and_nothing_else(tmp_path: Path) -> None:
    batch = bytes(30_730_000)
    link = tarfile.TarInfo("cifar-10-batches-bin/data_batch_2.bin")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    members: dict[str, Any] = {
        "../outside.bin": b"x",
        "/tmp/labelwise-outside": b"x",
        "cifar-10-batches-bin/../../evil.bin": b"x",
        "link": link,
    }
    members |= {"cifar-10-batches-bin/readme.html": b"x", **dict.fromkeys(BATCHES, batch)}
    target = tmp_path / "data"
    target.mkdir()
    unpack_cifar10(archive(tmp_path / "a.tar.gz", members), target)
    assert sorted(
        str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()
    ) == sorted(BATCHES)
    assert not any(path.is_symlink() for path in target.rglob("*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "data"]
    assert not Path("/tmp/labelwise-outside").exists()


def test_wrong_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    archive(path, {BATCHES[0]: b"short"})
    with pytest.raises(
        ValueError,
        match=(
            r"a\.tar\.gz: no cifar-10-batches-bin/data_batch_1\.bin of 30,730,000 bytes in this "
            r"archive"
        ),
    ):
        unpack_cifar10(path, tmp_path)
    whole = archive(path, {BATCHES[0]: bytes(30_730_000)}).read_bytes()
    for content in (b"garbage", b"", whole[:1000], whole[:-2000] + bytes(2000)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.tar\.gz: (not a whole|no cifar)"):
            unpack_cifar10(path, tmp_path)
        assert not (tmp_path / BATCHES[1]).exists()
