"""The front end's files: type-checked, all of them in the page, and none of them with anything from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from labelwise.report import page

HERE = Path(__file__).parent
STATIC = Path(page.__file__).with_name("static")


def test_front_end_passes_the_type_checker(missing) -> None:
    compiler = HERE / "node_modules" / ".bin" / "tsc"
    if not compiler.is_file() or shutil.which("node") is None:
        missing("TypeScript is not installed: npm install --prefix tests/report --no-package-lock")
    done = subprocess.run([compiler, "-p", HERE / "tsconfig.json"], capture_output=True, text=True, timeout=120)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


def test_every_file_is_on_the_page() -> None:
    assert sorted(path.name for path in STATIC.glob("*.js")) == sorted(page.SCRIPTS)
    html = page.render("A title", {"n": 1})
    for path in STATIC.glob("*.js"):
        assert path.read_text(encoding="utf-8") in html
    assert "<!--" not in html


def test_nothing_is_set_as_html_and_nothing_comes_from_elsewhere() -> None:
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert forbidden not in text, path.name
        assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}, path.name


@pytest.mark.parametrize("title", ["</title><script>alert(1)</script>", "<!--DATA-->", "ok & good"])
def test_titles_are_text(title) -> None:
    html = page.render(title, {"title": title})
    assert html.count("<script") == 2
    assert "<script>alert" not in html
