"""Table 2: from arrays with known answers, and from the authors' files where they are given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from labelwise.paper.holdout_drops import drops, excess, paired_effect
from labelwise.paper.holdout_numbers import published

RESULTS = Path(__file__).parents[2] / "results"
REFERENCE = os.environ.get("LABELWISE_REFERENCE")

# drop: mean and deviation of the selected class, the others, and the next highest; then the runs in which the selected class has the
# largest drop, the cases in which another class rises, and the share of the drop that the others foretell
RECOMPUTED = {
    "cifar": {
        "absolute": ("0.0057±0.0011", "0.0023±0.0006", "0.0041±0.0007"),
        "relative": ("0.5815±0.0304", "0.3682±0.0705", "0.5736±0.0540"),
        "counts": (4, 3, [3, 45]),
        "foretold": ("0.91", "0.0005", "0.00015", "0.0009"),
    },
    "fmnist": {
        "absolute": ("0.0070±0.0006", "0.0018±0.0008", "0.0048±0.0019"),
        "relative": ("0.7934±0.0616", "0.3872±0.1088", "0.7657±0.0582"),
        "counts": (5, 4, [7, 45]),
        "foretold": ("0.87", "0.0009", "-0.00044", "0.0026"),
    },
}


def check(name: str, numbers: dict) -> None:
    expected = RECOMPUTED[name]
    for kind in ("absolute", "relative"):
        columns = numbers["drop"][kind]
        found = tuple(f"{columns[c]['mean']:.4f}±{columns[c]['sd']:.4f}" for c in ("selected", "others", "next highest"))
        assert found == expected[kind]
    largest = numbers["selected has the largest drop"]
    assert (largest["absolute"], largest["relative"], numbers["EU of another class rises"]) == expected["counts"]
    over = numbers["excess"]
    found = (
        f"{numbers['predicted by the other classes']['value']:.2f}",
        f"{over['value']:.4f}",
        f"{over['low']:.5f}",
        f"{over['high']:.4f}",
    )
    assert found == expected["foretold"]


@pytest.mark.parametrize("name", RECOMPUTED)
def test_the_stored_numbers_are_those_recomputed(name):
    stored = json.loads((RESULTS / "published" / f"{name}.json").read_text())
    assert stored["about"]["runs"] == 5
    check(name, stored["numbers"])


if REFERENCE:  # the folder with label_uq_holdout_cifar.npz and label_uq_holdout_fmnist.npz

    @pytest.mark.parametrize("name", RECOMPUTED)
    def test_the_authors_arrays(name):
        from labelwise.paper.results_folder import plain

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


def test_classes_can_be_named():
    before, after = arrays()
    d = drops(before, after, selected=[0, 1, 2, 3])
    np.testing.assert_allclose(d.of_selected(d.before), before.astype(float).mean(1)[range(4), range(4)])
    assert d.of_others(d.before).shape == (4, 4)


def test_an_exact_line_leaves_no_excess():
    before = np.random.default_rng(0).uniform(0.1, 1, (3, 6))
    result = excess(drops(before, 0.6 * before + 0.02))  # drop = 0.4 before − 0.02, for all classes
    assert float(result.excess) == pytest.approx(0, abs=1e-12)
    assert float(result.predicted_share) == pytest.approx(1)
    assert result.extrapolated == 3
    assert result.excess.low == pytest.approx(0, abs=1e-12)
    after = 0.6 * before + 0.02
    after[np.arange(3), before.argmax(1)] -= 0.05
    more = excess(drops(before, after))
    assert float(more.excess) == pytest.approx(0.05)
    assert (more.excess.low, more.excess.high) == pytest.approx((0.05, 0.05))


def test_many_runs_are_sampled_and_one_has_no_interval():
    before = np.random.default_rng(1).uniform(0.1, 1, (8, 4))
    after = before * np.random.default_rng(2).uniform(0.3, 0.9, (8, 4))
    a, b = (excess(drops(before, after), rng=0, n_bootstrap=400) for _ in range(2))
    assert a.excess.low == b.excess.low < float(a.excess) < a.excess.high
    assert np.isnan(excess(drops(before[:1], after[:1])).excess.low)


def test_paired_effect():
    arm, control = np.array([[0.2, 0.5], [0.3, 0.1]]), np.array([[0.4, 0.5], [0.3, 0.2]])
    estimate, values = paired_effect(arm, control, [0, 1])
    np.testing.assert_allclose(values, [np.log(0.5), np.log(0.5)])
    assert float(estimate) == pytest.approx(np.log(0.5))
    assert np.isnan(paired_effect(arm[:1], control[:1], [0])[0].low)


@pytest.mark.parametrize(
    ("before", "after", "selected", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), None, "must have the same shape"),
        (np.ones(3), np.ones(3), None, "must have the same shape"),
        (np.ones((2, 1)), np.ones((2, 1)), None, "must have the same shape"),
        (np.ones((2, 3)), np.ones((2, 3)), [0], "one class for each of the 2 runs"),
        (np.ones((2, 3)), np.ones((2, 3)), [0, 3], "one class for each of the 2 runs, 0 to 2"),
    ],
)
def test_refusals(before, after, selected, message):
    with pytest.raises(ValueError, match=message):
        drops(before, after, selected=selected)


def test_a_wrong_file(tmp_path):
    np.savez(tmp_path / "a.npz", eus_before=np.ones((1, 2, 3)))
    with pytest.raises(ValueError, match=r"a\.npz must hold `eus_before` and `eus_after`; it holds eus_before"):
        published(tmp_path / "a.npz")
