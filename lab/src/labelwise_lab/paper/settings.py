"""What is trained and on which images it is tested: the data sets of the paper, and the small
stand-in of ``--quick``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
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
        changes = (
            f"{key}={str(value).lower() if isinstance(value, bool) else value}"
            for key, value in self.changes
        )
        epochs, members = (
            [f"{self.epochs}-epochs"] * (self.epochs is not None),
            [f"{self.members}-members"] * (self.members != 5),
        )
        return "-".join([self.data, self.protocol, *changes, *epochs, *members])

    @property
    def images(self) -> list[TestImages]:
        """All test images that its experiments use, so that they can be predicted while the weights
        are there.
        """
        others = [
            images
            for name in DATA[self.data]
            for images in (four_ways(name) if name == "cifar10.2" else [TestImages(name)])
        ]
        return [
            *(four_ways(self.data) if self.data == "cifar10" else [TestImages(self.data)]),
            *others,
        ]

    @property
    def changed(self) -> dict[str, Any]:
        """The changes as fields of a recipe."""
        plain = {key: value for key, value in self.changes if key not in ("rate", "scaled")}
        given = dict(self.changes)
        if "rate" in given:
            plain["rates"] = ((0, given["rate"]),)
        return plain if given.get("scaled", True) else {**plain, "normalize": ((0.0,), (1 / 255,))}

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
        """Without changes that change nothing, the others in the order of the recipe's fields: one
        training has one name, however it was asked for.

        ``recipe`` tells what is trained, if it is not the setting's own recipe.
        """
        from ..training import Recipe

        of = recipe or (lambda each: each.recipe(DIGITS))
        kept = self
        for i in reversed(range(len(self.changes))):
            fewer = replace(kept, changes=kept.changes[:i] + kept.changes[i + 1 :])
            kept = fewer if of(fewer) == of(kept) else kept
        if kept.epochs is not None and of(replace(kept, epochs=None)) == of(kept):
            kept = replace(kept, epochs=None)
        order = [field.name for field in fields(Recipe)]
        place = {"rate": order.index("rates"), "scaled": order.index("normalize")}
        return replace(
            kept,
            changes=tuple(
                sorted(
                    kept.changes, key=lambda change: place.get(change[0]) or order.index(change[0])
                )
            ),
        )


def parse_change(text: str) -> tuple[str, Any]:
    """``batch_size=64`` as a field of the recipe and its value.

    >>> parse_change("shuffle=false")
    ('shuffle', False)
    """
    from ..training import Recipe

    converters: dict[str, Callable[[str], Any]] = {
        "int": int,
        "float": float,
        "str": str,
        "bool": lambda word: {"true": True, "false": False}[word.lower()],
    }
    key, equals, word = text.partition("=")
    kinds = {
        field.name: str(field.type) for field in fields(Recipe) if field.type in converters
    } | {"rate": "float", "scaled": "bool"}
    if not equals or key not in kinds:
        raise ValueError(
            f"a change must be FIELD=VALUE with one of the fields {', '.join(kinds)}; got {text!r}"
        )
    try:
        return key, converters[kinds[key]](word)
    except (ValueError, KeyError):
        raise ValueError(f"`{key}` must be a {kinds[key]}; got {word!r}") from None


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
        return (
            self.data
            + ("" if self.scaled else "-unscaled")
            + ("-transposed" if self.transposed else "")
        )

    def load(self, **where: Any) -> Examples:
        """Images and labels; ``where`` as for `labelwise_lab.datasets.load`."""
        test = (
            _out_of_distribution_for_digits(self.data)
            if self.data in DATA["digits"]
            else load(self.data, **where).test
        )
        return (
            Examples(np.ascontiguousarray(test.x.swapaxes(1, 2)), test.y)
            if self.transposed
            else test
        )


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
