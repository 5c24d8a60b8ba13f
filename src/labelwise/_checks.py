"""What the results of all ``check_*`` functions have in common."""

from __future__ import annotations

from typing import NoReturn


class Check:
    """A result that says by ``ok`` whether nothing was found."""

    def __bool__(self) -> NoReturn:
        """Refuse: ``if check_calibration(...)`` does not tell whether "found something" or "all is
        well" is meant.
        """
        raise TypeError(
            "the result of a check is neither true nor false: use .ok of this "
            f"{type(self).__name__}"
        )
