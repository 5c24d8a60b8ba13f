"""The rule for what a machine may lack: its tests are skipped, or fail when
LABELWISE_REQUIRE_ALL=1.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test or, at the top of a module, all its tests; fail instead where nothing may be
    skipped.
    """
    if os.environ.get("LABELWISE_REQUIRE_ALL") == "1":
        pytest.fail(f"{what}, and LABELWISE_REQUIRE_ALL=1 forbids skipping")
    pytest.skip(what, allow_module_level=True)


def optional(name: str) -> ModuleType:
    """Import an optional library, inside a test or at the top of a module."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"{name} is not installed")
