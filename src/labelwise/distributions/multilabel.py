"""Ensembles for labels that may occur together: K Bernoulli outcomes that need not sum to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

import numpy as np

from .._arrays import Array, as_floating, check_finite, namespace, values_known
from .._named_predictions import has_names, read_names
from .._validation import check_logits
from ..events import Events
from .base import ArrayOf, ArrayT, GivenT, with_ids
from .ensemble import MemberOptions, Members
from .marginals import Atoms


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MultiLabelEnsemble(Members[ArrayT]):
    """The predictions of M members for K labels that may occur together; parameters as for
    `Ensemble`, without the sum to 1.

    >>> q = MultiLabelEnsemble(np.array([[[0.9, 0.8]], [[0.7, 0.8]]]), class_names=["beach", "sunset"])
    >>> q.mean()
    array([[0.8, 0.8]])
    """  # noqa: E501

    exclusive: ClassVar[bool] = False

    if TYPE_CHECKING:

        @overload
        def __init__(self, probs: ArrayOf[ArrayT], **options: Unpack[MemberOptions]) -> None: ...
        @overload
        def __init__(
            self: MultiLabelEnsemble[np.ndarray],
            probs: Sequence[Any] | Mapping[str, Any],
            **options: Unpack[MemberOptions],
        ) -> None: ...
        def __init__(self, probs: Any, **options: Any) -> None: ...

    @overload
    @classmethod
    def from_logits(
        cls, logits: ArrayOf[GivenT], **options: Unpack[MemberOptions]
    ) -> MultiLabelEnsemble[GivenT]: ...
    @overload
    @classmethod
    def from_logits(
        cls, logits: Sequence[Any] | Mapping[str, Any], **options: Unpack[MemberOptions]
    ) -> MultiLabelEnsemble[np.ndarray]: ...
    @classmethod
    def from_logits(cls, logits: Any, **options: Unpack[MemberOptions]) -> MultiLabelEnsemble[Any]:
        """An ensemble from network outputs before the sigmoid; options as for the class. A warning
        says if they all lie in [0, 1].

        >>> MultiLabelEnsemble.from_logits(np.array([[[0.0, 1000.0]]])).mean()
        array([[0.5, 1. ]])
        """
        ids = None
        if type(logits) is not np.ndarray and has_names(logits):
            names, member_axis, class_axis = (
                options.get("class_names"),
                options.get("member_axis"),
                options.get("class_axis", -1),
            )
            given = read_names(
                logits, "logits", names, member_axis=member_axis, class_axis=class_axis
            )
            options |= {
                "member_axis": given.member_axis,
                "class_axis": given.class_axis,
                "class_names": given.class_names,
            }
            options["weights"] = given.weights(options.get("weights"))
            logits, ids = given.values, given.ids
        z = as_floating(logits, "logits")
        check_logits(z, exclusive=False)
        xp = namespace(z)
        if values_known(z):
            check_finite(xp.where(xp.isinf(z), xp.zeros_like(z), z), "logits")
        below = xp.exp(
            xp.where(z < 0, z, 0.0)
        )  # neither overflows, and both have the right derivative at 0
        above = xp.exp(-xp.where(z < 0, 0.0, z))
        return with_ids(cls(xp.where(z < 0, below / (1 + below), 1 / (1 + above)), **options), ids)

    def law(self, probs: Array, weights: Array | None, events: Events | None) -> Atoms:
        if events is not None:
            raise ValueError(
                "`events` have no meaning for a MultiLabelEnsemble: its labels may occur together, "
                "so the probability of a "
                "group is not the sum of its labels'. Leave `events` out"
            )
        return Atoms(probs, weights)
