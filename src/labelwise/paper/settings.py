"""What is trained and on what it is tried: one line for each data set of the paper, and the small stand-in of ``--quick``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets import Dataset, Examples, load, load_fashion_ensemble

if TYPE_CHECKING:
    from ..predictors import Recipe

# Data set of the paper's rejection curves -> the sets that its out-of-distribution experiments put beside it (Table 1).
DATA: dict[str, tuple[str, ...]] = {
    "mnist": (),
    "fashion-mnist": ("mnist", "kmnist"),
    "kmnist": (),
    "cifar10": ("svhn", "cifar10.2"),
    "svhn": (),
    "digits": ("fashion-8x8", "shuffled-digits"),
}
QUICK = {"members": 2, "runs": 2, "epochs": 5}


@dataclass(frozen=True)
class Setting:
    """An ensemble to be trained: data, protocol, members, and what departs from the protocol."""

    data: str
    protocol: str = "paper"
    members: int = 5
    epochs: int | None = None
    """Fewer (or more) than the recipe's, with its schedule compressed."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Other values for fields of the recipe, such as ``("batch_size", 64)``; ``("rate", 0.1)`` is a constant learning rate."""

    def __post_init__(self) -> None:
        if self.data not in DATA:
            raise ValueError(f"`data` must be one of {', '.join(map(repr, DATA))}; got {self.data!r}")

    @property
    def name(self) -> str:
        """The name of its folder."""
        parts = [self.data, self.protocol, *(f"{key}={_word(value)}" for key, value in self.changes)]
        parts += [f"{self.epochs}-epochs"] * (self.epochs is not None) + [f"{self.members}-members"] * (self.members != 5)
        return "-".join(parts)

    @property
    def changed(self) -> dict[str, Any]:
        """The changes as fields of a recipe."""
        return {"rates" if key == "rate" else key: ((0, value),) if key == "rate" else value for key, value in self.changes}

    def recipe(self, shape: Sequence[int] | None = None) -> Recipe:
        """The training recipe; the digits, which the paper does not have, get the default one."""
        from ..predictors import find_recipe

        recipe = find_recipe(self.data, "default" if self.data == "digits" else self.protocol, shape=shape)
        recipe = replace(recipe, **self.changed)
        return recipe if self.epochs is None else recipe.stretched(self.epochs)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_change(text: str) -> tuple[str, Any]:
    """``batch_size=64`` as a field of the recipe and its value.

    >>> parse_change("shuffle=false")
    ('shuffle', False)
    """
    from ..predictors import Recipe

    key, equals, word = text.partition("=")
    plain = {field.name: field.type for field in fields(Recipe) if field.type in ("int", "float", "bool", "str")} | {"rate": "float"}
    if not equals or key not in plain:
        raise ValueError(f"a change must be FIELD=VALUE with one of the fields {', '.join(plain)}; got {text!r}")
    converters: dict[str, Callable[[str], Any]] = {
        "bool": lambda w: {"true": True, "false": False}[w.lower()],
        "int": int,
        "float": float,
        "str": str,
    }
    try:
        return key, converters[str(plain[key])](word)
    except (ValueError, KeyError):
        raise ValueError(f"`{key}` must be a {plain[key]}; got {word!r}") from None


@dataclass(frozen=True)
class Source:
    """Images to be predicted: a test set, as it is or mishandled as in the published CIFAR-10.2 experiment."""

    data: str
    scaled: bool = True
    """Whether pixels are divided by 255, as in training."""
    transposed: bool = False
    """Whether height and width are exchanged."""

    @property
    def name(self) -> str:
        """The name of its prediction file."""
        return self.data + ("" if self.scaled else "-unscaled") + ("-transposed" if self.transposed else "")

    def load(self, *, data_dir: Path | None = None, download: bool = False, sha256: Mapping[str, str] | None = None) -> Examples:
        """Test images and labels."""
        test = (
            made_up(self.data) if self.data in DATA["digits"] else load(self.data, data_dir=data_dir, download=download, sha256=sha256).test
        )
        return Examples(np.ascontiguousarray(test.x.swapaxes(1, 2)), test.y) if self.transposed else test


def made_up(name: str) -> Examples:
    """Strangers to the digits that need no download: clothes at 8 × 8 pixels, and the test digits with their pixels in another order."""
    if name == "shuffled-digits":
        test = load("digits").test
        order = np.random.default_rng(0).permutation(64)
        return Examples(np.ascontiguousarray(test.x.reshape(-1, 64)[:, order].reshape(-1, 8, 8)), test.y)
    fashion = load_fashion_ensemble()
    x = np.pad(fashion.images, ((0, 0), (2, 2), (2, 2))).reshape(-1, 8, 4, 8, 4).mean(axis=(2, 4)).astype(np.uint8)
    return Examples(x, fashion.y_true[fashion.image_index])


def training_data(
    setting: Setting, *, data_dir: Path | None = None, download: bool = False, sha256: Mapping[str, str] | None = None
) -> Dataset:
    """The data set with its training part, or the sentence that it is missing."""
    data = load(setting.data, data_dir=data_dir, download=download, sha256=sha256)
    if data.train is None:
        raise FileNotFoundError(f"the training set of {setting.data} was not found, only its test set; --download gets it")
    return data


def image_shape(data: Dataset) -> tuple[int, int, int]:
    """(C, H, W) of the images, as a network sees them."""
    x = data.test.x
    return (x.shape[3] if x.ndim == 4 else 1, x.shape[1], x.shape[2])
