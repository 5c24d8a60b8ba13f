"""Configuration of the documentation site: make docs"""

from __future__ import annotations

import sys
from pathlib import Path

from labelwise import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "labelwise"
author = "The labelwise maintainers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_click",
    "sphinx.ext.mathjax",
    "executed_pages",
]
exclude_patterns = ["_static", "_extensions", "cli.md"]  # the site has reference/command instead
executed_pages = ["tutorials/*", "decisions", "retinamnist", "sets", "votes"]  # run at build, with figures, and written as notebooks
default_role = "py:obj"  # `Ensemble` in a docstring is a link where it can be one

myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "colon_fence"]
myst_heading_anchors = 3
myst_dmath_double_inline = False
suppress_warnings = ["myst.strikethrough"]

autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # the docstrings give types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Version 3, as 4 fetches its glyphs from a network; no page of this site needs one.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}

html_theme = "furo"
html_title = "labelwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/labelwise/labelwise/",
    "source_branch": "main",
    "source_directory": "docs/",
}
