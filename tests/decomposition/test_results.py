"""Results as tables: frames, datasets, flat mappings, the highest values, indexing, and what is
printed.
"""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from optional_libraries import optional
from strategies import KINDS, distributions

PARTS = ("total", "aleatoric", "epistemic")
NAMES = ["nevus", "keratosis", "melanoma"]
EVIL = ["<script>alert(1)</script>", "\x1b[31mred\n", "a/../b"]


def uncertainty(shape=(12,), m=4, names=NAMES, seed=0, **options):
    q = lw.Ensemble(
        np.random.default_rng(seed).dirichlet(np.ones(3), (m, *shape)),
        class_names=names,
        member_axis=0,
    )
    return lw.decompose(q, **options)


def check_all_forms(q, to_numpy):
    optional("pandas")
    u = lw.decompose(q, "squared")
    frame = u.to_frame()
    np.testing.assert_allclose(frame["total.1"], to_numpy(u.total)[:, 1])
    assert set(u.to_dict()) == set(PARTS) | {f"{part}.{k}" for part in PARTS for k in range(3)}
    assert len(u) == 4
    assert len(u[1:3]) == 2
    assert 0 < len(repr(q)) < 200
    assert 0 < len(repr(u)) < 600
    assert 0 < len(repr(u.sum())) < 300


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_every_distribution(kind):
    check_all_forms(distributions(n=4)[kind], np.asarray)


def test_every_library(lib):
    rng = np.random.default_rng(7)
    check_all_forms(lw.Ensemble(lib.array(rng.dirichlet(np.ones(3), (4, 4)))), lib.numpy)
    check_all_forms(lw.Dirichlet(lib.array(rng.gamma(2.0, size=(4, 3)) + 0.1)), lib.numpy)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda u: u.to_frame(library="panda"),
            "`library` must be 'pandas' or 'polars'; got 'panda'. Did you mean 'pandas'?",
        ),
        (lambda u: u.to_frame(layout="tall"), "`layout` must be 'wide' or 'long'; got 'tall'"),
        (lambda u: u.to_frame(ids=[1, 2]), "`ids` must name each of the 12 instances"),
        (lambda u: u.to_frame(y_true=[1, 2]), "`y_true` must have one class per instance"),
        (lambda u: u.to_frame(y_pred=["melanom"] * 12), "names the unknown class 'melanom'"),
        (lambda u: u.to_xarray(dims=("label",)), "`dims` must name the 1 axes"),
        (lambda u: u.to_xarray(label_axis=2), "the label axis must be one of the 2 axes of `u`"),
        (lambda u: u[:0].to_dict(), "no instances"),
        (lambda u: u.top(0), "`n` must be a positive integer"),
        (lambda u: u.top(2, by="epistemik"), "Did you mean 'epistemic'?"),
    ],
)
def test_wrong_use_has_its_sentence(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call(uncertainty())


def test_a_missing_library_is_named(monkeypatch):
    for name in ("pandas", "xarray"):
        monkeypatch.setitem(sys.modules, name, None)
    u = uncertainty()
    with pytest.raises(
        ImportError, match=r"needs pandas; install it with: pip install \"labelwise\[tables\]\""
    ):
        u.to_frame()
    with pytest.raises(
        ImportError, match=r"needs xarray; install it with: pip install \"labelwise\[tables\]\""
    ):
        u.to_xarray()


@given(st.lists(st.text(max_size=8), min_size=2, max_size=5, unique=True))
def test_keys_are_safe_for_json_and_experiment_trackers(names):
    q = lw.Ensemble(
        np.random.default_rng(0).dirichlet(np.ones(len(names)), (3, 4)), class_names=names
    )
    found = lw.decompose(q).to_dict()
    assert len(found) == 3 * (len(names) + 1)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert all(re.fullmatch(r"[/\w.\- ]+", key) and len(key) <= 250 for key in found)
    assert found["total"] == pytest.approx(
        sum(value for key, value in found.items() if key.startswith("total."))
    )


@given(st.integers(0, 300), st.integers(1, 40))
def test_the_top_are_the_first_of_a_stable_sort(seed, n):
    rng = np.random.default_rng(seed)
    few = rng.dirichlet(np.ones(3), (2, 5))
    probs = few[:, rng.integers(0, 5, 30)]  # many ties
    u = lw.decompose(lw.Ensemble(probs, class_names=NAMES))
    for by in PARTS:
        for label in (None, "melanoma"):
            score = getattr(u.sum() if label is None else u[label], by)
            top = u.top(n, by=by, label=label)
            assert top.indices.tolist() == np.argsort(-score, kind="stable")[:n].tolist()
            assert top.values.tolist() == score[top.indices].tolist()
            assert len(top) == min(n, 30)
    assert u.sum().top(n).indices.tolist() == u.top(n).indices.tolist()


def test_the_top_of_an_image_has_its_coordinates(lib):
    u = uncertainty((2, 5, 6))
    top = lw.decompose(
        lw.Ensemble(
            lib.array(np.random.default_rng(0).dirichlet(np.ones(3), (4, 2, 5, 6))),
            class_names=NAMES,
        )
    ).top(3)
    assert top.indices.shape == (3, 3)
    np.testing.assert_allclose(u.sum().epistemic[tuple(top.indices.T)], top.values)
    np.testing.assert_allclose(u[tuple(top.indices.T)].sum().epistemic, top.values)


def test_the_top_as_a_frame():
    optional("pandas")
    frame = uncertainty().top(3, label="melanoma").to_frame(ids=[f"case {i}" for i in range(12)])
    assert list(frame.columns) == ["rank", "id", "epistemic.melanoma"]
    assert frame["rank"].tolist() == [1, 2, 3]
    assert frame["epistemic.melanoma"].is_monotonic_decreasing
    image = uncertainty((2, 5))
    top = image.top(2)
    assert top.to_frame()[["axis_0", "axis_1"]].to_numpy().tolist() == top.indices.tolist()
    assert uncertainty(()).top().to_frame().columns.tolist() == ["rank", "epistemic"]


def test_a_result_is_not_taken_for_an_array():
    u = uncertainty()
    for wrong in (
        lambda: lw.evaluation.detection_scores(u, u),
        lambda: lw.evaluation.rejection_curve(u, correct=np.ones(12, bool)),
    ):
        with pytest.raises(TypeError, match=r"Use u\.sum\(\)\.epistemic"):
            wrong()
    with pytest.raises(TypeError, match=r"such as u\.sum\(\)\.epistemic"):
        np.asarray(u)
    with pytest.raises(TypeError, match=r"is a distribution, not an array"):
        np.asarray(lw.Ensemble(np.full((2, 3, 2), 0.5)))


def shown():
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (4, 500)), class_names=EVIL)
    u = lw.decompose(q)
    costs = lw.decisions.Costs(1 - np.eye(3), ask=0.2)
    plan, choice = (
        lw.decisions.decide(q, costs, task="multiclass"),
        lw.decisions.acquire(q, budget=100),
    )
    return [
        q,
        q[0],
        u,
        u[0],
        u.sum(),
        u["a/../b"],
        lw.joint.decompose(q),
        u.top(30, label=EVIL[0]),
        plan,
        choice,
        lw.report.build_report(q, title=EVIL[0]),
    ]


