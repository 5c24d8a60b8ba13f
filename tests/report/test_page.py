"""The HTML file: every script is in it, nothing comes from elsewhere, titles are text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from labelwise.report import page

STATIC = Path(page.__file__).with_name("static")


def test_every_file_is_on_the_page() -> None:
    assert sorted(path.name for path in STATIC.glob("*.js")) == sorted(page.SCRIPTS)
    html = page.render("A title", {"n": 1})
    for path in STATIC.glob("*.js"):
        assert path.read_text(encoding="utf-8") in html
    assert "<!--" not in html


def test_nothing_is_set_as_html_and_nothing_comes_from_elsewhere() -> None:
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        for forbidden in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert forbidden not in text, path.name
        assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}, (
            path.name
        )


@pytest.mark.parametrize("title", ["</title><script>alert(1)</script>", "<!--DATA-->", "ok & good"])
def test_titles_are_text(title) -> None:
    html = page.render(title, {"title": title})
    assert html.count("<script") == 2
    assert "<script>alert" not in html


def test_the_policy_names_no_exception(clothes) -> None:
    html = clothes[2].html
    policy = html.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert "unsafe" not in policy
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "http:" not in policy
    assert "https:" not in policy
    json.loads(html.split('id="data">')[1].split("</script>")[0])
