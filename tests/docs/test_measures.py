"""docs/reference/measures.md: its tables are what docs/make_measures.py computes, row for row."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"-?\d\.\d{3,4}\b")


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_measures", DOCS / "make_measures.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_up_to_date(maker) -> None:
    text = (DOCS / "reference" / "measures.md").read_text(encoding="utf-8")
    new = maker.page(text, maker.tables())
    assert NUMBER.sub("#", new) == NUMBER.sub("#", text), "run: python docs/make_measures.py"
    # the last digit may differ between machines
    values = [np.array(NUMBER.findall(x), float) for x in (new, text)]
    assert len(values[0]) > 300
    np.testing.assert_allclose(*values, atol=0.002)


def test_calls_give_one_value_for_each_label_or_instance(maker) -> None:
    import labelwise as lw

    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (4, 5)))
    for name, row in maker.rows().items():
        found = eval(row.call, {"lw": lw, "q": q})  # our own page's calls
        joint = name.startswith("joint")
        assert found.shape == ((5,) if joint else (5, 3)), name
        score = lw.evaluation.measures.measure_scores(q)[name]
        total = found if joint else found.sum(-1)
        np.testing.assert_allclose(score, total, rtol=1e-8, atol=1e-11, err_msg=name)
