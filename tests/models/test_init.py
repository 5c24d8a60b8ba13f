"""The package loads what is used, and says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from labelwise import models


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


def test_scikit_learn_users_load_no_torch_and_nothing_is_loaded_in_advance():
    loaded = "print(*(name in sys.modules for name in ('torch', 'sklearn')))"
    script = (
        f"import sys; import labelwise.models; {loaded}; from labelwise.models import "
        f"LabelwiseClassifier; {loaded}"
    )
    assert run(script).splitlines() == ["False False", "False True"]


def test_a_missing_library_is_named_with_the_way_to_get_it():
    script = """
import sys
sys.modules["torch"] = sys.modules["sklearn"] = None  # as if they were not installed
import labelwise as lw
from labelwise import models
for use in (lambda: models.LabelwiseClassifier,):
    try:
        use()
    except ImportError as error:
        print(error)
"""
    assert run(script).splitlines() == [
        'LabelwiseClassifier needs scikit-learn; install it with: pip install "labelwise[sklearn]"',
    ]


@pytest.mark.parametrize("name", models.__all__)
def test_every_public_name_is_there(name):
    assert getattr(models, name).__name__ == name
    assert name in dir(models)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'from_modles'"):
        _ = models.from_modles
