"""Results as tables: frames, datasets, flat mappings, the highest values, indexing, and what is
printed.
"""

from __future__ import annotations

import json
import pickle
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


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_wide_frame_has_a_row_for_each_instance(library):
    optional(library)
    u = uncertainty()
    y = np.arange(12) % 3
    frame = u.to_frame(
        library=library,
        ids=[f"case {i}" for i in range(12)],
        y_true=y,
        y_pred=[NAMES[k] for k in y],
    )
    assert type(frame).__module__.startswith(library)
    labels = [f"{part}.{name}" for part in PARTS for name in NAMES]
    assert list(frame.columns) == ["id", "y_pred", "y_true", *PARTS, *labels]
    assert list(frame["id"])[3] == "case 3"
    assert list(frame["y_true"]) == list(frame["y_pred"]) == [NAMES[k] for k in y]
    for part in PARTS:
        np.testing.assert_array_equal(np.asarray(frame[part]), getattr(u.sum(), part))
        np.testing.assert_array_equal(np.asarray(frame[f"{part}.melanoma"]), getattr(u, part)[:, 2])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4)])
def test_a_long_frame_has_a_row_for_each_instance_and_label(library, shape):
    optional(library)
    u = uncertainty(shape)
    frame = u.to_frame(layout="long", library=library)
    index = {0: [], 1: ["instance"], 3: ["axis_0", "axis_1", "axis_2"]}[len(shape)]
    assert list(frame.columns) == [*index, "label", *PARTS]
    assert len(frame) == u.total.size
    for part in PARTS:
        np.testing.assert_array_equal(np.asarray(frame[part]), getattr(u, part).ravel())
    if len(shape) == 3:
        at = tuple(np.asarray(frame[name]) for name in index)
        label = [NAMES.index(name) for name in frame["label"]]
        np.testing.assert_array_equal(u.total[(*at, label)], np.asarray(frame["total"]))


def test_several_axes_are_flattened_with_index_columns():
    optional("pandas")
    u = uncertainty((2, 3))
    frame = u.to_frame(y_true=np.zeros((2, 3), int))
    assert frame[["axis_0", "axis_1"]].to_numpy().tolist() == [
        [i, j] for i in range(2) for j in range(3)
    ]
    assert frame["epistemic.nevus"].tolist() == u.epistemic[..., 0].ravel().tolist()
    assert u.sum().to_frame().columns.tolist() == ["axis_0", "axis_1", *PARTS]
    assert u.sum().to_frame(ids=np.arange(6).reshape(2, 3))["id"].tolist() == list(range(6))


def test_labels_that_may_occur_together_have_a_column_each():
    optional("pandas")
    u = lw.decompose(
        lw.MultiLabelEnsemble(np.random.default_rng(0).random((3, 5, 3)), class_names=NAMES)
    )
    y = np.random.default_rng(1).integers(0, 2, (5, 3))
    wide, long = u.to_frame(y_true=y), u.to_frame(y_true=y, layout="long")
    np.testing.assert_array_equal(
        wide[[f"y_true.{name}" for name in NAMES]].to_numpy(), y.astype(bool)
    )
    assert long["y_true"].tolist() == y.astype(bool).ravel().tolist()


def test_events_keep_the_classes_as_they_are_and_overlapping_ones_have_no_sum():
    optional("pandas")
    groups = {"bad": ["melanoma", "keratosis"], "worst": ["melanoma"]}
    frame = uncertainty(events=groups).to_frame(y_true=np.full(12, 2))
    assert list(frame.columns) == [
        "instance",
        "y_true",
        *(f"{part}.{name}" for part in PARTS for name in groups),
    ]
    assert frame["y_true"].tolist() == [2] * 12


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_every_distribution_and_library(kind, lib):
    optional("pandas")
    q = distributions(lib.array, n=4)[kind]
    u = lw.decompose(q, "squared")
    frame = u.to_frame()
    np.testing.assert_allclose(frame["total.1"], lib.numpy(u.total)[:, 1])
    assert set(u.to_dict()) == set(PARTS) | {f"{part}.{k}" for part in PARTS for k in range(3)}
    assert len(u) == 4
    assert len(u[1:3]) == 2
    assert 0 < len(repr(q)) < 200
    assert 0 < len(repr(u)) < 600
    assert 0 < len(repr(u.sum())) < 300


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
        (lambda u: u.to_xarray(label_axis=2), "`label_axis` must be a position among the 2 axes"),
        (lambda u: u[:0].to_dict(), "no instances"),
        (lambda u: u.top(0), "`n` must be a positive number"),
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


