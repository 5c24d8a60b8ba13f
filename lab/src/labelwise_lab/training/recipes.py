"""Training recipes: network, optimizer, schedule and preprocessing, by data set and protocol.

The paper's text and its published code differ; ``"paper"`` is what the text says (its Appendix on
experimental details), ``"code"`` what the scripts of the published repository do. ``"default"``
serves every other data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..datasets.preprocess import CIFAR10_MEAN, CIFAR10_STD
from ..validation import check_choice, check_positive

Statistics = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Recipe:
    """How one member is trained; ``dataclasses.replace(recipe, batch_size=64)`` makes a variant.

    Examples
    --------
    >>> recipe = find_recipe("cifar10", "paper")
    >>> [recipe.rate(epoch) for epoch in (0, 19, 20, 25)]
    [0.1, 0.1, 0.001, 0.0001]
    """

    network: str
    epochs: int
    batch_size: int
    optimizer: str = "adam"
    """``"adam"`` or ``"sgd"``."""
    rates: tuple[tuple[int, float], ...] = ((0, 1e-3),)
    """Learning rates with the epoch (from 0) in which each begins."""
    momentum: float = 0.0
    weight_decay: float = 0.0
    shuffle: bool = True
    augment: bool = False
    """Random crop and horizontal flip."""
    padding: int = 4
    """Pixels by which the crop may move; 0 only flips."""
    normalize: str | Statistics | None = None
    """For images, beyond scaling to 0 … 1: ``"train"`` (mean and standard deviation of each channel
    of the training set) or these two themselves. Tables are taken as they are: see
    ``labelwise_lab.datasets.standardize``.
    """
    keep_best: bool = False
    """Use the weights of the epoch with the lowest loss on the validation set instead of those of
    the last epoch.
    """

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            object.__setattr__(self, name, check_positive(getattr(self, name), name))
        check_choice(self.optimizer, "optimizer", ("adam", "sgd"))
        starts = [epoch for epoch, _ in self.rates]
        if (
            not starts
            or starts[0] != 0
            or starts != sorted(set(starts))
            or min(rate for _, rate in self.rates) <= 0
        ):
            raise ValueError(
                "`rates` must be (epoch, learning rate) pairs, positive and in order, from epoch "
                f"0 on; got {self.rates}"
            )
        if isinstance(self.normalize, str) and self.normalize != "train":
            raise ValueError(
                f"`normalize` must be 'train', (means, deviations) or None; got {self.normalize!r}"
            )

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 0."""
        return [rate for start, rate in self.rates if start <= epoch][-1]

    def stretched(self, epochs: int) -> Recipe:
        """The same recipe over another number of epochs; the learning rate changes at the same
        share of the training.

        >>> find_recipe("cifar10", "paper").stretched(6).rates
        ((0, 0.1), (4, 0.001), (5, 0.0001))
        """
        rates = {round(start * epochs / self.epochs): rate for start, rate in self.rates}
        return replace(
            self,
            epochs=epochs,
            rates=tuple(
                (start, rate) for start, rate in sorted(rates.items()) if start < max(epochs, 1)
            ),
        )


_CNN = Recipe("cnn", epochs=20, batch_size=256)
_RESNET = Recipe(
    "resnet18",
    30,
    256,
    "sgd",
    ((0, 0.1), (20, 0.001), (25, 0.0001)),
    momentum=0.9,
    weight_decay=1e-4,
)
# The published scripts multiply the learning rate by 0.1 twice.
_STEPS = ((0, 0.1), (20, 0.01), (25, 0.001))

RECIPES = {
    "paper": {
        "mnist": replace(_CNN, epochs=10),
        "fashion-mnist": _CNN,
        "kmnist": _CNN,
        "cifar10": replace(_RESNET, augment=True, normalize="train"),
        "svhn": _RESNET,
        "petct": Recipe("resnet50", epochs=40, batch_size=50, normalize="train"),
    },
    # One of several settings each: by script, batches are of 64 in the order of the files, of 256
    # or of 64 shuffled; the weight decay of the residual networks is 1e-4 or 5e-4, their epochs 20
    # or 30. Taken here: the script that trains for rejection curves, and for CIFAR-10 the separate
    # training script (256, shuffled, 1e-4, 30 epochs) whose checkpoints that one loads.
    "code": {
        **{
            name: replace(_CNN, batch_size=64, shuffle=False)
            for name in ("mnist", "fashion-mnist", "kmnist")
        },
        "cifar10": replace(
            _RESNET, rates=_STEPS, augment=True, normalize=(CIFAR10_MEAN, CIFAR10_STD)
        ),
        "svhn": replace(
            _RESNET, rates=_STEPS, epochs=20, batch_size=64, shuffle=False, weight_decay=5e-4
        ),
        "petct": Recipe(
            "resnet50",
            40,
            50,
            rates=tuple((start, 1e-3 * 0.1 ** (start // 7)) for start in range(0, 40, 7)),
            weight_decay=5e-4,
        ),
    },
}


def default_recipe(shape: Sequence[int]) -> Recipe:
    """A recipe for inputs of ``shape``, (C, H, W) or (D,): the paper's CNN for images, a small
    dense network for tables and tiny images.

    >>> default_recipe((3, 28, 28)).network, default_recipe((34,)).network
    ('cnn', 'mlp')
    """
    if len(shape) == 3 and min(shape[1:]) >= 16:
        return Recipe("cnn", epochs=30, batch_size=64, normalize="train")
    return Recipe("mlp", epochs=50, batch_size=32)


def find_recipe(
    name: str, protocol: str | None = None, *, shape: Sequence[int] | None = None
) -> Recipe:
    """The recipe for the data set ``name`` (as in ``labelwise_lab.datasets.load``).

    ``protocol`` is ``"paper"``, ``"code"`` or ``"default"``; defaults to the paper's, if it has one
    for this data set. The default recipe depends on the ``shape`` of one input.
    """
    if protocol is None:
        protocol = "paper" if name in RECIPES["paper"] else "default"
    if protocol == "default":
        return default_recipe((1, 28, 28) if shape is None else shape)
    check_choice(protocol, "recipe", [*RECIPES, "default"])
    if name not in RECIPES[protocol]:
        raise ValueError(
            f"the recipe {protocol!r} is for {', '.join(RECIPES[protocol])}; got {name!r}. Use the "
            "recipe 'default'"
        )
    return RECIPES[protocol][name]
