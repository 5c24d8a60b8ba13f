"""A real browser for the pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from labelwise.report import build_report
from optional_libraries import missing
from report_pages import ensemble, hospital, settle

NAMES = ["T-shirt", "trouser", "pullover", "dress", "coat"]
PAGE = Path(__file__).parents[2] / "page"


@pytest.fixture(name="missing")
def _missing():
    return missing


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing('playwright is not installed: pip install -e ".[dev]"')
    program = next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )
    if program is None:
        missing("there is no browser: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a report from disk; at the end nothing may have been logged, and nothing asked of the
    network.
    """
    contexts, trouble = [], []

    def open_page(report, *, width=1200, height=900, dark=False, hash="", **options):
        path = tmp_path / f"report{len(contexts)}.html"
        path.write_text(report.html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                trouble.append(f"request: {request.url[:100]}")
                if not _local(request.url, path)
                else None
            ),
        )
        page.goto(path.as_uri() + hash)
        page.wait_for_selector("html[data-ready]")
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def _local(url: str, path: Path) -> bool:
    return url.startswith(("data:", "blob:")) or url.partition("#")[0] == path.as_uri()


@pytest.fixture(scope="session")
def clothes():
    """Ensemble, labels, and the report that most tests look at."""
    q, y = ensemble(class_names=NAMES)
    images = np.random.default_rng(1).integers(0, 256, (300, 12, 12), dtype=np.uint8)
    outside, _ = ensemble(n=80, seed=5, class_names=NAMES, sharpness=2.0)
    return (
        q,
        y,
        build_report(q, y_true=y, images=images, ood={"elsewhere": outside}, title="Clothes"),
    )


@pytest.fixture(scope="session")
def lesions():
    """Data of a hospital, and its report."""
    data = hospital()
    return data, build_report(
        data.predictions, metadata=data.metadata, votes=data.votes, title="Skin lesions"
    )


@pytest.fixture(scope="session")
def axe():
    """A function that fails with whatever axe-core finds on a page."""
    source = PAGE / "node_modules" / "axe-core" / "axe.min.js"
    if not source.is_file():
        missing("axe-core is not installed: npm ci --prefix page")

    def check(page) -> None:
        # as the debugger: the page's policy forbids scripts from elsewhere
        page.evaluate(source.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [
            (v["id"], v["help"], [node["html"][:120] for node in v["nodes"][:3]])
            for v in found["violations"]
        ] == []

    return check
