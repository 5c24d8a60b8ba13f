"""Events: groups, ordinal cuts, trees and pairs against aggregated predictions and hand-worked
examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labelwise as lw
from labelwise._errors import InputError
from strategies import LOSSES, alphas, loss_id, partitions, probabilities

NAMES = ["lung", "lymphoma", "melanoma", "negative"]
PARTS = ("total", "aleatoric", "epistemic")
SKIN = {
    "malignant": {"inner": ["lung", "lymphoma"], "melanoma": "melanoma"},
    "negative": "negative",
}


def h(*p: float) -> float:
    """Shannon entropy in bits."""
    return -sum(x * np.log2(x) for x in p if x > 0)


def assert_same(u: lw.typing.Uncertainty, v: lw.typing.Uncertainty, **tolerance: float) -> None:
    for part in PARTS:
        np.testing.assert_allclose(getattr(u, part), getattr(v, part), **tolerance)


# --- groups
# ----------------------------------------------------------------------------------------------------------------  # noqa: E501


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_groups_of_a_dirichlet_are_the_aggregated_dirichlet(loss: lw.Loss) -> None:
    alpha = np.array([[0.5, 2.0, 3.5, 1.0, 0.2], [10.0, 0.1, 4.0, 2.0, 7.0]])
    groups = [[4, 0], [2], [1, 3]]
    whole = lw.Dirichlet(np.stack([alpha[:, g].sum(-1) for g in groups], -1))
    grouped = lw.decompose(
        lw.Dirichlet(alpha), loss, events={str(i): g for i, g in enumerate(groups)}
    )
    assert_same(grouped, lw.decompose(whole, loss), rtol=1e-9, atol=1e-14)


@given(st.data())
def test_groups_of_any_dirichlet(data: st.DataObject) -> None:
    alpha = data.draw(alphas(classes=(3, 6)))
    groups = data.draw(partitions(alpha.shape[-1]))
    whole = lw.Dirichlet(np.stack([alpha[:, g].sum(-1) for g in groups], -1))
    for loss in ("log", "squared"):
        grouped = lw.decompose(
            lw.Dirichlet(alpha), loss, events={str(i): g for i, g in enumerate(groups)}
        )
        assert_same(grouped, lw.decompose(whole, loss), rtol=1e-8)


@given(st.data())
def test_groups_of_an_ensemble_are_the_aggregated_ensemble(data: st.DataObject) -> None:
    probs = data.draw(probabilities(classes=(3, 6)))
    groups = data.draw(partitions(probs.shape[-1]))
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(probs), max_size=len(probs)))
    whole = lw.Ensemble(np.stack([probs[..., g].sum(-1) for g in groups], -1), weights=weights)
    for loss in ("log", "squared", "spherical", "zero_one"):
        grouped = lw.decompose(
            lw.Ensemble(probs, weights=weights),
            loss,
            events={str(i): g for i, g in enumerate(groups)},
        )
        assert_same(grouped, lw.decompose(whole, loss), rtol=1e-9, atol=1e-13)


def test_groups_of_a_mixture_are_the_aggregated_mixture() -> None:
    alpha = np.random.default_rng(0).gamma(1.0, size=(3, 5, 4)) + 0.01
    groups = {"a": [0, 3], "b": [1, 2]}
    whole = lw.DirichletMixture(
        np.stack([alpha[..., g].sum(-1) for g in groups.values()], -1), [1, 2, 3]
    )
    assert_same(
        lw.decompose(lw.DirichletMixture(alpha, [1, 2, 3]), events=groups),
        lw.decompose(whole),
        rtol=1e-9,
    )


def test_a_group_and_its_complement_are_equally_uncertain() -> None:
    q = lw.Dirichlet(np.array([0.5, 2.0, 3.5]))
    u = lw.decompose(q, events={"a": [0, 1], "rest": [2]})
    for part in PARTS:
        np.testing.assert_allclose(getattr(u["a"], part), getattr(u["rest"], part), rtol=1e-12)


def test_the_event_of_all_classes_is_sure() -> None:
    for q in (
        lw.Ensemble(np.full((2, 1, 3), 1 / 3)),
        lw.Dirichlet(np.ones((1, 3))),
        lw.LogisticNormal(np.zeros((1, 3)), np.ones((1, 3))),
    ):
        for loss in LOSSES:
            u = lw.decompose(q, loss, events={"any": [0, 1, 2]})
            for part in PARTS:
                np.testing.assert_allclose(getattr(u, part), 0, atol=1e-15)
        assert q.mean({"any": [0, 1, 2]})[0, 0] == pytest.approx(1, abs=1e-15)


def test_singletons_are_the_labels() -> None:
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(4), (3, 5)), class_names=NAMES)
    assert_same(
        lw.decompose(q, events={name: [name] for name in NAMES}),
        lw.decompose(q),
        rtol=1e-12,
        atol=1e-16,
    )


def test_names_and_positions_mean_the_same() -> None:
    q = lw.Dirichlet(np.array([1.0, 2.0, 3.0, 4.0]), class_names=NAMES)
    by_name = lw.decompose(q, events={"malignant": ["lung", "lymphoma", "melanoma"]})
    for classes in (
        [0, 1, 2],
        (2, 1, 0),
        {0, 1, 2},
        np.array([0, 1, 2]),
        ["lung", 1, 2],
        np.array(NAMES[:3]),
    ):
        assert_same(lw.decompose(q, events={"malignant": classes}), by_name, rtol=1e-14)
    assert by_name.class_names == ("malignant",)
    assert by_name["malignant"].total == by_name.total[0]


# --- ordered scales
# --------------------------------------------------------------------------------------------------------  # noqa: E501


def test_ordinal_by_hand() -> None:
    q = lw.Ensemble(np.array([[[0.5, 0.25, 0.25]], [[0.0, 0.25, 0.75]]]))
    u = lw.decompose(q, events=lw.events.ordinal(3))  # P(≥ 1) is 1/2, 1; P(≥ 2) is 1/4, 3/4
    np.testing.assert_allclose(u.total, [[h(0.75, 0.25), 1.0]])
    np.testing.assert_allclose(u.aleatoric, [[0.5, h(0.25, 0.75)]])
    np.testing.assert_allclose(u.epistemic, [[h(0.75, 0.25) - 0.5, 1 - h(0.25, 0.75)]])
    v = lw.decompose(q, "squared", events=lw.events.ordinal(3))
    np.testing.assert_allclose(v.epistemic, [[0.0625, 0.0625]])
    np.testing.assert_allclose(v.sum().total, [0.75 * 0.25 + 0.25])


def test_ordinal_variance_sees_distance() -> None:
    """Mass at the two ends of a scale is more uncertain than mass on two neighbors; label by label
    it is the same.
    """
    ends, near = (lw.Ensemble(np.array([[p]])) for p in ([0.5, 0.0, 0.5], [0.5, 0.5, 0.0]))
    assert lw.decompose(ends, events=lw.events.ordinal(3)).sum().total == 2
    assert lw.decompose(near, events=lw.events.ordinal(3)).sum().total == 1
    assert lw.decompose(ends).sum().total == lw.decompose(near).sum().total


def test_ordinal_names_follow_the_scale() -> None:
    scale = ["none", "mild", "severe"]
    q = lw.Ensemble(np.array([[[0.1, 0.2, 0.7]]]), class_names=["severe", "none", "mild"])
    u = lw.decompose(q, events=lw.events.ordinal(scale))
    assert u.class_names == ("≥ mild", "≥ severe")
    np.testing.assert_allclose(u.total, [[h(0.8, 0.2), h(0.1, 0.9)]])


# --- trees
# -----------------------------------------------------------------------------------------------------------------  # noqa: E501


def test_tree_by_hand() -> None:
    q = lw.Ensemble(np.array([[[0.1, 0.3, 0.2, 0.4]], [[0.3, 0.3, 0.2, 0.2]]]), class_names=NAMES)
    tree = lw.events.tree(SKIN)
    assert tree.names == ("malignant", "inner", "lung", "lymphoma", "melanoma", "negative")
    u = lw.decompose(q, "squared", events=tree)
    np.testing.assert_allclose(
        u.total, [[0.7 * 0.3, 0.25, 0.2 * 0.8, 0.3 * 0.7, 0.2 * 0.8, 0.3 * 0.7]]
    )
    np.testing.assert_allclose(u.epistemic, [[0.01, 0.01, 0.01, 0.0, 0.0, 0.01]], atol=1e-17)


def test_conditional_tree_by_hand() -> None:
    q = lw.Ensemble(np.array([[[0.1, 0.3, 0.2, 0.4]], [[0.3, 0.3, 0.2, 0.2]]]), class_names=NAMES)
    u = lw.decompose(q, "squared", events=lw.events.tree(SKIN, conditional=True))
    means = {
        "malignant": (0.6 + 0.8) / 2,
        "inner": (0.4 / 0.6 + 0.6 / 0.8) / 2,
        "lung": (0.1 / 0.4 + 0.3 / 0.6) / 2,
        "lymphoma": (0.3 / 0.4 + 0.3 / 0.6) / 2,
        "melanoma": (0.2 / 0.6 + 0.2 / 0.8) / 2,
        "negative": (0.4 + 0.2) / 2,
    }
    for name, m in means.items():
        np.testing.assert_allclose(u[name].total, [m * (1 - m)], rtol=1e-14)
    np.testing.assert_allclose(u["lung"].epistemic, [0.125**2])


def test_trees_may_be_written_in_several_ways() -> None:
    same = [
        {
            "malignant": {"inner": ["lung", "lymphoma"], "melanoma": ["melanoma"]},
            "negative": "negative",
        },
        {"malignant": [{"inner": ("lung", "lymphoma")}, "melanoma"], "negative": ["negative"]},
    ]
    for spec in same:
        for conditional in (False, True):
            assert lw.events.tree(spec, conditional=conditional) == lw.events.tree(
                SKIN, conditional=conditional
            )


def test_an_only_child_is_sure_given_its_parent() -> None:
    spec = {"skin": {"mole": [2]}, "other": [0, 1, 3]}
    for q in (
        lw.Ensemble(np.full((2, 1, 4), 0.25)),
        lw.Dirichlet(np.ones((1, 4))),
        lw.LogisticNormal(np.zeros((1, 4)), np.ones((1, 4))),
    ):
        u = lw.decompose(q, events=lw.events.tree(spec, conditional=True))
        assert u.class_names == ("skin", "mole", "2", "other", "0", "1", "3")
        np.testing.assert_allclose(u["mole"].total, 0, atol=1e-15)
        np.testing.assert_allclose(u["2"].total, 0, atol=1e-15)
        assert u["skin"].total > 0.5


@given(st.data())
def test_nested_dichotomies_obey_the_chain_rule_of_entropy(data: st.DataObject) -> None:
    """H(Y) = Σ over inner nodes of P(node) · H(first child | node), for a sure prediction."""
    probs = data.draw(probabilities(members=(1, 1), classes=(2, 6)))
    k = probs.shape[-1]
    splits: dict[str, tuple[list[int], list[int]]] = {}

    def grow(classes: list[int]) -> Any:
        if len(classes) == 1:
            return {f"leaf {classes[0]}": classes[0]}
        cut = data.draw(st.integers(1, len(classes) - 1))
        left, right = classes[:cut], classes[cut:]
        splits[f"node {left}"] = (classes, left)
        return {f"node {left}": grow(left), f"node {right}": grow(right)}

    spec = grow(list(data.draw(st.permutations(range(k)))))
    u = lw.decompose(lw.Ensemble(probs), events=lw.events.tree(spec, conditional=True))
    p = probs[0, 0]
    chain = sum(p[classes].sum() * u[name].total[0] for name, (classes, _) in splits.items())
    np.testing.assert_allclose(chain, h(*p), rtol=1e-9, atol=1e-12)


# --- pairs and conditions
# --------------------------------------------------------------------------------------------------


def test_one_vs_one_by_hand() -> None:
    q = lw.Ensemble(np.array([[[0.2, 0.2, 0.6]], [[0.3, 0.1, 0.6]]]))
    u = lw.decompose(q, "squared", events=lw.events.one_vs_one(3))
    assert u.class_names == ("0 | 0, 1", "0 | 0, 2", "1 | 1, 2")
    pairs = np.array([[1 / 2, 1 / 4, 1 / 4], [3 / 4, 1 / 3, 1 / 7]])
    np.testing.assert_allclose(u.total[0], pairs.mean(0) * (1 - pairs.mean(0)))
    np.testing.assert_allclose(u.epistemic[0], pairs.var(0))
    np.testing.assert_allclose(u.sum().aleatoric, (pairs * (1 - pairs)).mean(0).sum())


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_one_vs_one_of_a_dirichlet_is_a_beta(loss: lw.Loss) -> None:
    alpha = np.array([0.5, 2.0, 3.5, 1.0])
    u = lw.decompose(
        lw.Dirichlet(alpha, class_names=NAMES), loss, events=lw.events.one_vs_one(NAMES)
    )
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert u.class_names == tuple(f"{NAMES[i]} | {NAMES[i]}, {NAMES[j]}" for i, j in pairs)
    for n, (i, j) in enumerate(pairs):
        pair = lw.decompose(lw.Dirichlet(alpha[[i, j]]), loss)
        for part in PARTS:
            np.testing.assert_allclose(getattr(u, part)[n], getattr(pair, part)[0], rtol=1e-9)


def test_conditions_of_probability_zero_are_taken_as_even() -> None:
    q = lw.Ensemble(np.array([[[0.0, 0.0, 1.0]], [[0.3, 0.1, 0.6]]]))
    with np.errstate(all="raise"):
        u = lw.decompose(q, "squared", events=lw.events.one_vs_one(3))
    np.testing.assert_allclose(u["0 | 0, 1"].total, [0.625 * 0.375])  # mean of 1/2 and 3/4
    np.testing.assert_allclose(u["0 | 0, 1"].epistemic, [0.125**2])
    np.testing.assert_allclose(u["0 | 0, 2"].total, [(1 / 6) * (5 / 6)])


def test_very_unlikely_conditions_keep_their_odds() -> None:
    """Logits far below the others: the odds among them do not depend on how far."""
    tree = lw.events.tree({"a": [0], "b": [1, 2, 3]}, conditional=True)
    for dtype in ("float64", "float32"):
        near, far = (
            lw.LogisticNormal(np.array([0.0, z, z, z + 1], dtype), np.ones(4, dtype))
            for z in (-1.0, -3000.0)
        )
        for name in ("1", "2", "3"):
            expected = lw.decompose(near, events=tree)[name].epistemic
            np.testing.assert_allclose(
                lw.decompose(far, events=tree)[name].epistemic, expected, rtol=1e-4
            )


# --- which families can be summed
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "structure"),
    [
        ({"a": [0, 1], "b": [2], "c": [3]}, "partition"),
        ({"a": ["lung", 1], "b": ["melanoma", "negative"]}, "partition"),
        ({"all": [0, 1, 2, 3]}, "partition"),
        ({"a": [0, 1], "b": [2]}, "disjoint"),
        ({"a": [0]}, "disjoint"),
        ({"a": [0, 1], "b": [1, 2, 3]}, "overlapping"),
        ({"a": [0, 1], "b": ["lymphoma"]}, "overlapping"),
        (lw.events.ordinal(4), "nested"),
        (lw.events.ordinal(NAMES[::-1]), "nested"),
        (lw.events.one_vs_one(4), "pairs"),
        (lw.events.tree(SKIN), "overlapping"),
        (lw.events.tree(SKIN, conditional=True), "overlapping"),
    ],
)
def test_structure(events: Any, structure: str) -> None:
    q = lw.Ensemble(np.random.default_rng(0).dirichlet(np.ones(4), (3, 2)), class_names=NAMES)
    u = lw.decompose(q, events=events)
    assert u.structure == structure
    n = len(u.class_names)
    if structure == "overlapping":
        with pytest.raises(
            ValueError,
            match=(
                r"these events \(.*\) overlap, so a plain sum counts classes more than once. Pass "
                r"`weights`"
            ),
        ):
            u.sum()
    else:
        np.testing.assert_allclose(u.sum().total, u.total.sum(-1))
    np.testing.assert_allclose(u.sum(range(n)).total, u.total @ np.arange(n))


def test_tree_is_summed_with_weights_by_name() -> None:
    u = lw.decompose(lw.Dirichlet(np.ones(4), class_names=NAMES), events=lw.events.tree(SKIN))
    weights = {name: i + 1.0 for i, name in enumerate(u.class_names)}
    np.testing.assert_allclose(
        u.sum(weights).epistemic, u.epistemic @ np.array(list(weights.values()))
    )


def test_multilabel_refuses_events() -> None:
    q = lw.MultiLabelEnsemble(np.full((2, 1, 3), 0.5))
    for ask in (lambda e: lw.decompose(q, events=e), q.mean):
        with pytest.raises(
            ValueError,
            match=(
                "`events` have no meaning for a MultiLabelEnsemble: its labels may occur together"
            ),
        ):
            ask({"a": [0, 1]})


# --- array libraries and invariances
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lw.events.ordinal,
        lw.events.one_vs_one,
        lambda k: lw.events.tree({"a": [0, 1], "b": [2]}, conditional=True),
    ],
)
def test_every_array_library(lib: Any, make: Any) -> None:
    probs = np.random.default_rng(1).dirichlet(np.ones(3), (3, 2))
    u = lw.decompose(lw.Ensemble(lib.array(probs)), "squared", events=make(3))
    v = lw.decompose(lw.Ensemble(probs), "squared", events=make(3))
    for part in PARTS:
        assert type(getattr(u, part)) is type(lib.array([0.0]))
        np.testing.assert_allclose(
            lib.numpy(getattr(u, part)), getattr(v, part), rtol=1e-13, atol=1e-17
        )


def test_dirichlet_events_in_torch(optional: Any) -> None:
    torch = optional("torch")
    alpha = np.array([[0.5, 2.0, 3.5]])
    for loss in ("log", "zero_one"):
        for events in ({"a": [0, 2]}, lw.events.one_vs_one(3)):
            u = lw.decompose(lw.Dirichlet(torch.tensor(alpha)), loss, events=events)
            np.testing.assert_allclose(
                u.epistemic.numpy(),
                lw.decompose(lw.Dirichlet(alpha), loss, events=events).epistemic,
                rtol=1e-10,
            )


def test_gradients_through_conditions_of_probability_zero(optional: Any) -> None:
    torch = optional("torch")
    probs = torch.tensor(
        [[[0.0, 0.0, 1.0]], [[0.3, 0.1, 0.6]]], dtype=torch.float64, requires_grad=True
    )
    lw.decompose(
        lw.Ensemble(probs), "log", events=lw.events.one_vs_one(3)
    ).sum().total.sum().backward()
    assert bool(torch.all(torch.isfinite(probs.grad)))


@given(st.data())
def test_the_order_of_the_classes_does_not_matter(data: st.DataObject) -> None:
    probs = data.draw(probabilities(classes=(3, 5)))
    k = probs.shape[-1]
    order = list(data.draw(st.permutations(range(k))))
    names = [f"class {i}" for i in range(k)]
    q, moved = (
        lw.Ensemble(probs, class_names=names),
        lw.Ensemble(probs[..., order], class_names=[names[i] for i in order]),
    )
    families = [
        {"a": names[:2], "b": names[1:]},
        lw.events.ordinal(names),
        lw.events.one_vs_one(names),
        lw.events.tree({"a": names[:2], "b": names[2:]}, conditional=True),
    ]
    for events in families:
        for loss in ("log", "squared"):
            assert_same(
                lw.decompose(q, loss, events=events),
                lw.decompose(moved, loss, events=events),
                rtol=1e-9,
                atol=1e-13,
            )


@given(st.data())
def test_the_order_inside_a_group_does_not_matter(data: st.DataObject) -> None:
    alpha = data.draw(alphas(classes=(3, 5)))
    group = data.draw(st.permutations(range(alpha.shape[-1] - 1)))
    q = lw.Dirichlet(alpha)
    assert_same(
        lw.decompose(q, events={"a": group}),
        lw.decompose(q, events={"a": sorted(group)}),
        rtol=1e-8,
    )


@given(probabilities(classes=(2, 5)))
def test_pairs_the_other_way_round(probs: np.ndarray) -> None:
    """ "i rather than j" and "j rather than i" are equally uncertain."""
    k = probs.shape[-1]
    there = lw.decompose(lw.Ensemble(probs), events=lw.events.one_vs_one(k))
    back = lw.decompose(lw.Ensemble(probs[..., ::-1]), events=lw.events.one_vs_one(k))
    np.testing.assert_allclose(there.sum().epistemic, back.sum().epistemic, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(there.sum().total, back.sum().total, rtol=1e-9, atol=1e-13)


def test_a_whole_number_is_a_value_where_names_are_integers() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    grades = lw.Ensemble(probs, class_names=[1, 2, 3])
    u = lw.decompose(grades, events={"mild": [1, 2]})
    np.testing.assert_array_equal(
        u.total, lw.decompose(lw.Ensemble(probs), events={"mild": [0, 1]}).total
    )
    with pytest.raises(InputError) as error:
        lw.decompose(grades, events={"mild": [0, 1]})
    assert str(error.value) == ("`events`: 'mild' names the unknown class 0. Known: 1, 2, 3")
    named = lw.Ensemble(probs, class_names=["a", "b", "c"])
    np.testing.assert_array_equal(
        lw.decompose(named, events={"x": [1, 2]}).total,
        lw.decompose(named, events={"x": ["b", "c"]}).total,
    )


@pytest.mark.parametrize("make", [lw.events.ordinal, lw.events.one_vs_one])
def test_families_of_so_many_classes_do_not_depend_on_names(make: Any) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    numbered, plain = lw.Ensemble(probs, class_names=[3, 2, 1]), lw.Ensemble(probs)
    np.testing.assert_array_equal(
        lw.decompose(numbered, events=make(3)).total, lw.decompose(plain, events=make(3)).total
    )
    by_name = lw.decompose(
        numbered, events=make([1, 2, 3])
    ).total  # these are the classes called 1, 2 and 3
    np.testing.assert_array_equal(
        by_name, lw.decompose(lw.Ensemble(probs[..., ::-1]), events=make(3)).total
    )


def test_positions_may_be_integers_of_other_libraries(optional: Any) -> None:
    torch = optional("torch")
    family = lw.events.groups({"a": [torch.tensor(1), np.array(2)], "b": [np.int64(0)]})
    assert family.resolve(3, None) == [([1, 2], [0]), ([0], [1, 2])]
