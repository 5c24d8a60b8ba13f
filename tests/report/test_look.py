"""How the page looks and is used: widths, dark, high contrast, paper, keyboard, screen readers, and
another browser.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from labelwise.report import build_report
from optional_libraries import missing
from report_pages import ensemble, listed, settle, value

# An element is clipped if its content is wider than it and nothing can be scrolled, unless an
# ellipsis says so and the whole is in its title, or it is only for screen readers.
CLIPPED = """() => {
  const found = [];
  for (const x of document.querySelectorAll("body *")) {
    const style = getComputedStyle(x);
    if (x.closest("svg, .hidden, .skip") || style.display === "inline") continue;
    if (!x.checkVisibility() || x.clientWidth === 0) continue;
    if (["auto", "scroll"].includes(style.overflowX)) {
      if (x.scrollWidth > x.clientWidth + 1 && !x.matches(".scroller")) found.push(x);
      continue;
    }
    if (x.scrollWidth <= x.clientWidth + 1) continue;
    const told = style.textOverflow === "ellipsis" && x.closest("[title]");
    if (!told && ["hidden", "clip"].includes(style.overflowX)) found.push(x);
  }
  return found.map((x) => `${x.tagName}.${x.className}: ${x.textContent.slice(0, 60)}`);
}"""
VIEWS = ["matrix", "map", "table", "policy", "cases"]


def pages_of(path: Path) -> int:
    """How many pages a .pdf file has."""
    text = path.read_bytes()
    return text.count(b"/Type /Page") - text.count(b"/Type /Pages")


def check_nothing_is_clipped(page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("width", [320, 390, 1024, 1440])
def test_nothing_is_clipped(width, lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report, width=width, height=800)
    for view in VIEWS:
        page.evaluate("(view) => labelwise.go({ view })", view)
        settle(page)
        check_nothing_is_clipped(page, width)
    for by in ("group", "member", "site"):
        page.evaluate("(by) => labelwise.go({ view: 'table', by })", by)
        settle(page)
        check_nothing_is_clipped(page, width)
    for refer in ("each:0.1:total", "class:melanoma:0.95:p", "costs"):
        page.evaluate("(refer) => labelwise.go({ view: 'policy', refer })", refer)
        settle(page)
        check_nothing_is_clipped(page, width)
    page.evaluate("labelwise.go({ case: 'scan-00471' })")
    settle(page)
    check_nothing_is_clipped(page, width)


@pytest.mark.parametrize(
    ("dark", "width"), [(False, 1440), (True, 1440), (False, 390), (True, 390)]
)
def test_axe_finds_nothing(lesions, open_page, axe, dark, width) -> None:
    _, report = lesions
    page = open_page(report, dark=dark, width=width, has_touch=width == 390)
    luminance = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)"
        ".reduce((sum, x) => sum + Number(x), 0)"
    )
    assert (luminance < 200) == dark
    axe(page)
    for state in (
        "{ view: 'table', by: 'member' }",
        "{ view: 'policy', refer: 'costs' }",
        "{ view: 'map', x: 'top', y: 'right' }",
        "{ view: 'cases', cases: 'list', case: 'scan-00471' }",
    ):
        page.evaluate(f"labelwise.go({state})")
        settle(page)
        axe(page)
    page.evaluate("labelwise.go({ case: '' })")
    page.locator("summary:has-text('Methods')").click()
    axe(page)


def test_high_contrast_keeps_what_color_says(lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report, width=1440, forced_colors="active")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    check_nothing_is_clipped(page, 1440)
    for name in (".parts .eu", ".key.wrong"):
        shown = page.evaluate(
            """(name) => {
              const style = getComputedStyle(document.querySelector(name));
              const body = getComputedStyle(document.body).backgroundColor;
              return style.backgroundColor !== body || style.borderTopWidth !== "0px";
            }""",
            name,
        )
        assert shown, name


def test_the_open_case_covers_what_is_below_it(lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report, width=390, hash="#case=scan-00471")
    color = page.evaluate("getComputedStyle(document.querySelector('#case')).backgroundColor")
    assert color == "rgb(255, 255, 255)"


def test_names_from_right_to_left_keep_the_order_of_what_is_around_them(open_page) -> None:
    names = ["غير طبيعي (أ)", "שלום עולם"]
    q, y = ensemble(k=2, class_names=names)
    page = open_page(
        build_report(q, y_true=y, metadata={"موقع": ["בון", "آخن"] * 150}),
        width=1440,
        hash="#" + urlencode({"موقع": "בון", "cases": "list"}),
    )
    ends = """(element, texts) => texts.map((text) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const start = walker.currentNode.data.indexOf(text);
        if (start < 0) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, start);
        range.setEnd(walker.currentNode, start + text.length);
        const { left, right } = range.getBoundingClientRect();
        return [left, right];
      }
    })"""
    chip = page.locator(".chip").evaluate(f"(chip) => ({ends})(chip, ['موقع', '=', 'בון', '×'])")
    cell = page.locator(".cases tbody td").first
    words = cell.inner_text().replace("\xa0", " ").split("\n")[0]
    name = next(name for name in names if words.startswith(name))
    parts = cell.evaluate(f"(cell, name) => ({ends})(cell, [name, '\xa0%'])", name)
    for places in (chip, parts):
        for (_, right), (left, _) in pairwise(places):
            assert right <= left + 0.5


def test_paper_shows_some_of_very_many_classes(open_page, tmp_path) -> None:
    q, y = ensemble(n=2000, k=400, sharpness=50, members=2)
    page = open_page(build_report(q, y_true=y), width=1440)
    path = tmp_path / "page.pdf"
    page.pdf(path=path, format="A4")
    assert pages_of(path) <= 4


def test_paper_has_the_selection_in_one_to_three_pages(lesions, open_page, tmp_path) -> None:
    _, report = lesions
    page = open_page(
        report, width=1440, dark=True, hash="#truth=melanoma&wrong=1&refer=each:0.1:total"
    )
    path = tmp_path / "page.pdf"
    page.pdf(path=path, format="A4", print_background=True)
    assert 1 <= pages_of(path) <= 3
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 720, "height": 1000})
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert page.locator("#sentence").is_visible()
    assert page.locator("#matrix table").is_visible()
    assert page.locator("#table table").is_visible()
    assert page.locator(".printed li").count() <= 40
    assert page.locator(".printed li").first.is_visible()
    assert not page.locator(".tools").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720


def test_everything_works_with_the_keyboard_alone(lesions, open_page) -> None:
    data, report = lesions
    page = open_page(report, width=1440)

    def here() -> str:
        return page.evaluate(
            "(() => { const x = document.activeElement; return x.id || x.dataset.key || "
            "x.className || x.tagName; })()"
        )

    page.keyboard.press("Tab")
    assert here() == "skip"
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.id === 'cases'")
    page.keyboard.press("j")
    first = page.locator("#case h2").inner_text()
    page.keyboard.press("j")
    assert page.locator("#case h2").inner_text() != first
    page.keyboard.press("k")
    assert page.locator("#case h2").inner_text() == first
    page.keyboard.press("Escape")
    assert page.evaluate("labelwise.state.value.case") == ""
    page.keyboard.press("m")
    page.wait_for_function("() => document.activeElement.id === 'matrix'")
    for _ in range(8):
        page.keyboard.press("Tab")
        if here().startswith("matrix."):
            break
    start = here()
    assert start.startswith("matrix.")
    page.keyboard.press("ArrowRight")
    assert here().startswith("matrix.")
    assert here() != start
    count = int(page.evaluate("document.activeElement.dataset.count"))
    key = here()
    page.keyboard.press("Enter")
    settle(page)
    assert len(listed(page)) == count
    assert here() == key  # focus is not lost when the page is drawn again
    page.keyboard.press("/")
    assert here() == "search"
    page.keyboard.type("scan-0001")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    settle(page)
    assert len(listed(page)) == len(data.y)
    # every control is reached, each has a name, none traps
    page.locator(".skip").focus()
    seen = set()
    for _ in range(150):
        page.keyboard.press("Tab")
        if here() == "BODY":
            break
        seen.add(here())
    names = " ".join(seen)
    for key in ("table.melanoma.missed", "policy.referred", "search", "finding.sure"):
        assert key in names


@pytest.mark.parametrize("width", [390, 1440])
def test_targets_are_large_enough(width, lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report, width=width)
    small = page.evaluate("""() => [...document.querySelectorAll("button, select, input, summary")]
      .filter((x) => x.checkVisibility() && !x.closest("p, li.note, .words, .findings, dd"))
      .map((x) => [x.getBoundingClientRect(), x])
      .filter(([box]) => box.width > 0 && (box.height < 23.5 || box.width < 15))
      .map(([box, x]) => `${x.outerHTML.slice(0, 80)} ${box.width}×${box.height}`)""")
    assert small == []


def test_one_live_region_says_what_is_selected(lesions, open_page) -> None:
    _, report = lesions
    page = open_page(report, hash="#truth=melanoma&wrong=1")
    assert page.locator("[aria-live], [role=status]").count() == 1
    text = page.locator("#sentence").inner_text()
    assert "truth = melanoma" in text
    assert "wrong" in text
    assert f"{int(value(page, 'cases.n')):,} of 1,500 cases" in text


class Firefox:
    """Firefox without a screen, driven by its own protocol."""

    def __init__(self, program: str, profile, port: int) -> None:
        preferences = f'user_pref("marionette.port", {port});\n'
        (profile / "user.js").write_text(preferences)
        arguments = [program, "--headless", "--marionette", "--profile", str(profile)]
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(300):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
                break
            except OSError:
                time.sleep(0.2)
        else:
            self.process.terminate()
            pytest.fail("Firefox did not start")
        self.read()
        self.number = 0
        self.send("WebDriver:NewSession", {})

    def read(self):
        length = b""
        while (byte := self.socket.recv(1)) != b":":
            length += byte
        data = b""
        while len(data) < int(length):
            data += self.socket.recv(int(length) - len(data))
        return json.loads(data)

    def send(self, command: str, parameters: dict):
        self.number += 1
        message = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(str(len(message)).encode() + b":" + message)
        _, _, error, result = self.read()
        assert error is None, error
        return result

    def run(self, script: str, *arguments):
        given = {"script": script, "args": list(arguments), "sandbox": None}
        return self.send("WebDriver:ExecuteScript", given)["value"]

    def close(self) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_firefox_shows_the_same(lesions, tmp_path) -> None:
    data, report = lesions
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        missing("there is no Firefox: apt-get install firefox-esr")
    profile = tmp_path / "profile"
    profile.mkdir()
    path = tmp_path / "report.html"
    path.write_text(report.html, encoding="utf-8")
    firefox = Firefox(program, profile, free_port())
    try:
        firefox.send("WebDriver:Navigate", {"url": path.as_uri()})
        for _ in range(100):
            if firefox.run("return 'ready' in document.documentElement.dataset"):
                break
            time.sleep(0.1)
        guess = data.probs.mean(0).argmax(-1)
        shown = firefox.run(
            "return document.querySelector(\"[data-key='selected.accuracy']\").dataset.value"
        )
        assert float(shown) == np.mean(guess == data.y)
        firefox.run("document.querySelector(\"button[data-key='table.melanoma.missed']\").click()")
        rows = firefox.run("return window.labelwise.rows()")
        expected = np.flatnonzero((data.y == 0) & (guess != 0)).tolist()
        assert sorted(rows) == expected
        assert "truth=melanoma" in firefox.run("return location.hash")
        width = firefox.run("return document.documentElement.scrollWidth - innerWidth")
        assert width <= 0
    finally:
        firefox.close()
