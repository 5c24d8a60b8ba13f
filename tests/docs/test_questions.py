"""What a beginner asks is at most two clicks from the first page, and pages stay short."""

from __future__ import annotations

import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
LONGEST = 250
# Longer, because a program writes them.
GENERATED = {"reference/cli.md", "lab/results-tables.md"}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#:]+\.md)(?:#[^)\s]*)?\)")
INDEX = {"howto/index.md", "reference/index.md"}  # lists of links in a toctree


def links(page: str) -> set[str]:
    """The pages that the text of a page links to."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = set(LINK.findall(text))
    if page in INDEX:
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            lines = [line for line in tree.splitlines() if line and not line.startswith(":")]
            found |= {f"{line}.md" for line in lines}
    folder = (DOCS / page).parent
    return {Path(os.path.relpath(folder / link, DOCS)).as_posix() for link in found}


def clicks() -> dict[str, int]:
    """How many links away from the first page each page is."""
    distance = {"index.md": 0}
    waiting = ["index.md"]
    for page in waiting:
        if not (DOCS / page).is_file():  # CONTRIBUTING and the like, outside of docs
            continue
        for target in sorted(links(page)):
            if target not in distance:
                distance[target] = distance[page] + 1
                waiting.append(target)
    return distance


def questions() -> list[tuple[str, list[str]]]:
    """The questions of the page, each with the pages that answer it."""
    text = (DOCS / "start" / "questions.md").read_text(encoding="utf-8")
    found = []
    for row in re.findall(r"^\| \d+ \| (.*) \|$", text, re.MULTILINE):
        question, answer = row.split(" | ")
        targets = [os.path.relpath(DOCS / "start" / x, DOCS) for x in LINK.findall(answer)]
        found.append((question, targets))
    return found


def test_twelve_questions_are_answered_within_two_clicks() -> None:
    distance = clicks()
    rows = questions()
    assert len(rows) == 12
    for question, targets in rows:
        assert targets, question
        assert all(distance[target] <= 2 for target in targets), question


def test_every_page_is_linked_from_a_text() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    # The site shows the help pages in reference/command.
    assert pages - set(clicks()) <= {"reference/cli.md"}


def test_no_page_is_long() -> None:
    lengths = {}
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if name not in GENERATED and lines > LONGEST:
            lengths[name] = lines
    assert lengths == {}


def test_pages_begin_with_a_sentence() -> None:
    """Not with a formula, a table or a list; the pages of the API begin with their entries."""
    wrong = []
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        title, _, rest = text.partition("\n")
        if "{eval-rst}" in text or "{include}" in text:
            continue
        assert title.startswith("# "), path
        if not re.match(r"[A-Z`*\[\d]", rest.lstrip()):
            wrong.append(path.relative_to(DOCS).as_posix())
    assert wrong == []