def test_xarray_keeps_the_order_of_channel_first_images():
    xarray = optional("xarray")
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 2, 5, 6))
    u = lw.decompose(lw.Ensemble(np.moveaxis(probs, -1, 2), class_axis=2, class_names=NAMES))
    last, first = u.to_xarray(), u.to_xarray(dims=("case", "y", "x"), label_axis=1)
    assert isinstance(first, xarray.Dataset)
    assert last["total"].dims == ("axis_0", "axis_1", "axis_2", "label")
    assert first["total"].dims == ("case", "label", "y", "x")
    np.testing.assert_array_equal(first["epistemic"].sel(label="melanoma"), u["melanoma"].epistemic)
    np.testing.assert_array_equal(first["total"].transpose("case", "y", "x", "label"), u.total)
    assert u.sum().to_xarray(dims=("case", "y", "x"))["total"].sizes == {"case": 2, "y": 5, "x": 6}


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


def test_mappings_hold_the_means():
    u = uncertainty((3, 4))
    found = u.to_dict()
    assert found["epistemic.melanoma"] == pytest.approx(u["melanoma"].epistemic.mean())
    assert found["aleatoric"] == pytest.approx(u.sum().aleatoric.mean())
    assert u["nevus"].to_dict() == pytest.approx(
        {part: getattr(u["nevus"], part).mean() for part in PARTS}
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


@pytest.mark.parametrize(
    "index", [slice(3, 9), 4, -1, [1, 5, 5], np.arange(12) % 2 == 0, (slice(None, None, 3),)]
)
@pytest.mark.parametrize("kind", ["Ensemble", "LogisticNormal"])
def test_some_instances_are_those_of_the_distribution(index, kind):
    rng = np.random.default_rng(0)
    q = (
        lw.Ensemble(rng.dirichlet(np.ones(3), (4, 12)))
        if kind == "Ensemble"
        else lw.LogisticNormal(rng.normal(size=(12, 3)), np.ones((12, 3)))
    )
    u, part = lw.decompose(q)[index], lw.decompose(q[index])
    for name in PARTS:
        np.testing.assert_allclose(getattr(u, name), getattr(part, name), rtol=1e-12)
        np.testing.assert_allclose(getattr(u.sum(), name), getattr(part.sum(), name), rtol=1e-12)
    assert (u.joint is None) == (part.joint is None)
    if u.joint is not None:
        np.testing.assert_allclose(u.joint.total, part.joint.total, rtol=1e-12)
    assert u.sum().maximum == part.sum().maximum
    np.testing.assert_allclose(lw.decompose(q).sum()[index].total, part.sum().total, rtol=1e-12)


def test_labels_go_by_name_and_instances_by_number():
    u = lw.decompose(
        lw.Ensemble(
            np.random.default_rng(0).dirichlet(np.ones(3), (4, 12)), class_names=["2", "0", "1"]
        )
    )
    np.testing.assert_array_equal(u["0"].total, u.total[:, 1])
    np.testing.assert_array_equal(u[0].total, u.total[0])
    with pytest.raises(KeyError, match="no label '3'"):
        u["3"]
    with pytest.raises(TypeError, match="no length"):
        len(u[0])
    assert u[:0]
    assert len(u[:0]) == 0


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
        u.joint,
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


def test_what_is_printed_of_uncertainty():
    u = lw.decompose(
        lw.Ensemble(np.array([[[0.9, 0.1]], [[0.7, 0.3]]]), class_names=["nevus", "melanoma"]),
        "squared",
    )
    assert repr(u).splitlines() == [
        "Uncertainty: 1 instance × 2 labels, SquaredLoss(), float64",
        "  mean of   total  aleatoric  epistemic",
        "  nevus      0.16       0.15       0.01",
        "  melanoma   0.16       0.15       0.01",
    ]
    assert (
        repr(lw.Ensemble(np.full((2, 3, 2), 0.5)))
        == "Ensemble: 2 members × 3 instances × 2 classes"
    )
    many = lw.decompose(lw.Ensemble(np.full((2, 3, 40), 1 / 40)))
    assert repr(many).endswith("… and 30 labels with lower means")


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


def test_the_index_of_the_predictions_comes_back():
    u, ids = named()
    assert (
        list(u.to_frame().index)
        == list(u.sum().to_frame().index)
        == list(u["nevus"].to_frame().index)
        == ids
    )
    assert list(u[3:5].to_frame().index) == ids[3:5]
    assert list(u.to_frame(layout="long").index) == list(np.repeat(ids, 3))
    assert "instance" not in u.to_frame().columns
    assert list(u.to_frame(ids=range(12))["id"]) == list(range(12))
    optional("polars")
    assert list(u.to_frame(library="polars")["id"]) == ids
    top = u.top(3)
    assert list(top.to_frame().index) == [ids[i] for i in top.indices]
    assert f"case {top.indices[0]}" in repr(top)


def test_classes_are_matched_to_the_index_of_the_predictions():
    pandas = optional("pandas")
    u, ids = named()
    y = pandas.Series([NAMES[i % 3] for i in range(12)], index=ids)
    mixed = y.iloc[::-1]
    assert u.to_frame(y_true=mixed)["y_true"].tolist() == y.tolist()
    with pytest.warns(
        UserWarning,
        match="are matched to those of the predictions by position: `y_true` has an index",
    ):
        assert (
            uncertainty().to_frame(y_true=mixed)["y_true"].tolist() == mixed.tolist()
        )  # arrays have positions only
    one_hot = pandas.get_dummies(mixed)[["melanoma", "nevus", "keratosis"]]
    assert u.to_frame(y_true=one_hot)["y_true"].tolist() == y.tolist()


def test_a_label_by_number():
    u = uncertainty()
    assert u.top(3, label=1).indices.tolist() == u.top(3, label="keratosis").indices.tolist()
    assert u.top(3, label=1).label == "keratosis"
    assert len(u.top(3, label=1)) == 3
    numbers = uncertainty(names=[1, 2, 3])
    assert numbers.top(3, label=1).label == "1"
    with pytest.raises(
        ValueError,
        match="`label` must be among the class names, which are integers: 1, 2, 3; got 0",
    ):
        numbers.top(3, label=0)
    with pytest.raises(
        ValueError, match=r"`label` names the unknown class 'melanom'\. Did you mean 'melanoma'\?"
    ):
        u.top(3, label="melanom")
    with pytest.raises(
        TypeError, match=r"`label` must be a class: its name, or a whole number; got 1\.5"
    ):
        u.top(3, label=1.5)


@pytest.mark.parametrize("loss", ["log", "spherical", lw.CostLoss(1, 5)])
def test_sums_and_joint_results_can_be_pickled(loss):
    u = uncertainty(loss=loss)
    results = [u, u.sum(), u.sum([1, 2, 3]), u["nevus"], u.normalized().sum()]
    if loss != "spherical" and isinstance(loss, str):
        results.append(lw.joint.decompose(lw.Ensemble(np.full((2, 5, 3), 1 / 3)), loss))
    for result in results:
        copy = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(copy.epistemic, result.epistemic)
        np.testing.assert_array_equal(copy.maximum, result.maximum)
