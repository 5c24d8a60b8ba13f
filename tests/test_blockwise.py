"""What works a block of instances at a time holds little, and no result depends on the blocks or on
the number of threads.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from command_line import run
from labelwise._engine import kernel as kernels
from labelwise.decisions import frames
from labelwise.io import blocks, npz

SHAPE = 10, 4000, 25  # members, instances, classes: 4 MB
ASKING = lw.decisions.Costs(default=1.0, ask=0.4, expert_error=0.05, abstain=0.6)
PER_LABEL = lw.decisions.Costs(missed=5.0, false_alarm=1.0)


@pytest.fixture(scope="module")
def probs() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.full(25, 0.3), SHAPE[:2]).astype(np.float32)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As small beside these predictions as the usual ones are beside a gigabyte."""
    monkeypatch.setattr(blocks, "BLOCK", 1 << 13)
    monkeypatch.setattr(frames, "PART", 1 << 11)
    monkeypatch.setattr(npz, "_WORTH_MAPPING", 0)


def labels(n: int) -> np.ndarray:
    return np.arange(n) % SHAPE[-1]


def stored(path: Path, probs: np.ndarray) -> Path:
    np.savez(path, probs=probs, y_true=labels(probs.shape[1]))
    return path


def peak(f: Callable[[], Any]) -> int:
    """The most that is allocated at once."""
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def acquire(q: Any) -> Any:
    return lw.decisions.acquire(q, budget=20)


def decide_per_label(q: Any) -> Any:
    return lw.decisions.decide(q, PER_LABEL, task="per_label")


def fit_sets(q: Any) -> Any:
    return lw.sets.fit_sets(q, labels(len(q)))


@pytest.mark.parametrize(
    ("f", "multiple"), [(acquire, 0.7), (decide_per_label, 1.2), (fit_sets, 0.4)]
)
def test_functions(
    f: Callable[[Any], Any], multiple: float, probs: np.ndarray, small_blocks: None
) -> None:
    f(lw.Ensemble(probs[:, :500]))  # what it imports stays
    assert peak(lambda: f(lw.Ensemble(probs))) < multiple * probs.nbytes


def succeed(words: list[Any]) -> None:
    result = run(*words)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "multiple"),
    [
        (["acquire", "--budget", 20], 0.7),
        (["sets", "fit"], 0.5),
        (["quantify", "--memory", "1MB"], 0.6),
    ],
    ids=lambda x: x[0] if isinstance(x, list) else "",
)
def test_commands(
    words: list[Any], multiple: float, probs: np.ndarray, small_blocks: None, tmp_path: Path
) -> None:
    few = stored(tmp_path / "few.npz", probs[:, :500])
    path = stored(tmp_path / "predictions.npz", probs)
    output = ["-o", tmp_path / ("next.csv" if words[0] == "acquire" else "results.npz")]
    succeed([*words, few, *output])  # what it imports stays
    assert peak(lambda: succeed([*words, path, *output])) < multiple * probs.nbytes


def test_decisions_are_written_a_part_at_a_time(
    probs: np.ndarray, small_blocks: None, tmp_path: Path
) -> None:
    """With a sentence about each case, which takes more than its predictions."""
    costs = tmp_path / "costs.toml"
    costs.write_text("default = 1.0\nabstain = 0.6\n")
    path, few = tmp_path / "predictions.npz", tmp_path / "few.npz"
    np.savez(path, probs=probs[:, :800])
    np.savez(few, probs=probs[:, :10])
    words = ["decide", "--costs", costs, "-o", tmp_path / "decisions.csv"]
    succeed([*words, few])
    size = probs[:, :800].nbytes
    assert peak(lambda: succeed([*words, path])) < 1.5 * size


def bits(result: Any) -> list[bytes]:
    """All arrays of a result."""
    arrays = [x for x in vars(result).values() if isinstance(x, np.ndarray)]
    if isinstance(result, lw.typing.Acquisition):
        arrays.append(result.need)
    assert arrays
    return [x.tobytes() for x in arrays]


def decide(q: Any) -> Any:
    return lw.decisions.decide(q, ASKING, task="multiclass")


def knowledge(q: Any) -> Any:
    return decide(q).value_of_knowledge, decide(q).after_answer


CALLS: dict[str, Callable[[Any], list[bytes]]] = {
    "acquire": lambda q: bits(acquire(q)),
    "acquire, balanced": lambda q: bits(lw.decisions.acquire(q, budget=50, batch="balanced")),
    "decide": lambda q: bits(decide(q)),
    "decide, per label": lambda q: bits(decide_per_label(q)),
    "value of knowledge": lambda q: [x.tobytes() for x in knowledge(q)],
    "summary": lambda q: [x.tobytes() for x in decide(q).summary(labels(len(q))).by_class.values()],
    "fit_sets": lambda q: bits(fit_sets(q)),
    "predict": lambda q: bits(fit_sets(q).predict(q)),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_bit_depends_on_blocks_or_threads(
    name: str, probs: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = lw.Ensemble(probs[:, :300])
    monkeypatch.setenv("LABELWISE_THREADS", "1")
    whole = CALLS[name](q)
    # threads also where they do not pay
    monkeypatch.setattr(kernels, "SEVERAL", dict.fromkeys(kernels.SEVERAL, 1 << 10))
    for block, part, threads in ((1 << 12, 1 << 8, 1), (12_345, 700, 2), (1 << 20, 1 << 16, 3)):
        monkeypatch.setattr(blocks, "BLOCK", block)
        monkeypatch.setattr(frames, "PART", part)
        monkeypatch.setenv("LABELWISE_THREADS", str(threads))
        assert CALLS[name](q) == whole, (block, part, threads)
        assert CALLS[name](lw.io.Predictions(q=q)) == whole, (block, part, threads)
