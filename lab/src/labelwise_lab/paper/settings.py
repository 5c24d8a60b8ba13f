"""What is trained and on which images it is tested: the data sets of the paper, and the small
stand-in of ``--quick``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labelwise.demo import load_fashion_ensemble

from ..datasets import Dataset, Examples, load

if TYPE_CHECKING:
    from ..training import Recipe

__all__ = [
    "DATA",
    "QUICK",
    "Setting",
    "TestImages",
    "four_ways",
    "image_shape",
    "parse_change",
    "sets_used",
    "training_data",
]

# Data set of the paper's rejection curves -> the out-of-distribution sets that it is compared with
# (Table 1).
DATA: dict[str, tuple[str, ...]] = {
    "mnist": (),
    "fashion-mnist": ("mnist", "kmnist"),
    "kmnist": (),
    "cifar10": ("svhn", "cifar10.2"),
    "svhn": (),
    "digits": ("fashion-8x8", "shuffled-digits"),
}
DIGITS = (1, 8, 8)
"""Shape of the digits, on which their recipe depends; those of the paper's data sets depend on no
shape.
"""
QUICK = {"members": 2, "runs": 2, "epochs": 5}


@dataclass(frozen=True)
class Setting:
    """An ensemble to be trained: data, protocol, members, and departures from the protocol."""

    data: str
    protocol: str = "paper"
    members: int = 5
    epochs: int | None = None
    """Fewer (or more) than the recipe's, with its schedule compressed."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Other values for fields of the recipe, such as ``("batch_size", 64)``; ``("rate", 0.1)`` is a
    constant learning rate, ``("scaled", False)`` gray pixels of 0 … 255.
    """

    def __post_init__(self) -> None:
        if self.data not in DATA:
            raise ValueError(
                f"`data` must be one of {', '.join(map(repr, DATA))}; got {self.data!r}"
            )

    @property
    def name(self) -> str:
        """The name of its folder."""
        parts = [self.data, self.protocol]
        for key, value in self.changes:
            parts.append(f"{key}={str(value).lower() if isinstance(value, bool) else value}")
        if self.epochs is not None:
            parts.append(f"{self.epochs}-epochs")
        if self.members != 5:
            parts.append(f"{self.members}-members")
        return "-".join(parts)

    @property
    def images(self) -> list[TestImages]:
        """All test images that its experiments use, so that they can be predicted while the weights
        are there.
        """
        found = []
        for name in (self.data, *DATA[self.data]):
            found += four_ways(name) if name in ("cifar10", "cifar10.2") else [TestImages(name)]
        return found

    @property
    def changed(self) -> dict[str, Any]:
        """The changes as fields of a recipe."""
        fields = dict(self.changes)
        if "rate" in fields:
            fields["rates"] = ((0, fields.pop("rate")),)
        if not fields.pop("scaled", True):
            fields["normalize"] = ((0.0,), (1 / 255,))
        return fields

    def recipe(self, shape: Sequence[int] | None = None) -> Recipe:
        """The training recipe; the digits, which the paper does not have, get the default one."""
        from ..training import find_recipe

        recipe = replace(
            find_recipe(
                self.data, "default" if self.data == "digits" else self.protocol, shape=shape
            ),
            **self.changed,
        )
        return recipe if self.epochs is None else recipe.stretched(self.epochs)

    def canonical(self, recipe: Callable[[Setting], Recipe] | None = None) -> Setting:
        """Without changes that change nothing, the others in the order of `CHANGES`: one training
        has one name, however it was asked for.

        ``recipe`` tells what is trained, if it is not the setting's own recipe.
        """
        of = recipe or (lambda each: each.recipe(DIGITS))
        plain = replace(self, changes=(), epochs=None)
        given = dict(self.changes)  # of two, the last
        changes = [(key, given[key]) for key in CHANGES if key in given]
        kept = [each for each in changes if of(replace(plain, changes=(each,))) != of(plain)]
        same_epochs = of(replace(plain, epochs=self.epochs)) == of(plain)
        return replace(self, changes=tuple(kept), epochs=None if same_epochs else self.epochs)


CHANGES = {
    "network": str,
    "epochs": int,
    "batch_size": int,
    "optimizer": str,
    "rate": float,
    "momentum": float,
    "weight_decay": float,
    "shuffle": bool,
    "augment": bool,
    "padding": int,
    "scaled": bool,
    "keep_best": bool,
}
"""What can be changed of a recipe, in the order of folder names."""


def parse_change(text: str) -> tuple[str, Any]:
    """``batch_size=64`` as a field of the recipe and its value.

    >>> parse_change("shuffle=false")
    ('shuffle', False)
    """
    key, equals, word = text.partition("=")
    if not equals or key not in CHANGES:
        raise ValueError(
            f"a change must be FIELD=VALUE with one of the fields {', '.join(CHANGES)}; got "
            f"{text!r}"
        )
    kind = CHANGES[key]
    try:
        return key, {"true": True, "false": False}[word.lower()] if kind is bool else kind(word)
    except (ValueError, KeyError):
        raise ValueError(f"`{key}` must be a {kind.__name__}; got {word!r}") from None


@dataclass(frozen=True)
class TestImages:
    """The test images of a data set, as they are or mishandled as in the published CIFAR-10.2
    experiment.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    data: str
    scaled: bool = True
    """Whether pixels are divided by 255, as in training."""
    transposed: bool = False
    """Whether height and width are exchanged."""

    @property
    def name(self) -> str:
        """The name of its prediction file."""
        return self.data + "-unscaled" * (not self.scaled) + "-transposed" * self.transposed

    def load(self, **where: Any) -> Examples:
        """Images and labels; ``where`` as for `labelwise_lab.datasets.load`."""
        if self.data in DATA["digits"]:
            test = _out_of_distribution_for_digits(self.data)
        else:
            test = load(self.data, **where).test
        if self.transposed:
            return Examples(np.ascontiguousarray(test.x.swapaxes(1, 2)), test.y)
        return test