@pytest.mark.parametrize("i", range(11))
def test_what_is_printed_is_short_and_harmless(i):
    result = shown()[i]
    text, html = repr(result), result._repr_html_()
    assert 10 < len(text) < 1000
    assert "\x1b" not in text + html
    assert set(re.findall(r"</?(\w+)", html)) <= {
        "div",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert str(result) == text


def test_lazy_and_differentiated_results_are_not_computed_to_be_printed(optional):
    dask, torch = optional("dask.array"), optional("torch")
    probs = np.full((2, 6, 3), 1 / 3)
    lazy = lw.decompose(lw.Ensemble(dask.from_array(probs, chunks=(2, 3, 3))))
    assert len(repr(lazy).splitlines()) == 1
    u = lw.decompose(lw.Ensemble(torch.tensor(probs, requires_grad=True)))
    assert "epistemic" in repr(u)


def test_one_member_shows_a_dash_and_arrays_stay_zero():
    pandas = optional("pandas")
    polars = optional("polars")
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(3), (1, 5)), class_names=NAMES)
    accumulated = lw.Accumulator("log", class_names=NAMES).update(q.probs[0]).result()
    for u in (lw.decompose(q), accumulated, lw.decompose(q)[1:3], lw.decompose(q).normalized()):
        assert np.all(u.epistemic == 0)
        assert [line.split()[-1] for line in repr(u).splitlines()[2:5]] == ["–"] * 3
        assert "one member" in repr(u.sum())
        assert "<td>–</td>" in u._repr_html_()
        assert pandas.isna(u.to_frame()["epistemic.nevus"]).all()
        assert u.to_frame(library="polars", layout="long")["epistemic"].dtype == polars.Float64
        assert u.to_frame(library="polars", layout="long")["epistemic"].is_null().all()
        assert not any("epistemic" in key for key in u.to_dict())
        with pytest.raises(ValueError, match="one member says nothing"):
            u.top(2)
        assert len(u.top(2, by="total")) == 2
    assert "–" in repr(lw.joint.decompose(q))
    assert "–" not in repr(lw.decompose(lw.Dirichlet(np.ones((4, 3)))))


def named(library="pandas"):
    """Uncertainty about cases that have names."""
    pandas = optional("pandas")
    ids = [f"case {i}" for i in range(12)]
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 12))
    return lw.decompose(
        lw.Ensemble([pandas.DataFrame(member, index=ids, columns=NAMES) for member in probs])
    ), ids
