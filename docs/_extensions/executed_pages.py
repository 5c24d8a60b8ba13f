"""Sphinx extension: run the examples of pages, show the figures they draw, and write each page as a
notebook.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import doctest
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from html import escape
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(?:python|pycon)\n(>>>.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
ROOT = Path(__file__).parents[2]


@dataclass
class Cell:
    """A cell of a notebook: text, or statements with what they printed and drew."""

    kind: str
    source: str = ""
    outputs: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self, number: int) -> dict[str, Any]:
        """As the notebook format 4.5 has it."""
        cell = {
            "cell_type": self.kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": self.source,
        }
        return cell | (
            {"execution_count": None, "outputs": self.outputs} if self.kind == "code" else {}
        )


def run_block(block: str, names: dict[str, Any]) -> Iterator[tuple[Cell, str | None]]:
    """The cells of one block, each with what is wrong with its output or None."""
    cell = Cell("code")
    for example in doctest.DocTestParser().get_examples(block):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(example.source, "<page>", "single"), names)  # noqa: S102  our own pages
        cell.source += example.source
        printed = out.getvalue()
        if not printed and not example.want:
            continue
        fits = doctest.OutputChecker().check_output(example.want, printed, FLAGS)
        cell.outputs.append(_text(example.source, printed))
        yield (
            _ended(cell),
            None
            if fits
            else f"{example.source.strip()!r} gives {printed!r}, the page says {example.want!r}",
        )
        cell = Cell("code")
    if cell.source:
        yield _ended(cell), None


def _ended(cell: Cell) -> Cell:
    cell.source = cell.source.rstrip("\n")
    return cell


def _text(source: str, printed: str) -> dict[str, Any]:
    """A value for an expression, a stream for everything else."""
    try:
        call = ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if call is None or (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"
    ):
        return {"output_type": "stream", "name": "stdout", "text": printed}
    return {
        "output_type": "execute_result",
        "execution_count": None,
        "metadata": {},
        "data": {"text/plain": printed.rstrip("\n")},
    }


def figures() -> Iterator[tuple[str, str]]:
    """The open figures as PNG in base64, each with its title in words; they are closed."""
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        figure, file = plt.figure(number), io.BytesIO()
        titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
        figure.savefig(
            file, format="png", dpi=120, bbox_inches="tight", metadata={"Software": None}
        )
        plt.close(figure)
        yield (
            base64.b64encode(file.getvalue()).decode(),
            "; ".join(filter(None, titles)) or "Figure drawn by the code above",
        )


def run_page(text: str) -> tuple[str, list[Cell], list[str]]:
    """The page with its figures, its cells, and what its examples got wrong."""
    import matplotlib as mpl

    if mpl.get_backend().lower() != "agg":
        mpl.use("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    pieces, cells, mistakes = [], [], []
    with contextlib.chdir(ROOT):
        for i, piece in enumerate(BLOCK.split(text)):
            if i % 2 == 0:
                pieces.append(piece)
                if piece.strip():
                    cells.append(Cell("markdown", piece.strip()))
                continue
            pieces.append(_shown(piece))
            for cell, mistake in run_block(piece, names):
                cells.append(cell)
                mistakes += [mistake] if mistake else []
            for png, title in figures():
                pieces.append(
                    f'\n<img class="figure" alt="{escape(title)}" '
                    f'src="data:image/png;base64,{png}">\n'
                )
                cells[-1].outputs.append(
                    {
                        "output_type": "display_data",
                        "metadata": {},
                        "data": {"image/png": png, "text/plain": title},
                    }
                )
    return "".join(pieces), cells, mistakes


def _shown(block: str) -> str:
    """A block without the empty line that doctest needs at its end."""
    return f"```pycon\n{block.rstrip()}\n```"


def notebook(cells: list[Cell]) -> str:
    """A notebook of format 4.5."""
    kernel = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    content = {
        "cells": [c.to_json(i) for i, c in enumerate(cells)],
        "metadata": kernel,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _on_source_read(app: Any, docname: str, source: list[str]) -> None:
    if not any(fnmatch(docname, pattern) for pattern in app.config.executed_pages):
        source[0] = BLOCK.sub(lambda found: _shown(found[1]), source[0])
        return
    from sphinx.util import logging

    text, cells, mistakes = run_page(source[0])
    for mistake in mistakes:
        logging.getLogger(__name__).warning("example: %s", mistake, location=docname)
    path = Path(app.outdir, "notebooks", docname.replace("/", "-") + ".ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook(cells), encoding="utf-8")
    href = "../" * docname.count("/") + f"notebooks/{path.name}"
    # at the end: a page begins with its answer
    source[0] = (
        f'{text}\n\n<p><a href="{href}" download>Download this page as a notebook</a>, executed; '
        f"run it from the root of a clone.</p>\n"
    )


def setup(app: Any) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("executed_pages", [], "env", types=list)
    app.connect("source-read", _on_source_read)
    return {"version": "1", "parallel_read_safe": True}
