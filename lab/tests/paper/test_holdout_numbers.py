"""Numbers of the hold-out experiment: from runs with known effects, and from the authors' files
where they are given.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from labelwise_lab.paper.holdout import Run, halves
from labelwise_lab.paper.holdout_numbers import (
    effect_in_words,
    numbers_of,
    published,
    smallest_detectable,
)
from labelwise_lab.paper.holdout_runs import Runs
from labelwise_lab.paper.records import pick, select

RESULTS = Path(__file__).parents[2] / "results"
REFERENCE = os.environ.get("LABELWISE_REFERENCE")

# drop: mean and deviation of the selected class, the others, and the next highest; then the runs in
# which the selected class has the largest drop, the cases in which another class rises, and the
# share of the drop that a line fitted to the others predicts
RECOMPUTED = {
    "cifar": {
        "absolute": ("0.0057±0.0011", "0.0023±0.0006", "0.0041±0.0007"),
        "relative": ("0.5815±0.0304", "0.3682±0.0705", "0.5736±0.0540"),
        "counts": (4, 3, [3, 45]),
        "predicted": ("0.91", "0.0005", "-0.00010", "0.0012"),
    },
    "fmnist": {
        "absolute": ("0.0070±0.0006", "0.0018±0.0008", "0.0048±0.0019"),
        "relative": ("0.7934±0.0616", "0.3872±0.1088", "0.7657±0.0582"),
        "counts": (5, 4, [7, 45]),
        "predicted": ("0.87", "0.0009", "-0.00159", "0.0035"),
    },
}


def check(name: str, numbers: dict) -> None:
    expected = RECOMPUTED[name]
    for kind in ("absolute", "relative"):
        columns = numbers["drop"][kind]
        found = tuple(
            f"{columns[c]['mean']:.4f}±{columns[c]['sd']:.4f}"
            for c in ("selected", "others", "next highest")
        )
        assert found == expected[kind]
    largest = numbers["selected has the largest drop"]
    assert (
        largest["absolute"],
        largest["relative"],
        numbers["EU of another class rises"],
    ) == expected["counts"]
    over = numbers["excess"]
    found = (
        f"{numbers['predicted by the other classes']['value']:.2f}",
        f"{over['value']:.4f}",
        f"{over['low']:.5f}",
        f"{over['high']:.4f}",
    )
    assert found == expected["predicted"]


@pytest.mark.parametrize("name", RECOMPUTED)
def test_the_stored_numbers_are_those_recomputed(name):
    stored = json.loads((RESULTS / "published" / f"{name}.json").read_text())
    assert stored["about"]["runs"] == 5
    check(name, stored["numbers"])


if REFERENCE:  # the folder with label_uq_holdout_cifar.npz and label_uq_holdout_fmnist.npz

    @pytest.mark.parametrize("name", RECOMPUTED)
    def test_the_authors_arrays(name):
        from labelwise_lab.paper.results_folder import plain

        numbers, _ = published(Path(REFERENCE) / f"label_uq_holdout_{name}.npz")
        check(name, plain(numbers))


def arrays(runs: int = 4, n: int = 50, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    before = rng.exponential(rng.uniform(0.5, 2, (runs, 1, k)), (runs, n, k)).astype(np.float32)
    return before, (before * rng.uniform(0.2, 1.2, (runs, 1, k))).astype(np.float32)


def test_by_hand(tmp_path):
    """Loops instead of masks, and the file instead of arrays."""
    before, after = arrays()
    np.savez(tmp_path / "x_made.npz", eus_before=before, eus_after=after)
    numbers, d = published(tmp_path / "x_made.npz")
    selected, others, highest, rises, largest = [], [], [], 0, 0
    for b, a in zip(before.astype(float), after.astype(float), strict=True):
        b, a = b.mean(0), a.mean(0)
        top = max(range(5), key=lambda k: b[k])
        rest = [(b[k] - a[k]) / b[k] for k in range(5) if k != top]
        selected.append((b[top] - a[top]) / b[top])
        others.append(sum(rest) / 4)
        highest.append(max(rest))
        rises += sum(x < 0 for x in rest)
        largest += selected[-1] > max(rest)
    columns = numbers["drop"]["relative"]
    for name, values in (("selected", selected), ("others", others), ("next highest", highest)):
        np.testing.assert_allclose(columns[name]["runs"], values, rtol=1e-12)
        assert columns[name]["mean"] == pytest.approx(np.mean(values))
        assert columns[name]["sd"] == pytest.approx(np.std(values))
    assert numbers["EU of another class rises"] == [rises, 16]
    assert numbers["selected has the largest drop"]["relative"] == largest == d.largest("relative")


def made_run(seed: int, effect: float) -> Run:
    rng = np.random.default_rng(seed)
    before = rng.exponential([1, 2, 3, 9], (60, 4))
    plain = before * 0.5
    swap, random = plain.copy(), plain.copy()
    swap[:, 3] *= np.exp(effect)
    random[:, 1] *= np.exp(2 * effect)
    after = {"swap": swap, "no-swap": plain, "random-class": random}
    labels = {"swap": 3, "no-swap": 3, "random-class": 1}
    return Run(
        before,
        after,
        labels,
        halves(60, seed),
        rng.integers(0, 4, 60),
        dict.fromkeys(["before", *after], 0.9),
    )


def made_runs(*effects: float) -> Runs:
    runs = Runs({})
    for seed, effect in enumerate(effects):
        runs = runs.with_run(seed, made_run(seed, effect))
    return runs


def test_paired_effects_are_recovered():
    numbers = numbers_of(made_runs(-0.1, -0.2, -0.3))
    effects = {effect_in_words(cell): cell["runs"] for cell in numbers["effect"]}
    np.testing.assert_allclose(effects["swap − no-swap"], [-0.1, -0.2, -0.3])
    np.testing.assert_allclose(effects["random-class − no-swap"], [-0.2, -0.4, -0.6])
    np.testing.assert_allclose(effects["swap − no-swap, other half"], [-0.1, -0.2, -0.3])
    others = pick(numbers["effect on other classes"], arm="swap", control="no-swap")
    np.testing.assert_allclose(others["runs"], 0, atol=1e-12)
    np.testing.assert_allclose(
        numbers["table"]["no-swap"]["drop"]["relative"]["others"]["runs"], 0.5
    )
    np.testing.assert_allclose(
        numbers["table"]["swap"]["drop"]["relative"]["selected"]["runs"],
        1 - 0.5 * np.exp([-0.1, -0.2, -0.3]),
    )
    assert numbers["selected"].tolist() == [3, 3, 3]
    assert numbers["same class on half of the test set"] == (3, 3)


def test_the_smallest_detectable_effect_is_found_as_often_as_promised():
    from scipy import stats

    rng = np.random.default_rng(0)
    effect = smallest_detectable(0.5, 12)
    found = stats.ttest_1samp(rng.normal(effect, 0.5, (4000, 12)), 0, axis=1).pvalue < 0.05
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)


def test_runs_are_stored_and_some_have_fewer_arms(tmp_path):
    runs = made_runs(-0.1, -0.2)
    short = made_run(2, -0.3)
    del short.after["random-class"]
    runs = runs.with_run(2, short)
    runs.write(tmp_path / "runs.npz")
    again = Runs.read(tmp_path / "runs.npz")
    assert len(again) == 3
    assert again.has(1, ("swap", "random-class"))
    assert again.has(2, ("swap",))
    assert not again.has(2, ("swap", "random-class"))
    assert not again.has(3, ("swap",))
    for key, x in runs.arrays.items():
        np.testing.assert_allclose(again.arrays[key], x, atol=5e-4 if key.endswith("ecdf") else 0)
    effects = numbers_of(again)["effect"]
    runs_of = {cell["arm"]: len(cell["runs"]) for cell in select(effects, among=None)}
    assert runs_of == {"swap": 3, "random-class": 2}
    assert "random-class" not in Runs({k: x[2:] for k, x in again.arrays.items()}).first(1).arms
    assert len(Runs.read(tmp_path / "none.npz")) == 0
    np.savez(tmp_path / "other.npz", after=np.ones((2, 3)))
    with pytest.raises(
        ValueError,
        match=(r"other.npz' must hold `before` .*; it holds `after` of shape \(2, 3\). Delete it"),
    ):
        Runs.read(tmp_path / "other.npz")
    for arrays in (
        {"before": np.ones(3)},
        {"before": np.ones((2, 3)), "swap": np.ones((3, 3))},
    ):
        np.savez(tmp_path / "other.npz", **arrays)
        with pytest.raises(ValueError, match="must hold `before`"):
            Runs.read(tmp_path / "other.npz")
    (tmp_path / "other.npz").write_text("garbage")
    with pytest.raises(ValueError, match=r"other.npz is not a readable .npz file") as refused:
        Runs.read(tmp_path / "other.npz")
    assert str(refused.value).startswith(str(tmp_path))


def test_a_wrong_file(tmp_path):
    np.savez(tmp_path / "a.npz", eus_before=np.ones((1, 2, 3)))
    with pytest.raises(
        ValueError, match=r"a\.npz must hold `eus_before` and `eus_after`; it holds eus_before"
    ):
        published(tmp_path / "a.npz")
