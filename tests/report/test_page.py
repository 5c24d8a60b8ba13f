"""The HTML file: the app is in it, nothing comes from elsewhere, titles are text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from labelwise.report import page
from optional_libraries import missing

STATIC = Path(page.__file__).with_name("static")
ROOT = Path(__file__).parents[2]


def test_the_page_is_three_files() -> None:
    assert sorted(path.name for path in STATIC.iterdir()) == ["app.js", "page.html", "style.css"]
    html = page.render("A title", {"n": 1}, {"id": "AAAA"})
    for name in ("app.js", "style.css"):
        assert (STATIC / name).read_text(encoding="utf-8") in html
    assert "<!--" not in html.replace(page.asset("app.js"), "")
    assert html.index('id="data-id">AAAA<') < html.index("<script>")


def test_nothing_is_set_as_html_and_nothing_comes_from_elsewhere() -> None:
    sources = [*(ROOT / "page" / "src").iterdir(), STATIC / "page.html", STATIC / "style.css"]
    for path in sources:
        text = path.read_text(encoding="utf-8")
        for forbidden in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "fetch(",
            "XMLHttpRequest",
            "localStorage",
        ):
            assert forbidden not in text, path.name
        assert set(re.findall(r"https?://[^\s\"')`]+", text)) <= {"http://www.w3.org/2000/svg"}, (
            path.name
        )


@pytest.mark.parametrize("title", ["</title><script>alert(1)</script>", "{data}", "ok & good"])
def test_titles_are_text(title) -> None:
    html = page.render(title, {"title": title}, {})
    outside = html.replace(page.asset("app.js"), "")
    assert outside.count("<script") == 2
    assert "<script>alert" not in outside


def test_the_policy_names_no_exception(clothes) -> None:
    html = clothes[2].html
    policy = html.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert "unsafe" not in policy
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "http:" not in policy
    assert "https:" not in policy
    json.loads(html.split('id="meta">')[1].split("</script>")[0])


def npm(*words: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("npm") is None or not (ROOT / "page" / "node_modules").is_dir():
        missing("the page's tools are not installed: npm ci --prefix page")
    return subprocess.run(
        ["npm", "--silent", *words], cwd=ROOT / "page", capture_output=True, text=True
    )


@pytest.mark.parametrize("command", ["build -- --check", "test"])
def test_the_app_is_what_its_source_builds_and_passes_its_own_tests(command) -> None:
    done = npm("run", *command.split())
    assert done.returncode == 0, done.stdout + done.stderr
