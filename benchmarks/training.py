"""How much faster an ensemble of the paper's CNN trains than with the loop that everybody writes,
at equal accuracy.

The loop: one member after another, `DataLoader` over a `TensorDataset`, batches of 256, Adam,
torch's default threads. Both are run in turn, several times, because only ratios from the same
minutes mean something on a shared machine:

    python benchmarks/training.py --data-dir DATA --train 12000 --epochs 2 --rounds 3
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import replace

import numpy as np
import torch
from torch import nn

import labelwise_lab
from labelwise_lab.datasets import Dataset
from labelwise_lab.training import fit_ensemble, predict_ensemble


def textbook_cnn() -> nn.Module:
    convolutions = (
        nn.Conv2d(1, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
    return nn.Sequential(
        *convolutions, nn.Flatten(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)
    )


def straightforward(data: Dataset, members: int, epochs: int, seed: int) -> np.ndarray:
    """Probabilities for the test set, from the sequential loop."""
    x, x_test = (
        torch.tensor(part.x[:, None], dtype=torch.float32) / 255 for part in (data.train, data.test)
    )
    dataset = torch.utils.data.TensorDataset(x, torch.tensor(data.train.y))
    probs = []
    for member in range(members):
        torch.manual_seed(1000 * seed + member)
        model = textbook_cnn()
        loader = torch.utils.data.DataLoader(dataset, batch_size=256, shuffle=True)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(epochs):
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
        with torch.no_grad():
            probs.append(
                torch.cat([torch.softmax(model(part), 1) for part in x_test.split(1000)]).numpy()
            )
    return np.stack(probs)


def with_labelwise(data: Dataset, members: int, epochs: int, seed: int) -> np.ndarray:
    """The same from `fit_ensemble`: start of the processes, checkpoints and prediction included."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = replace(
            labelwise_lab.training.find_recipe("fashion-mnist", "paper"), epochs=epochs
        )
        fitted = fit_ensemble(
            "cnn", data, n_members=members, recipe=recipe, rng=seed, out_dir=folder, progress=False
        )
        return predict_ensemble(fitted, data.test.x).probs


def measure(train, *args) -> tuple[float, float, float, float]:
    """Wall seconds, processor seconds (workers too), mean accuracy of the members, accuracy of the
    ensemble.
    """
    data = args[0]
    cpu, wall = os.times(), time.perf_counter()
    probs = train(*args)
    wall, after = time.perf_counter() - wall, os.times()
    used = sum(after[:4]) - sum(cpu[:4])
    return (
        wall,
        used,
        float((probs.argmax(-1) == data.test.y).mean()),
        float((probs.mean(0).argmax(-1) == data.test.y).mean()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir")
    parser.add_argument("--train", type=int, default=12_000, help="training images (of 60,000)")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    full = labelwise_lab.datasets.load("fashion-mnist", data_dir=args.data_dir)
    data = replace(full, train=full.train[: args.train])
    print(
        f"{args.members} CNNs, {args.train:,} images, {args.epochs} epochs, "
        f"{torch.get_num_threads()} threads by default, torch {torch.__version__}"
    )
    ratios, cpu_ratios, gaps = [], [], []
    for seed in range(args.rounds):
        results = []
        # In turn and in changing order, so that a busy neighbor hits both alike.
        order = (
            [straightforward, with_labelwise]
            if seed % 2 == 0
            else [with_labelwise, straightforward]
        )
        for train in order:
            wall, cpu, member, ensemble = measure(train, data, args.members, args.epochs, seed)
            load = os.getloadavg()[0]
            print(
                (
                    f"round {seed}  {train.__name__:16s} wall {wall:7.1f} s  processor {cpu:7.1f} "
                    f"s  members {member:.4f}  ensemble {ensemble:.4f}  load {load:.1f}"
                ),
                flush=True,
            )
            results.append((wall, cpu, member))
        (loop, ours) = results if order[0] is straightforward else results[::-1]
        ratios.append(loop[0] / ours[0])
        cpu_ratios.append(loop[1] / ours[1])
        gaps.append(ours[2] - loop[2])
    print(
        f"faster by (wall):      median {statistics.median(ratios):.2f}  of "
        + " ".join(f"{r:.2f}" for r in ratios)
    )
    print(
        f"faster by (processor): median {statistics.median(cpu_ratios):.2f}  of "
        + " ".join(f"{r:.2f}" for r in cpu_ratios)
    )
    print("accuracy of the members, labelwise - loop: " + " ".join(f"{g:+.4f}" for g in gaps))


if __name__ == "__main__":
    main()
