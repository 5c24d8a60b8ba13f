"""Dask arrays: lazy, one task for each block of instances, and the same bits as NumPy for every way
of cutting them.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import labelwise as lw
from pairwise import pairwise

PARTS = ("total", "aleatoric", "epistemic")
NAMES = ["lung", "lymphoma", "melanoma", "sarcoma", "none"]
LOSSES = [
    "log",
    "squared",
    "spherical",
    "zero_one",
    lw.CostLoss(1, 9),
    lw.BetaLoss(-0.5, 0.3),
    lw.LogLoss(base=10),
]
CHUNKS = [(23,), (7, 7, 7, 2), (1, 22), (11, 1, 11)]
COSTS = lw.joint.CostMatrix(1 + np.arange(25.0).reshape(5, 5) % 7)


@pytest.fixture(name="da")
def _da(optional: Any) -> ModuleType:
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield optional("dask.array")


def probs(dtype: str = "float64", m: int = 9, n: int = 23, k: int = 5) -> np.ndarray:
    p = np.random.default_rng(0).dirichlet(np.full(k, 0.4), (m, n))
    p[:, 3] = p[:1, 3]
    return p.astype(dtype)


def distributions(kind: str, array: Any = lambda x, axis: x) -> Any:
    """A distribution of each kind; ``array`` makes arrays out of NumPy's, given the axis of their
    instances.
    """
    rng = np.random.default_rng(1)
    alpha, root = rng.gamma(1.0, 3.0, (23, 5)) + 0.05, rng.normal(size=(23, 5, 5))
    if kind.startswith("ensemble"):
        weights = {
            "ensemble": None,
            "ensemble, weights": rng.random(9),
            "ensemble, weights for each": rng.random((9, 23)),
        }[kind]
        if weights is not None:
            weights = array(weights, 1) if weights.ndim == 2 else weights
        return lw.Ensemble(array(probs(), 1), weights=weights, class_names=NAMES)
    if kind == "several labels":
        return lw.MultiLabelEnsemble(array(rng.random((9, 23, 5)), 1), class_names=NAMES)
    if kind == "dirichlet":
        return lw.Dirichlet(array(alpha, 0), class_names=NAMES)
    if kind == "mixture":
        return lw.DirichletMixture(
            array(np.stack([alpha, alpha[::-1]]), 1), weights=[1, 3], class_names=NAMES
        )
    cov = rng.random((23, 5)) if kind == "logits" else root @ root.transpose(0, 2, 1)
    return lw.LogisticNormal(
        array(rng.normal(size=(23, 5)), 0), array(cov, 0), class_names=NAMES, points=16
    )


KINDS = [
    "ensemble",
    "ensemble, weights",
    "ensemble, weights for each",
    "several labels",
    "dirichlet",
    "mixture",
    "logits",
    "covariances",
]


COMBINATIONS = pairwise(KINDS, CHUNKS, LOSSES)


def cut(da: ModuleType, chunks: tuple[int, ...]) -> Any:
    return lambda x, axis: da.from_array(
        x, chunks={axis: chunks, **{i: -1 for i in range(x.ndim) if i != axis}}
    )


def assert_same(da: ModuleType, *pairs: tuple[Any, Any]) -> None:
    """Lazy and NumPy results, all parts; the bounds on their errors, if any, up to rounding."""
    both = []
    for lazy, ours in pairs:
        assert (lazy.error is None) == (ours.error is None)
        both += [(getattr(lazy, part), getattr(ours, part), 0) for part in PARTS]
        both += (
            []
            if ours.error is None
            else [(getattr(lazy.error, part), getattr(ours.error, part), 1e-12) for part in PARTS]
        )
    for x, y, _ in both:
        assert isinstance(x, da.Array)
        assert x.shape == y.shape
        assert x.dtype == y.dtype
    for x, (_, y, rounding) in zip(dask_compute([x for x, _, _ in both]), both, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=rounding, atol=0)


def dask_compute(arrays: list[Any]) -> list[np.ndarray]:
    import dask

    return list(dask.compute(*arrays))


@pytest.mark.parametrize("kind", KINDS)
def test_same_bits_as_numpy(kind: str, da: ModuleType) -> None:
    """Every kind meets every way of cutting it and every loss, and these meet each other."""
    q = distributions(kind)
    pairs = []
    for _, chunks, loss in (row for row in COMBINATIONS if row[0] == kind):
        u, v = lw.decompose(q, loss), lw.decompose(distributions(kind, cut(da, chunks)), loss)
        assert (v.class_names, v.structure, v.loss) == (u.class_names, u.structure, u.loss)
        assert v.total.chunks == (chunks, (5,))
        pairs += [
            (v, u),
            (v["melanoma"], u["melanoma"]),
            (v.sum(), u.sum()),
            (v.normalized(), u.normalized()),
        ]
    pairs += [
        (v.sum([1, 2, 3, 4, 5]), u.sum([1, 2, 3, 4, 5])),
        (v.normalized().sum(), u.normalized().sum()),
    ]
    assert_same(da, *pairs)


def test_numbers_in_foreign_byte_order(da: ModuleType) -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(4), (3, 50))
    u = lw.decompose(lw.Ensemble(da.from_array(p.astype(">f8"), chunks=(3, 20, 4))))
    assert np.array_equal(u.epistemic.compute(), lw.decompose(lw.Ensemble(p)).epistemic)


@pytest.mark.parametrize(
    "events",
    [{"solid": ["lung", "melanoma", "sarcoma"], "no": ["none"]}, {"one": ["lung"]}],
    ids=["two", "one"],
)
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "several labels"])
def test_events_and_correction(kind: str, events: dict[str, list[str]], da: ModuleType) -> None:
    for chunks in CHUNKS[1:3]:
        q, lazy = distributions(kind), distributions(kind, cut(da, chunks))
        for loss in ("log", "spherical"):
            assert_same(
                da, (lw.decompose(lazy, loss, events=events), lw.decompose(q, loss, events=events))
            )
        if kind == "ensemble":
            ours, theirs = (
                lw.decompose(x, events=events, correction="jackknife") for x in (lazy, q)
            )
            assert_same(da, (ours, theirs))
    overlapping = lw.decompose(lazy, events={"a": [0, 1], "b": [1, 2]})
    with pytest.raises(ValueError, match="overlap"):
        overlapping.sum()


@pytest.mark.parametrize("loss", ["log", "squared", "spherical", "zero_one", COSTS], ids=str)
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "several labels"])
def test_joint_measures(kind: str, loss: Any, da: ModuleType) -> None:
    q, lazy = distributions(kind), distributions(kind, cut(da, (11, 1, 11)))
    u, v = (lw.joint.decompose(x, loss, n_samples=512) for x in (q, lazy))
    assert_same(da, (v, u))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_types_are_kept(dtype: str, da: ModuleType) -> None:
    p = probs(dtype)
    for loss in ("log", "spherical"):
        u = lw.decompose(lw.Ensemble(p), loss)
        assert u.total.dtype == "float32"
        assert_same(da, (lw.decompose(lw.Ensemble(cut(da, (20, 3))(p, 1)), loss), u))
    logits = np.log(np.maximum(p.astype("float32"), 1e-6)).astype(dtype)
    logits[0, 0, 0] = -np.inf
    assert_same(
        da,
        (
            lw.decompose(lw.Ensemble.from_logits(cut(da, (20, 3))(logits, 1))),
            lw.decompose(lw.Ensemble.from_logits(logits)),
        ),
    )


def test_axes_of_images_and_of_one_instance(da: ModuleType) -> None:
    maps = np.random.default_rng(2).dirichlet(
        np.ones(4), (3, 6, 5)
    )  # members x height x width x classes
    u = lw.decompose(lw.Ensemble(maps), "spherical")
    assert_same(
        da, (lw.decompose(lw.Ensemble(da.from_array(maps, chunks=(3, 2, 4, 4))), "spherical"), u)
    )
    first = np.ascontiguousarray(np.moveaxis(maps, -1, 1))
    lazy = lw.decompose(lw.Ensemble(da.from_array(first, chunks=(3, 4, 2, 4)), class_axis=1))
    for part in PARTS:
        np.testing.assert_array_equal(
            getattr(lazy, part), getattr(lw.decompose(lw.Ensemble(first, class_axis=1)), part)
        )
    one = maps[:, 0, 0]
    assert_same(
        da,
        (
            lw.decompose(lw.Ensemble(da.from_array(one), member_axis=0)),
            lw.decompose(lw.Ensemble(one, member_axis=0)),
        ),
    )
    alpha = np.array([2.0, 3.0, 0.5])
    assert_same(
        da, (lw.decompose(lw.Dirichlet(da.from_array(alpha))), lw.decompose(lw.Dirichlet(alpha)))
    )


def test_unknown_and_empty_sizes(da: ModuleType) -> None:
    p = probs()
    wanted = p[0, :, 0] > 0.2
    lazy = da.from_array(p, chunks=(9, 6, 5))
    some = lw.decompose(lw.Ensemble(lazy[:, da.from_array(wanted, chunks=6)]))
    np.testing.assert_array_equal(
        some.epistemic.compute(), lw.decompose(lw.Ensemble(p[:, wanted])).epistemic
    )
    assert lw.decompose(lw.Ensemble(lazy[:, :0])).total.compute().shape == (0, 5)


def test_one_task_for_each_block(da: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    lazy = da.from_array(probs(), chunks=(9, 6, 5))
    calls = []
    validate = lw.Ensemble.with_valid_values
    monkeypatch.setattr(
        lw.Ensemble, "with_valid_values", lambda q: (calls.append(q.stored.shape), validate(q))[1]
    )
    u = lw.decompose(lw.Ensemble(lazy, weights=np.arange(1.0, 10.0)), "spherical")
    joint = lw.joint.decompose(lw.Ensemble(lazy))
    assert calls == []  # nothing is computed before it is asked for
    s = u.sum()
    dask.compute(u.total, u.aleatoric, u.epistemic, s.total, s.epistemic, u.normalized().total)
    assert sorted(calls) == sorted([(9, 6, 5)] * 3 + [(9, 5, 5)])
    dask.compute(joint.total, joint.aleatoric, joint.epistemic)
    assert len(calls) == 8


def test_split_members_or_classes_are_put_together_with_a_warning(da: ModuleType) -> None:
    p = probs()
    u = lw.decompose(lw.Ensemble(p))
    for chunks in ((2, 23, 5), (9, 6, 2), (2, 3, 2)):
        q = lw.Ensemble(da.from_array(p, chunks=chunks))
        with pytest.warns(
            UserWarning,
            match=(
                r"`probs` is split over its members or classes.*probs\.rechunk\(\{0: -1, 2: -1\}\)"
            ),
        ) as caught:
            v = lw.decompose(q)
        assert caught[0].filename == __file__
        assert_same(da, (v, u))
        with pytest.warns(UserWarning, match="split") as caught:
            lw.joint.decompose(q)
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="`alpha` is split"):
        lw.decompose(lw.Dirichlet(da.from_array(p[0] + 1, chunks=(23, 2))))
    with pytest.warns(UserWarning, match="`logits` is split") as caught:
        lw.Ensemble.from_logits(da.from_array(p, chunks=(9, 23, 2)))
    assert caught[0].filename == __file__
    weights = np.random.default_rng(3).random((9, 23))
    lazy = lw.Ensemble(cut(da, (20, 3))(p, 1), weights=da.from_array(weights, chunks=(4, 5)))
    assert_same(da, (lw.decompose(lazy), lw.decompose(lw.Ensemble(p, weights=weights))))
    small = lw.decompose(
        lw.Ensemble(cut(da, (20, 3))(p, 1), weights=da.from_array(weights[:, 0], chunks=4))
    )
    assert_same(da, (small, lw.decompose(lw.Ensemble(p, weights=weights[:, 0]))))


def test_shapes_and_options_are_checked_at_the_door(da: ModuleType) -> None:
    q = lw.Ensemble(da.from_array(probs(), chunks=(9, 6, 5)))
    with pytest.raises(ValueError, match="at least 2 axes"):
        lw.Ensemble(da.ones(4))
    with pytest.raises(
        ValueError, match=r"`weights` must have one value per member, shape \(9,\) or \(9, 23\)"
    ):
        lw.Ensemble(q.stored, weights=da.ones(4))
    with pytest.raises(ValueError, match="Did you mean 'brier'"):
        lw.decompose(q, "breir")
    with pytest.raises(ValueError, match="smooth loss"):
        lw.decompose(q, "zero_one", correction="jackknife")
    with pytest.raises(ValueError, match="names the unknown class"):
        lw.decompose(lw.Ensemble(q.stored, class_names=NAMES), events={"a": ["lnug"]})
    with pytest.raises(ValueError, match="CostMatrix"):
        lw.joint.decompose(q, lw.CostLoss(1, 2))
    with pytest.raises(TypeError, match="same array library"):
        lw.Ensemble(probs(), weights=da.ones(9))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda a, p: lw.Ensemble(a(p * 2)), "`probs` must lie between 0 and 1"),
        (lambda a, p: lw.Ensemble(a(p * 0.9)), "`probs` must sum to 1 over the class axis"),
        (
            lambda a, p: lw.Ensemble(a(np.where(p > 0.9, np.nan, p))),
            "`probs` must be finite; got NaN at index",
        ),
        (lambda a, p: lw.MultiLabelEnsemble(a(p - 0.5)), "`probs` must lie between 0 and 1"),
        (
            lambda a, p: lw.Ensemble.from_logits(a(np.where(p > 0.9, np.inf, p))),
            "`logits` must be finite; got infinity",
        ),
        (
            lambda a, p: lw.Ensemble.from_logits(a(p - np.inf)),
            "`logits` must leave at least one class possible",
        ),
        (
            lambda a, p: lw.Ensemble(a(p), weights=a(p[..., 0] - 1)),
            "`weights` must not be negative",
        ),
        (lambda a, p: lw.Dirichlet(a(p[0] - 0.5)), "`alpha` must be positive"),
        (lambda a, p: lw.DirichletMixture(a(p - 0.5)), "`alpha` must be positive"),
        (
            lambda a, p: lw.LogisticNormal(a(p[0]), a(p[0] - 0.5)),
            "`cov` holds variances and must not be negative",
        ),
    ],
)
def test_bad_values_have_their_sentence_in_the_task(
    make: Any, sentence: str, da: ModuleType
) -> None:
    q = make(
        lambda x: da.from_array(
            x, chunks=({2: (9, 6), 3: (9, 6, 5)}[x.ndim] if len(x) == 9 else (6, 5))
        ),
        probs(),
    )
    u = lw.decompose(q)
    with pytest.raises(ValueError, match=sentence):
        u.epistemic.compute()
    if not isinstance(q, lw.MultiLabelEnsemble):
        with pytest.raises(ValueError, match=sentence):
            lw.joint.decompose(q).epistemic.compute()


def test_two_processes_one_of_which_is_killed(
    tmp_path: Path, da: ModuleType, optional: Any
) -> None:
    distributed = optional("distributed")

    def slow(block: np.ndarray, folder: str) -> np.ndarray:
        Path(folder, f"{time.time_ns()}-{os.getpid()}").touch()
        time.sleep(0.05)
        return block

    p = probs("float32", n=400)
    u = lw.decompose(lw.Ensemble(p))
    lazy = da.from_array(p, chunks=(9, 10, 5)).map_blocks(
        slow, str(tmp_path), dtype=p.dtype, meta=np.empty((0, 0, 0), p.dtype)
    )
    v = lw.decompose(lw.Ensemble(lazy))
    joint = lw.joint.decompose(lw.Ensemble(lazy), "spherical")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        futures = client.compute(
            [v.total, v.aleatoric, v.epistemic, v.sum().epistemic, joint.epistemic]
        )
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 10:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert not all(future.done() for future in futures)
        found = client.gather(futures)
        bad = lw.decompose(lw.Ensemble(lazy * np.float32(2)))
        with pytest.raises(ValueError, match="`probs` must lie between 0 and 1"):
            client.compute(bad.total).result()
    expected = [
        u.total,
        u.aleatoric,
        u.epistemic,
        u.sum().epistemic,
        lw.joint.decompose(lw.Ensemble(p), "spherical").epistemic,
    ]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_reverse_and_samples_of_ensembles(da: ModuleType) -> None:
    probs = np.random.default_rng(0).dirichlet([1, 2, 3], size=(4, 6))
    lazy = lw.Ensemble(da.from_array(probs, chunks=(4, 3, 3)))
    np.testing.assert_allclose(
        lw.joint.reverse_mutual_information(lazy).compute(),
        lw.joint.reverse_mutual_information(lw.Ensemble(probs)),
        rtol=1e-12,
    )
    with pytest.raises(TypeError, match=r"got a Dask array\. Compute it first"):
        lazy.sample(3, rng=0)


def test_joint_measures_in_tasks(da: ModuleType) -> None:
    probs = np.random.default_rng(0).dirichlet([1, 2, 3], size=(4, 6))
    lazy = lw.joint.decompose(lw.Ensemble(da.from_array(probs, chunks=(4, 4, 3))))
    for part in ("total", "aleatoric", "epistemic"):
        np.testing.assert_array_equal(
            getattr(lazy, part).compute(), getattr(lw.joint.decompose(lw.Ensemble(probs)), part)
        )