def sets_used(experiment: str, data: str) -> tuple[str, ...]:
    """The data sets of an experiment on ``data``: out-of-distribution sets only where AUROCs
    against them are computed.

    >>> sets_used("ood", "fashion-mnist"), sets_used("arc", "fashion-mnist")
    (('fashion-mnist', 'mnist', 'kmnist'), ('fashion-mnist',))
    """
    return (data, *(DATA.get(data, ()) if experiment in ("ood", "losses") else ()))


def four_ways(data: str) -> list[TestImages]:
    """The images of a data set, scaled or not, transposed or not."""
    return [
        TestImages(data, scaled, transposed)
        for scaled, transposed in itertools.product((True, False), (False, True))
    ]


def _out_of_distribution_for_digits(name: str) -> Examples:
    """Two sets that need no download: clothes at 8 × 8 pixels, and the test digits with their
    pixels in another order.
    """
    if name == "shuffled-digits":
        test = load("digits").test
        order = np.random.default_rng(0).permutation(64)
        return Examples(
            np.ascontiguousarray(test.x.reshape(-1, 64)[:, order].reshape(-1, 8, 8)), test.y
        )
    fashion = load_fashion_ensemble()
    x = (
        np.pad(fashion.images, ((0, 0), (2, 2), (2, 2)))
        .reshape(-1, 8, 4, 8, 4)
        .mean(axis=(2, 4))
        .astype(np.uint8)
    )
    return Examples(x, fashion.y_true[fashion.image_index])


def training_data(setting: Setting, **where: Any) -> tuple[Dataset, Examples]:
    """The data set and its training part; ``where`` as for `labelwise_lab.datasets.load`."""
    data = load(setting.data, **where)
    if data.train is None:
        raise FileNotFoundError(
            f"the training set of {setting.data} was not found, only its test set; --download gets "
            "it"
        )
    return data, data.train


def image_shape(data: Dataset) -> tuple[int, int, int]:
    """(C, H, W) of the images, as a network sees them."""
    x = data.test.x
    return (x.shape[3] if x.ndim == 4 else 1, x.shape[1], x.shape[2])
