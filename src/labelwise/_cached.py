"""`functools.cached_property` without the lock that Python 3.11 takes, so that ``torch.compile``
can trace it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """A property that is computed once for each instance."""

    if not TYPE_CHECKING:  # its types are those of functools

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
