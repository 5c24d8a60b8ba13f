"""What every second-order distribution has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, Self

from .._arrays import Array, Names, Pair, Shape, namespace
from .._engine.compute import Computed
from .._errors import kind_of
from .._frames import ids_at
from .._tables import Shown, Summary, counted, first_names, instances_in_words
from .._validation.arguments import Rng
from ..events import Events, Family, as_events, event_sums
from ..losses import Loss
from .marginals import Marginal

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ArrayT = TypeVar("ArrayT", default=Any)
else:  # Python 3.13 knows defaults
    from typing import TypeVar

    ArrayT = TypeVar("ArrayT")
ArrayT_co = TypeVar("ArrayT_co", covariant=True)


class ArrayOf(Protocol[ArrayT_co]):
    """An array, whose parts have the type of its results: the type of a NumPy array without its
    number of axes.
    """

    @property
    def shape(self) -> Any: ...
    def __getitem__(self, key: slice, /) -> ArrayT_co: ...


class Distribution(Shown, ABC, Generic[ArrayT]):
    """What a predictor believes about the class probabilities Θ of each instance.

    Subclass it to bring your own: give `class_names`, `batch_shape`, `n_classes`, `marginal`,
    `sample` and indexing. `mean` follows from `marginal`, and everything in labelwise works on it.
    If Θ has no convenient law, draw from it and let `Ensemble` be the law:
    ``Ensemble(draws, member_axis=0).marginal(events)``.
    """

    class_names: Names | None = None
    weights: Any = None
    """Of the members, (M,) or (M, ...), summing to 1; ``None``: equal, or there are none."""
    ids: Any = None
    """What the instances are called: the index of the frames it was made of, or ``None``."""
    exclusive: ClassVar[bool] = True
    """Whether exactly one class is true; ``False``: the labels may occur together."""
    finite: ClassVar[bool] = False
    """Whether it is an ensemble: finitely many `members` with weights."""
    exact_mean: ClassVar[bool] = True
    """Whether `mean` is exact up to rounding."""

    @property
    @abstractmethod
    def batch_shape(self) -> Shape:
        """The shape (...) of the instances."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """K."""

    @abstractmethod
    def marginal(self, events: Family | None = None) -> Marginal:
        """The law of each event's probability; without ``events``, of each class's."""

    @abstractmethod
    def sample(self, n: int, *, rng: Rng = None) -> ArrayT:
        """``n`` draws of Θ, shape (n, ..., K)."""

    @abstractmethod
    def __getitem__(self, index: Any) -> Self:
        """Some of the instances; ``index`` is one for the axes (...) of `batch_shape`."""

    def mean(self, events: Family | None = None) -> ArrayT:
        """E Θ, Eq. (2), of shape (..., K) or (..., E)."""
        return self.marginal(events).probability

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError("a distribution of one instance without a batch axis has no length")
        return self.batch_shape[0]

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} is a distribution, not an array: use its mean, q.mean(), or "
            "lw.decompose(q)"
        )

    def _summary(self) -> Summary:
        sizes = []
        if self.n_members is not None:
            sizes.append(counted(self.n_members, "member"))
        sizes.append(instances_in_words(self.batch_shape))
        classes = counted(self.n_classes, "class", "classes")
        if self.class_names is not None:
            classes += f" ({first_names(self.class_names)})"
        return Summary(f"{type(self).__name__}: {' × '.join([*sizes, classes])}")

    @property
    def n_members(self) -> int | None:
        """How many members it is made of; ``None``: it is continuous."""
        return None

    @property
    def members(self) -> tuple[Array, Array | None] | None:
        """The members' probabilities (M, ..., K) and weights, where it is a finite ensemble; else
        ``None``.
        """
        return None

    def with_values(self, **values: Any) -> Self:
        """The same distribution with some of its fields replaced by values that are known to be
        valid.
        """
        new = object.__new__(type(self))
        for field in fields(self):  # type: ignore[arg-type]
            vars(new)[field.name] = getattr(self, field.name)
        vars(new).update(values)
        return new

    # For the engine: a faster way, and how the work is cut into blocks.

    def fast(
        self, loss: Loss, events: Events | None, n_jobs: int | None, *, labelwise: bool = True
    ) -> Computed | None:
        """What `marginal` and its `split` give, from compiled code; ``None``: there is none for
        this loss or these arrays. Without ``labelwise`` only sums and joint measures are needed.
        """
        return None

    @property
    def n_numbers(self) -> int:
        """About how many numbers are held at once while it is computed."""
        return prod(self.batch_shape) * self.n_classes * (self.n_members or 1)

    def with_valid_values(self) -> Self:
        """The same distribution if its values are valid, else an error. Of lazy arrays they are
        known only in the tasks; everything else about them was validated before.
        """
        return self


class InArrays(Distribution[ArrayT]):
    """A distribution whose numbers are in arrays: (..., K), or (M, ..., K) of members, and maybe
    more axes at the end.
    """

    _arrays: ClassVar[Names]
    """The fields; the first one ends with the classes."""

    @property
    def n_classes(self) -> int:
        return int(getattr(self, self._arrays[0]).shape[-1])

    @property
    def batch_shape(self) -> Shape:
        return tuple(getattr(self, self._arrays[0]).shape[self._first_axis : -1])

    @property
    def _first_axis(self) -> int:
        """Of the instances: 1 after an axis of members."""
        return int(self.n_members is not None)

    def __getitem__(self, index: Any) -> Self:
        everything, n_axes = (slice(None),), len(self.batch_shape)
        i = instance_index(index, n_axes)
        at = (*everything * self._first_axis, *i)
        new = {"ids": ids_at(self.ids, i)}
        for name in self._arrays:
            x = getattr(self, name)
            after = everything * (x.ndim - self._first_axis - n_axes)
            new[name] = x[(*at, *after)]
        if self.weights is not None and self.weights.ndim > 1:
            new["weights"] = self.weights[at]
        return self.with_values(**new)


def instance_index(index: Any, n_axes: int) -> tuple[Any, ...]:
    """An index of the instances with one entry for each of their axes, so that it can be put
    between those of members and classes.
    """
    given = index if isinstance(index, tuple) else (index,)
    used = 0
    for part in given:
        if part is Ellipsis or part is None:
            raise IndexError(
                "index the instances with integers, slices or one array; `...` and None are not "
                "supported"
            )
        is_mask = str(getattr(part, "dtype", "")).endswith("bool")
        used += part.ndim if is_mask else 1
    if used > n_axes:
        raise IndexError(f"there are {n_axes} axes of instances; got {used} indices")
    return (*given, *(slice(None),) * (n_axes - used))


def sums_inside_and_outside(x: Array, events: Family | None, class_names: Names | None) -> Pair:
    """Sums of ``x`` (..., K) over the classes of each event, by default of each class, and over
    those it is contrasted with.
    """
    family = as_events(events)
    if family is None:
        return x, sum_of_other_classes(x)
    return event_sums(x, family, class_names)


def sum_of_other_classes(x: Array) -> Array:
    """For each class the sum over all others (..., K); never by subtraction, which would lose what
    is small beside 1.
    """
    xp = namespace(x)
    zero = 0 * x[..., :1]
    before = xp.cumulative_sum(xp.concat([zero, x[..., :-1]], axis=-1), axis=-1)
    backwards = xp.concat([zero, xp.flip(x[..., 1:], axis=-1)], axis=-1)
    return before + xp.flip(xp.cumulative_sum(backwards, axis=-1), axis=-1)


def not_a_distribution(q: Any) -> TypeError:
    """The error for what is not a distribution."""
    return TypeError(
        "`q` must be a distribution such as lw.Ensemble(probs) or lw.Dirichlet(alpha); got "
        f"{kind_of(q)}"
    )
