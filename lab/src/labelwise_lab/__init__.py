"""The laboratory of labelwise: the paper's experiments, training, PET/CT, people's votes and the
studies behind the documentation.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

__all__ = ["datasets", "paper", "petct", "posteriors", "simulation", "training", "votes"]


def __getattr__(name: str) -> Any:
    """A module of the package, imported when it is used: training needs torch, data sets do not."""
    from importlib import import_module

    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
