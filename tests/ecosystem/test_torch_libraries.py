"""laplace-torch, MONAI, Lightning and torchmetrics: the recipes of the docs with the real
libraries, trained on small data.
"""

from __future__ import annotations

import lightning
import monai
import numpy as np
import pytest
import torch
import torchmetrics
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

import labelwise as lw
import labelwise_lab

NAMES = ["ant", "bee", "cat"]


@pytest.fixture
def loader(data) -> DataLoader:
    return DataLoader(TensorDataset(*(torch.from_numpy(part) for part in data)), batch_size=64)


def network(seed: int) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 3)
    )


def trained(
    net: torch.nn.Module,
    loader: DataLoader,
    loss=torch.nn.functional.cross_entropy,
    epochs: int = 10,
) -> torch.nn.Module:
    steps = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(epochs):
        for x, y in loader:
            steps.zero_grad()
            loss(net(x), y).backward()
            steps.step()
    return net.eval()


def test_laplace(data, loader):
    net = trained(network(0), loader)
    x = torch.from_numpy(data[0])
    la = Laplace(
        net,
        "classification",
        subset_of_weights="last_layer",
        hessian_structure="full",
        prior_precision=2.0,
    )
    la.fit(loader)
    q = lw.Ensemble(
        la.predictive_samples(
            x, pred_type="glm", n_samples=2000, generator=torch.Generator().manual_seed(0)
        ),
        class_names=NAMES,
    )
    assert q.probs.shape == (2000, 200, 3)
    ours = labelwise_lab.posteriors.fit_laplace(
        net, x, prior_precision=2.0, structure="full"
    ).predict(x, points=8192)
    u, v = lw.decompose(q), lw.decompose(ours)
    assert (
        abs(u.epistemic - v.epistemic) < 0.1 * v.epistemic.max()
    ).all()  # theirs by sampling, ours by quadrature
    mean, covariance = la._glm_predictive_distribution(x)  # what its samples are drawn from
    torch.testing.assert_close(covariance, ours.cov.to(covariance.dtype), atol=1e-4, rtol=1e-3)
    theirs = lw.decompose(lw.LogisticNormal(mean, covariance, points=8192))
    torch.testing.assert_close(theirs.epistemic, v.epistemic.to(mean.dtype), atol=1e-4, rtol=1e-2)


def test_monai_segmentation():
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 8, (12, 2))
    masks = np.zeros((12, 1, 16, 16), np.int64)
    for mask, (i, j) in zip(masks, corner, strict=True):
        mask[0, i : i + 8, j : j + 8] = 1
    images = torch.from_numpy((masks + 0.5 * rng.normal(size=masks.shape)).astype(np.float32))
    batches = DataLoader(TensorDataset(images, torch.from_numpy(masks)), batch_size=4)
    loss = monai.losses.DiceCELoss(to_onehot_y=True, softmax=True)
    models = []
    for seed in range(2):
        monai.utils.set_determinism(seed)
        net = monai.networks.nets.UNet(
            spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,)
        )
        models.append(trained(net, batches, loss, epochs=8))
    monai.utils.set_determinism(None)
    q, y = lw.from_models(
        models, batches, class_axis=1, class_names=["back", "lesion"], return_labels=True
    )
    assert q.probs.shape == (2, 12, 16, 16, 2)
    assert ((q.mean()[..., 1] > 0.5) == y[:, 0]).mean() > 0.8
    maps = lw.decompose(q).to_xarray(dims=("case", "y", "x"), label_axis=1)
    assert dict(maps.sizes) == {"case": 12, "label": 2, "y": 16, "x": 16}
    inferer = monai.inferers.SlidingWindowInferer((16, 16), overlap=0)
    tiled = lw.from_models(
        [lambda x, net=net: inferer(x, net) for net in models],
        images,
        class_axis=1,
        activation="softmax",
    )
    with torch.no_grad():
        np.testing.assert_allclose(
            tiled.mean(),
            torch.stack([net(images).softmax(1) for net in models]).mean(0).moveaxis(1, -1),
            atol=1e-5,
        )


class Lit(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = network(0)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch, index):
        self.log("loss", torch.nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.01)


class LogUncertainty(lightning.Callback):  # as in docs/howto/recipes.md
    def on_validation_epoch_end(self, trainer, module):
        q = lw.from_models(module, trainer.val_dataloaders, n_samples=20)
        module.log_dict(lw.decompose(q).to_dict())


def test_lightning(loader, tmp_path):
    quiet = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        default_root_dir=tmp_path,
        callbacks=[LogUncertainty()],
        num_sanity_val_steps=0,
        **quiet,
    )
    module = Lit()
    trainer.fit(module, loader, loader)
    logged = {key: float(value) for key, value in trainer.callback_metrics.items()}
    assert 0 < logged["epistemic"] < logged["total"]
    assert logged["total"] == pytest.approx(sum(logged[f"total.{k}"] for k in range(3)), rel=1e-5)
    by_hand = lw.decompose(lw.from_models(module, loader, n_samples=20)).to_dict()
    assert logged["epistemic"] == pytest.approx(by_hand["epistemic"], rel=1e-5)


class LabelwiseUncertainty(torchmetrics.Metric):  # as in docs/howto/tables.md
    def __init__(self, class_names, loss="log"):
        super().__init__()
        self.names, self.loss = class_names, loss
        self.add_state(
            "sums", torch.zeros(3 * len(class_names) + 1, dtype=torch.float64), dist_reduce_fx="sum"
        )

    def update(self, probs):  # (M, N, K)
        self.sums += torch.from_numpy(
            lw.metrics.LabelwiseMetric(self.loss, self.names).update(probs).state
        ).to(self.sums.device)

    def compute(self):
        return (
            lw.metrics.LabelwiseMetric(self.loss, self.names)
            .load_state(self.sums)
            .compute()
            .to_dict()
        )


def test_torchmetrics(data):
    q = lw.from_models(
        [network(seed) for seed in range(3)], torch.from_numpy(data[0]), class_names=NAMES
    )
    metric, other = LabelwiseUncertainty(NAMES), LabelwiseUncertainty(NAMES)
    for batch in q.probs[:, :150].split(40, dim=1):
        metric.update(batch)
    other.update(q.probs[:, 150:])
    metric._reduce_states({"sums": other.sums})  # what processes do with each other's states
    expected = lw.decompose(q).to_dict()
    assert metric.compute() == pytest.approx(expected, rel=1e-5)
    metric.reset()
    assert metric.sums.sum() == 0
