"""docs/_extensions/executed_pages.py: pages are run, wrong outputs reported, figures inserted,
notebooks written.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "docs" / "_extensions" / "executed_pages.py"
PAGE = """# A page

```python
>>> x = 2
>>> x + 1
3
>>> print("two\\nlines")
two
lines

```

Text between.

```python
>>> for i in range(2):
...     print(i * x)
0
2

```
"""


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("executed_pages", PATH)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(
        spec
    )  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_cells_end_with_their_outputs(pages, optional):
    optional("matplotlib")
    text, cells, mistakes = pages.run_page(PAGE)
    assert mistakes == []
    assert text.count("```pycon\n>>> ") == 2
    notebook = json.loads(pages.notebook(cells))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["source"] for cell in code] == [
        "x = 2\nx + 1",
        'print("two\\nlines")',
        "for i in range(2):\n    print(i * x)",
    ]
    assert code[0]["outputs"][0]["data"]["text/plain"] == "3"
    assert [cell["outputs"][0]["text"] for cell in code[1:]] == ["two\nlines\n", "0\n2\n"]
    assert [cell["cell_type"] for cell in notebook["cells"]] == [
        "markdown",
        "code",
        "code",
        "markdown",
        "code",
    ]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)


@pytest.mark.parametrize("wrong", ["4\n", ""])
def test_a_wrong_output_is_reported(pages, optional, wrong):
    optional("matplotlib")
    mistakes = pages.run_page(PAGE.replace("x + 1\n3\n", f"x + 1\n{wrong}"))[2]
    assert len(mistakes) == 1
    assert "'x + 1' gives '3" in mistakes[0]


def test_figures_become_images_with_a_description(pages, optional):
    optional("matplotlib")
    page = (
        "# Figures\n\n```python\n>>> import matplotlib.pyplot as plt\n>>> ax = "
        "plt.figure().subplots()\n>>> _ = ax.set_title('a < b')\n\n```\n"
    )
    text, cells, mistakes = pages.run_page(page)
    assert mistakes == []
    assert '<img class="figure" alt="a &lt; b" src="data:image/png;base64,iVBOR' in text
    assert set(cells[-1].outputs[0]["data"]) == {"image/png", "text/plain"}
    assert importlib.import_module("matplotlib.pyplot").get_fignums() == []
