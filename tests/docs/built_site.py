"""The built site: links, no network, search, phone width, notebooks. `make docs` runs it;
LABELWISE_SITE is the folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

SITE = Path(os.environ.get("LABELWISE_SITE", "build/docs/html")).resolve()
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))


class Page(HTMLParser):
    """Links, loaded files and anchors of a page."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors = {""}
        self.feed((SITE / path).read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if "src" in found:
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def pages() -> dict[str, Page]:
    assert "index.html" in PAGES, f"no site in {SITE}: run `make docs`"
    return {path: Page(path) for path in PAGES}


def test_links_inside_the_site_lead_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if "://" in link or link.startswith("mailto:"):
                continue
            file = (SITE / path).parent / unquote(target) if target else SITE / path
            file = file / "index.html" if file.is_dir() else file
            there = pages.get(file.resolve().relative_to(SITE).as_posix())
            if not file.is_file() or (there is not None and unquote(anchor) not in there.anchors):
                broken.append((path, link))
    assert not broken


def test_commands_have_their_names():
    text = (SITE / "reference" / "command.html").read_text(encoding="utf-8")
    plain = re.sub(r"<[^>]*>", "", text)
    for command in ("quantify", "acquire", "sets fit"):
        assert f"labelwise {command} [OPTIONS]" in plain
    assert "labelwise-lab petct prepare [OPTIONS]" in plain
    assert "labelwise command" not in plain
    assert "labelwise acquire preds.npz --label cat --budget 100" in plain


@pytest.mark.parametrize(
    ("path", "address"),
    [
        (
            "reference/typing.html",
            "https://docs.xarray.dev/en/stable/generated/xarray.Dataset.html#xarray.Dataset",
        ),
        (
            "reference/core.html",
            "https://scikit-learn.org/stable/modules/generated/sklearn.model_selection.GridSearchCV.html",
        ),
        ("reference/core.html", "https://docs.python.org/3/library/stdtypes.html#str"),
        (
            "reference/index.html",
            "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html#numpy.ndarray",
        ),
        ("reference/index.html", "https://docs.pytorch.org/docs/stable/tensors.html#torch.Tensor"),
        (
            "lab/reference.html",
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module",
        ),
        (
            "reference/core.html",
            "https://numpy.org/doc/stable/reference/random/generator.html#numpy.random.Generator",
        ),
        ("reference/evaluation.html", "typing.html#labelwise.typing.Uncertainty"),
        ("reference/evaluation.html", "index.html#array"),
    ],
)
def test_types_are_links(pages, path, address):
    assert any(link.startswith(address) for link in pages[path].links)


def test_every_stored_address_is_used(pages):
    links = {link for page in pages.values() for link in page.links}
    stored = (Path(__file__).parents[2] / "docs" / "_inventories").glob("*.txt")
    lines = [
        line.split()
        for file in stored
        for line in file.read_text(encoding="utf-8").splitlines()[3:]
    ]
    assert len(lines) > 20
    assert [
        name
        for name, _, page in lines
        if not any(link.endswith(f"{page}#{name}") for link in links)
    ] == []


def test_pages_load_nothing_from_elsewhere(pages):
    assert [
        (path, x)
        for path, page in pages.items()
        for x in page.loads
        if "//" in x and not x.startswith("data:")
    ] == []


def test_notebooks_reproduce_their_outputs():
    files = sorted((SITE / "notebooks").glob("*.ipynb"))
    assert len(files) >= 5
    for file in files:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        assert len({cell["id"] for cell in cells}) == len(cells)
        assert any(cell["cell_type"] == "code" and cell["outputs"] for cell in cells), file.name
    names: dict[str, object] = {}
    for cell in json.loads(
        (SITE / "notebooks" / "tutorials-label_next.ipynb").read_text(encoding="utf-8")
    )["cells"]:
        if cell["cell_type"] == "code":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                for line in _statements(cell["source"]):
                    exec(line, names)
            texts = [
                o.get("text") or o["data"]["text/plain"]
                for o in cell["outputs"]
                if o["output_type"] != "display_data"
            ]
            assert out.getvalue().strip() == "\n".join(texts).strip()


def _statements(source: str) -> Iterator[object]:
    import ast

    for node in ast.parse(source).body:
        yield compile(ast.Interactive([node]), "<cell>", "single")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path="/usr/bin/chromium")
        yield chromium
        chromium.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("jackknife", "explanation/theory.html"),
        ("melanoma", "explanation/decisions.html"),
        ("decompose", "reference/core.html"),
    ],
)
def test_search_finds(browser, address, query, expected):
    page = browser.new_page()
    page.goto(f"{address}/search.html?q={query}")
    page.wait_for_selector(f"#search-results a[href*='{expected}']", timeout=60_000)
    page.close()


def test_mathematics_is_drawn_without_a_network(browser, address):
    page = browser.new_page()
    elsewhere: list[str] = []
    page.on(
        "request",
        lambda request: (
            elsewhere.append(request.url)
            if not request.url.startswith((address, "data:"))
            else None
        ),
    )
    page.goto(f"{address}/explanation/theory.html")
    page.wait_for_selector("mjx-container svg", timeout=60_000)
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    assert not elsewhere
    page.close()


@pytest.mark.parametrize(
    "path",
    [
        "index.html",
        "explanation/theory.html",
        "tutorials/reading.html",
        "reference/core.html",
        "howto/costs.html",
        "lab/results-tables.html",
    ],
)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_phones_need_not_scroll_sideways(browser, address, path, dark):
    page = browser.new_page(
        viewport={"width": 390, "height": 844}, color_scheme="dark" if dark else "light"
    )
    page.goto(f"{address}/{path}")
    if path == "explanation/theory.html":
        page.wait_for_selector("mjx-container svg", timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 391
    page.close()
