"""Names that are imported when first used: functions, modules, and the extra that brings a missing
library.
"""

from __future__ import annotations

import sys

import pytest

import labelwise
from labelwise._lazy import imported, lazily

get, names = lazily(
    "labelwise",
    {
        "quantify": "io.quantify",
        "joint": "joint",
        "LabelwiseClassifier": "models.sklearn",
        "gone": "io.gone",
    },
)


def test_functions_and_modules() -> None:
    from labelwise import joint
    from labelwise.io.quantify import quantify

    assert get("quantify") is quantify
    assert get("joint") is joint
    assert names() == ["LabelwiseClassifier", "gone", "joint", "quantify"]


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'labelwise' has no attribute 'quantfy'"):
        get("quantfy")


def test_only_libraries_of_extras_are_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        labelwise, "models", labelwise.models
    )  # puts the module back that others have imported
    for name in [name for name in sys.modules if name.startswith("labelwise.models")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ["sklearn", *(name for name in sys.modules if name.startswith("sklearn."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError,
        match=(
            r"LabelwiseClassifier needs scikit-learn; install it with: pip install "
            r'"labelwise\[sklearn\]"'
        ),
    ):
        get("LabelwiseClassifier")
    with pytest.raises(ModuleNotFoundError, match=r"labelwise\.io\.gone"):
        get("gone")


def test_optional_libraries_say_what_brings_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported("json", "this needs json", "all") is sys.modules["json"]
    monkeypatch.setitem(sys.modules, "json", None)
    with pytest.raises(
        ImportError, match=r'^this needs json; install it with: pip install "labelwise\[all\]"$'
    ):
        imported("json", "this needs json", "all")
