"""Configuration of the documentation site: make docs"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from labelwise import __version__
from labelwise.cli import main
from labelwise_lab.cli import main as lab_main

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "_extensions")]
from make_inventories import SITES  # noqa: E402

project = "labelwise"
author = "The labelwise maintainers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_click",
    "sphinx.ext.mathjax",
    "executed_pages",
]
# instead of reference/cli the site has reference/command
exclude_patterns = ["_static", "_extensions", "reference/cli.md"]
executed_pages = [
    "tutorials/*",
    "howto/plots",
    "explanation/decisions",
    "explanation/sets",
    "explanation/votes",
    "explanation/ensembles",
    "howto/calibration",
    "howto/evaluation",
    "howto/intervals",
]  # run at build, with figures, and written as notebooks
default_role = "py:obj"  # `Ensemble` in a docstring is a link where it can be one

smartquotes_action = "qe"  # no dashes: --label is an option


def name_commands(group: click.Group) -> None:
    """Give each command the name it is called by; the function of every one is called `command`,
    and sphinx-click shows that.
    """
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        command.name = name
        if isinstance(command, click.Group):
            name_commands(command)


name_commands(main)
name_commands(lab_main)

myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "colon_fence"]
myst_heading_anchors = 3
myst_dmath_double_inline = False
suppress_warnings = ["myst.strikethrough"]

autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # the docstrings give types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# Types in docstrings are links: our own classes, and those of other libraries by inventories that
# are stored here (no network).
intersphinx_mapping = {
    project: (site, f"_inventories/{project}.txt") for project, site in SITES.items()
}
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # all words that are not named below
numpydoc_xref_aliases = {
    name: f"{module}.{name}"
    for module in (
        "labelwise",
        *(
            f"labelwise.{m}"
            for m in [
                "axioms",
                "calibration",
                "decisions",
                "evaluation",
                "events",
                "io",
                "joint",
                "models",
                "report",
                "sets",
                "typing",  # last: the results of all of these are documented there
            ]
        ),
        *(
            f"labelwise_lab.{m}"
            for m in ["datasets", "petct", "posteriors", "simulation", "training", "votes"]
        ),
    )
    for name in import_module(module).__all__
    if inspect.isclass(getattr(import_module(module), name, None))
} | {
    "array": ":ref:`array <array>`",
    "arrays": ":ref:`arrays <array>`",
    "tensor": "torch.Tensor",
    "loader": "torch.utils.data.DataLoader",
    "distribution": "labelwise.Distribution",
    "classifier": "sklearn.base.ClassifierMixin",
    "torch.nn.Module": ":class:`torch.nn.Module`",
    "torch.nn.Linear": ":class:`torch.nn.Linear`",
    "Generator": "numpy.random.Generator",
    "numpy.random.Generator": ":class:`numpy.random.Generator`",
    "DataFrame": "pandas.DataFrame",
    "path": "pathlib.Path",
    "paths": "pathlib.Path",
    "bool": ":class:`bool`",
    "sequence": "collections.abc.Sequence",
    "mapping": "collections.abc.Mapping",
    "generator": "generator",
}

# MathJax comes with a package, so that no page of this site needs a network.
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}

html_theme = "furo"
html_title = "labelwise"
mathjax = find_spec("sphinx-mathjax-offline")  # absent where this file is only tested
mathjax_files = [] if mathjax is None else mathjax.submodule_search_locations
html_static_path = ["_static", *(f"{path}/static/mathjax/tex-svg.js" for path in mathjax_files)]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/labelwise/labelwise/",
    "source_branch": "main",
    "source_directory": "docs/",
}


def show_examples_as_typed(app: Any, context: click.Context, lines: list[str]) -> None:
    """Show the examples of a help page, which arrive as `| ` lines, as the shell has them."""
    shown = []
    for line in lines:
        example = line.removeprefix("| ")
        if example == line:
            shown.append(line)
        elif example.startswith(" "):
            shown.append(example)
        else:  # "Examples:", the line above them
            shown += [example, "", ".. code-block:: text", ""]
    lines[:] = shown


def link_results_where_they_are_documented(app: Any, exception: Exception | None) -> None:
    """Let the links from code to documentation lead to `labelwise.typing` where they name its page.

    A file of code may hold functions, documented in their module, and the results that they return,
    documented there. viewcode knows one module for each file.
    """
    link = re.compile(r"(reference/typing\.html#)labelwise\.(?:[a-z_]+\.)?([A-Z])")
    for path in Path(app.outdir, "_modules").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        path.write_text(link.sub(r"\1labelwise.typing.\2", text), encoding="utf-8")


def setup(app: Any) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("sphinx-click-process-description", show_examples_as_typed)
    app.connect("build-finished", link_results_where_they_are_documented)
