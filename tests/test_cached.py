"""A property that is computed once for each instance, and that documents itself."""

from __future__ import annotations

from dataclasses import dataclass

from labelwise._cached import cached_property


@dataclass(frozen=True)
class Squares:
    calls: list[int]
    x: int

    @cached_property
    def square(self) -> int:
        """x²."""
        self.calls.append(self.x)
        return self.x**2


def test_computed_once_for_each_instance() -> None:
    calls: list[int] = []
    three, four = Squares(calls, 3), Squares(calls, 4)
    assert [three.square, four.square, three.square] == [9, 16, 9]
    assert calls == [3, 4]


def test_the_class_shows_the_property() -> None:
    assert Squares.square.__doc__ == "x²."
