"""PyArrow, where it is installed."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def pa(optional: Any) -> Any:
    return optional("pyarrow")


@pytest.fixture
def pq(optional: Any) -> Any:
    return optional("pyarrow.parquet")
