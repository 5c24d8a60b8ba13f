"""What the data pipeline takes of an epoch of ResNet-18 on CIFAR-10: shuffled, cropped, flipped and
normalized batches of 256.

Batches and training steps are timed in turn, so that the share means something on a busy machine
too:

    python benchmarks/data_pipeline.py --data-dir DATA --steps 20

Without the data set, images of the same size are made: the time does not depend on what is in them.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch
from torch.nn import functional as F

from labelwise_lab.datasets import load, preprocess
from labelwise_lab.training.networks import resnet18


def images(data_dir: str | None) -> tuple[np.ndarray, np.ndarray]:
    start = time.perf_counter()
    try:
        train = load("cifar10", data_dir=data_dir).train
    except FileNotFoundError:
        train = None
    if train is None:
        print("images: made")
        rng = np.random.default_rng(0)
        return rng.integers(0, 256, (50_000, 32, 32, 3), dtype=np.uint8), rng.integers(
            0, 10, 50_000
        )
    print(f"images: CIFAR-10, read in {time.perf_counter() - start:.1f} s")
    return train.x, train.y


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=20, help="training steps that are timed")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    x, y = images(options.data_dir)
    torch.manual_seed(0)
    network = resnet18(10).to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)

    loading, training = [], []
    settings = {"augment": True, "mean": preprocess.CIFAR10_MEAN, "std": preprocess.CIFAR10_STD}
    epoch = preprocess.batches(x, y, generator=torch.Generator().manual_seed(0), **settings)
    while True:
        wall, cpu = time.perf_counter(), time.process_time()
        batch = next(epoch, None)
        if batch is None:
            break
        loading.append((time.perf_counter() - wall, time.process_time() - cpu))
        if len(training) < options.steps:
            wall, cpu = time.perf_counter(), time.process_time()
            optimiser.zero_grad()
            F.cross_entropy(network(batch[0]), batch[1]).backward()
            optimiser.step()
            training.append((time.perf_counter() - wall, time.process_time() - cpu))

    n, timed = len(loading), slice(1, len(training))  # the first step sets things up
    print(f"one epoch, {n} batches, {options.threads} thread(s)      wall s     cpu s")
    for name, times, part in (
        ("pipeline", loading, slice(None)),
        ("pipeline between steps", loading, timed),
        ("ResNet-18", training, timed),
    ):
        wall, cpu = (statistics.mean(column) * n for column in zip(*times[part], strict=True))
        print(f"{name:36} {wall:10.2f} {cpu:9.2f}")
    share = [
        statistics.mean(t[i] for t in loading[timed])
        / statistics.mean(a[i] + b[i] for a, b in zip(loading[timed], training[timed], strict=True))
        for i in (0, 1)
    ]
    print(f"{'share of the pipeline':36} {share[0]:10.1%} {share[1]:9.1%}")


if __name__ == "__main__":
    main()
