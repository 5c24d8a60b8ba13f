"""The experiments on CIFAR-10, on a few made-up images in its shape, with a small network, and with a set whose files are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelwise.datasets import Dataset, Examples
from labelwise.datasets.cifar import CLASS_NAMES
from labelwise.paper import artefact, holdout, human, ood, settings
from labelwise.paper import results_folder as folder
from labelwise.paper.results_folder import Options
from labelwise.paper.settings import Setting

SETTING = Setting("cifar10", members=2, epochs=1, changes=(("network", "mlp"), ("batch_size", 30)))


def images(n: int, seed: int) -> Examples:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 10
    x = rng.integers(0, 80, (n, 32, 32, 3)) + (y * 15)[:, None, None, None]
    return Examples(x.astype(np.uint8), y)


class Shelf:
    """Stands in for ``load``; only what is on the shelf can be had."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, name: str, *, data_dir: Path | None = None, download: bool = False, sha256: object = None) -> Dataset:
        if name not in self.names:
            raise FileNotFoundError(f"{name} was not found. Put it somewhere.")
        return Dataset(name, images(60, 1), images(40, 2 + len(name)), CLASS_NAMES)


@pytest.fixture
def shelf(monkeypatch) -> None:
    monkeypatch.setattr(settings, "load", Shelf("cifar10", "svhn"))


@pytest.mark.usefixtures("shelf")
def test_a_missing_set_is_noted_and_the_artefact_measured(tmp_path, monkeypatch):
    options = Options(tmp_path, n_jobs=1)
    numbers = ood.run(SETTING, 1, options)
    assert {key[0] for key in numbers["auroc"]} == {"svhn"}
    assert numbers["not run"] == {"cifar10.2": "cifar10.2 was not found."}
    assert numbers["auroc"]["svhn", "variance", "total"]["sd"] is None
    run = tmp_path / SETTING.name / "run-0"
    assert sorted(path.name for path in run.glob("*.npz")) == ["cifar10.npz", "svhn.npz"]

    four = artefact.run(SETTING, 1, options)
    assert four["auroc"]["cifar10", "scaled", "upright", "variance"]["mean"] == 0.5
    assert len(four["auroc"]) == 4 * 3
    assert all(0 <= four[part]["cifar10", "not scaled", "upright"]["mean"] <= 1 for part in ("confidence", "agreement"))
    assert list(four["not run"]) == ["cifar10.2"]
    monkeypatch.setattr(settings, "load", Shelf("cifar10", "svhn", "cifar10.2"))
    assert len(artefact.run(SETTING, 1, options)["auroc"]) == 8 * 3

    votes = np.random.default_rng(0).multinomial(50, np.full(10, 0.1), size=40)
    monkeypatch.setattr(human, "load_cifar10h", lambda **_: votes)
    found = human.run(SETTING, 1, options)
    assert set(found["spearman by label"]) == set(CLASS_NAMES)
    assert all(-1 <= cell["mean"] <= 1 for cell in found["spearman"].values())


@pytest.mark.usefixtures("shelf")
def test_the_learning_rate_falls_with_the_swap_unless_held(tmp_path, monkeypatch):
    monkeypatch.setitem(holdout.PLANS, "cifar10", holdout.Plan(20, 20, 1))
    setting = Setting("cifar10", members=1, changes=(("network", "mlp"),))
    recipes = {}
    fit = holdout._Work._fit

    def spy(self, name, recipe, draw, start):
        recipes[name] = recipe
        return fit(self, name, recipe, draw, start)

    monkeypatch.setattr(holdout._Work, "_fit", spy)
    monkeypatch.setattr(settings, "load", lambda name, **_: Dataset(name, images(60, 1), images(12, 2), CLASS_NAMES))
    run = holdout.run_one(setting, 0, Options(tmp_path, n_jobs=1), arms=("swap", "no-swap", "no-swap-constant"))
    assert [recipes[name].rate(20) for name in ("swap", "no-swap", "no-swap-constant")] == [0.001, 0.001, 0.1]
    assert recipes["before"].epochs == 20
    assert set(run.after) == {"swap", "no-swap", "no-swap-constant"}


def test_statistics_of_unscaled_inputs(optional):
    from labelwise.predictors.inputs import Inputs

    torch = optional("torch")
    inputs = Inputs((3, 4, 4), True, ((0.4, 0.5, 0.6), (0.2, 0.3, 0.1)))
    x = torch.randint(0, 256, (2, 4, 4, 3), dtype=torch.uint8)
    mean, sd = (torch.tensor(s)[:, None, None] for s in inputs.statistics)
    expected = (x.permute(0, 3, 1, 2).float() - mean) / sd
    torch.testing.assert_close(folder._unscaled(inputs)(x), expected, rtol=1e-4, atol=1e-3)
