"""A MONAI transform; MONAI itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from .._errors import InputError
from .._lazy import imported
from .._validation.arguments import check_choice
from ..decomposition import PARTS, decompose
from ..distributions import Ensemble, MultiLabelEnsemble
from ..losses import Loss, LossName


@dataclass(frozen=True)
class LabelwiseUncertaintyd:
    """Label-wise uncertainty of the predictions of several networks, in a MONAI pipeline.

    Parameters
    ----------
    keys : sequence of str
        Keys of the members' predictions: probabilities, channels first (after ``Activationsd``).
    part : {"epistemic", "aleatoric", "total"}
        What to add to the data under this key, (channels, ...) as the predictions, with the affine
        of the first.
    loss : str or Loss
    multilabel : bool
        Channels may overlap (sigmoids).

    Examples
    --------
    >>> import torch
    >>> one = torch.tensor([0.9, 0.1]).reshape(2, 1, 1, 1).expand(2, 4, 4, 4)
    >>> transform = lw.dense.LabelwiseUncertaintyd(["net1", "net2"], loss="squared")
    >>> data = transform({"net1": one, "net2": one.flip(0)})
    >>> data["epistemic"].shape, round(float(data["epistemic"][1, 0, 0, 0]), 3)
    (torch.Size([2, 4, 4, 4]), 0.16)
    """

    keys: Sequence[str]
    _: KW_ONLY
    part: str = "epistemic"
    loss: LossName | Loss = "log"
    multilabel: bool = False

    def __post_init__(self) -> None:
        check_choice(self.part, "part", PARTS)
        if isinstance(self.keys, str) or len(self.keys) < 2:
            raise InputError(f"`keys` must name at least two members; got {self.keys!r}")

    def __call__(self, data: Mapping[str, Any]) -> dict[str, Any]:
        torch = imported("torch", "the MONAI transform needs torch", "torch")
        first = data[self.keys[0]]
        members = torch.stack([torch.Tensor.as_subclass(data[x], torch.Tensor) for x in self.keys])
        kind = MultiLabelEnsemble if self.multilabel else Ensemble
        u = decompose(kind(members, member_axis=0, class_axis=1), self.loss)
        result = getattr(u, self.part).movedim(-1, 0)
        if hasattr(first, "affine"):  # a MetaTensor: the same place in the world
            result = type(first)(result, meta=first.meta)
        return {**data, self.part: result}
