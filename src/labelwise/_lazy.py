"""Names of a package that are imported when first used, so that ``import labelwise`` stays
light.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_EXTRAS = {"torch": "torch", "sklearn": "scikit-learn"}
"""Libraries that may be missing, by the names of the extras that bring them."""


def imported(name: str, what: str, extra: str) -> Any:
    """An optional library; the error says ``what`` needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f'{what}; install it with: pip install "labelwise[{extra}]"') from error


def lazily(
    package: str, where: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names are in these modules of it; a
    module's own name is the module.
    """

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(f".{where[name]}", package)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in _EXTRAS:
                raise
            raise ImportError(
                f"{name} needs {_EXTRAS[missing]}; install it with: pip install "
                f'"labelwise[{missing}]"'
            ) from error
        return module if where[name] == name else getattr(module, name)

    return get, lambda: sorted(where)
