"""Which case score finds bad segmentations? Five seeds × five small U-Nets on Hippocampus.

    python lab/studies/dense.py --data-dir DIR --work-dir WORK     an hour of one core
    python lab/studies/dense.py --page                             only the page, from dense.json

DIR holds hippocampus/images and hippocampus/labels, also in a folder medical/. WORK takes networks
and the scores of finished seeds; a run that was interrupted is resumed. The claims are in
dense_claims.py. Writes dense.json and dense.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from dense_claims import STRUCTURES
from dense_page import examine, page, read_rows, stored_text
from dense_training import Volume, load, predict, shifted, split, train

import labelwise as lw
from labelwise_lab.files import replacing, write_file

HERE = Path(__file__).parent
SEEDS, MEMBERS = 5, 5


def dice(a: np.ndarray, b: np.ndarray) -> float:
    """Of two masks; two empty ones agree."""
    size = np.count_nonzero(a) + np.count_nonzero(b)
    return 2 * np.count_nonzero(a & b) / size if size else 1.0


def score(probs: np.ndarray, truth: np.ndarray) -> list[dict[str, Any]]:
    """One row for each structure, from probabilities (member, x, y, z, class)."""
    uncertainty = lw.decompose(lw.Ensemble(probs))
    squared = lw.decompose(lw.Ensemble(probs), "squared")
    entropy = np.asarray(lw.joint.decompose(lw.Ensemble(probs)).total)
    mean = probs.mean(axis=0).argmax(axis=-1)
    members = probs.argmax(axis=-1)
    rows = []
    for k, structure in enumerate(STRUCTURES, start=1):
        other = 3 - k
        volume = max(np.count_nonzero(mean == k), 1)
        other_volume = max(np.count_nonzero(mean == other), 1)
        pairs = itertools.combinations(members == k, 2)
        sizes = np.count_nonzero(members == k, axis=(1, 2, 3))
        rows.append(
            {
                "structure": structure,
                "dice": dice(mean == k, truth == k),
                "eu_per_volume": uncertainty.epistemic[..., k].sum() / volume,
                "entropy_per_volume": entropy.sum() / volume,
                "pairwise_dice": 1 - np.mean([dice(a, b) for a, b in pairs]),
                "other_eu_per_volume": uncertainty.epistemic[..., other].sum() / other_volume,
                "tu_per_volume": uncertainty.total[..., k].sum() / volume,
                "au_per_volume": uncertainty.aleatoric[..., k].sum() / volume,
                "squared_eu_per_volume": squared.epistemic[..., k].sum() / volume,
                "mean_entropy_over_volume": entropy.mean() / volume,
                "mean_entropy": entropy.mean(),
                "eu_mean": uncertainty.epistemic[..., k].mean(),
                "au_mean": uncertainty.aleatoric[..., k].mean(),
                "volume_spread": sizes.std(ddof=1) / volume,
                "predicted_volume": float(np.count_nonzero(mean == k)),
                "true_volume": float(np.count_nonzero(truth == k)),
                "volume_low": float(sizes.min()),
                "volume_high": float(sizes.max()),
            }
        )
    return rows


def member(volumes: list[Volume], seed: int, number: int, work: Path) -> Any:
    """A trained network, from the work folder if it is there."""
    path = work / f"seed-{seed}-member-{number}.pt"
    if path.exists():
        from dense_training import UNet

        network = UNet()
        network.load_state_dict(torch.load(path, weights_only=True))
        return network.eval()
    start = time.process_time()
    network = train(volumes, seed, number)
    with replacing(path) as file:
        torch.save(network.state_dict(), file)
    print(f"seed {seed}, member {number}: {time.process_time() - start:.0f} CPU s", flush=True)
    return network


def run_seed(volumes: list[Volume], seed: int, work: Path) -> list[dict[str, Any]]:
    """Scores of the test volumes of one seed."""
    path = work / f"seed-{seed}.json"
    if path.exists():
        return json.loads(path.read_text())
    training, test, shifts = split(len(volumes), seed)
    networks = [member([volumes[i] for i in training], seed, m, work) for m in range(MEMBERS)]
    rng = np.random.default_rng([seed, 3])
    rows = []
    for i, shift in zip(test, shifts, strict=True):
        image = shifted(volumes[i].image, shift, rng)
        probs = np.stack([predict(network, image) for network in networks])
        for row in score(probs, volumes[i].labels):
            numbers = {key: x if isinstance(x, str) else float(x) for key, x in row.items()}
            rows.append({"seed": seed, "volume": volumes[i].name, "shift": shift} | numbers)
    write_file(path, json.dumps(rows))
    print(f"seed {seed}: {len(rows)} rows", flush=True)
    return rows


def data_folder(folder: Path) -> Path:
    """Where the volumes are below ``folder``."""
    for place in (folder / "medical" / "hippocampus", folder / "hippocampus"):
        if place.is_dir():
            return place
    raise SystemExit(f"{folder} has no folder hippocampus or medical/hippocampus")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--work-dir", type=Path)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.page:
        volumes = load(data_folder(options.data_dir))
        options.work_dir.mkdir(parents=True, exist_ok=True)
        rows = []
        for seed in range(SEEDS):
            rows += run_seed(volumes, seed, options.work_dir)
        write_file(HERE / "dense.json", stored_text(rows))
    rows = read_rows(HERE / "dense.json")
    write_file(HERE / "dense.md", page(examine(rows)))


if __name__ == "__main__":
    main()
