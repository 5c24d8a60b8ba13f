"""Explain a decision in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from .._errors import InputError
from .._format import number
from .._tables import first_names
from .._validation.labels import class_position
from ..distributions import Intervals
from .problem import ABSTAIN, ASK

if TYPE_CHECKING:
    from .policy import Decisions


ABOUT_LABELS = {
    ASK: "ask an expert about {}",
    1: "act on {}",
    ABSTAIN: "abstain on {}",
    0: "do not act on {}",
}
ABOUT_CASES = {
    ASK: "ask an expert for the class of this case",
    ABSTAIN: "abstain on this case",
}


def explain_decision(plan: Decisions, i: tuple[Any, ...], label: str | int | None) -> str:
    """See `Decisions.explain`."""
    for position in i:
        if not isinstance(position, int | np.integer):
            raise InputError(
                f"`i` must be the position of a case; got {position!r}. Pick a label by `label`"
            )
    if plan.task == "per_label":
        if label is None:
            return _explain_all_labels(plan, i)
        i = (*i, class_position(label, plan.class_names))
    elif label is not None:
        raise ValueError("`label` is for task='per_label'; this decision is about the whole case")
    return _decision_sentence(plan, i)


def _explain_all_labels(plan: Decisions, i: tuple[int, ...]) -> str:
    """All labels of one case: those to ask about with their numbers, the others by name."""
    action = to_numpy(plan.action)[i]
    if action.ndim != 1:
        raise IndexError(f"`i` must pick one case out of shape {plan.action.shape[:-1]}; got {i}")
    parts = []
    for code, phrase in ABOUT_LABELS.items():
        chosen = np.flatnonzero(action == code).tolist()
        if code == ASK:
            parts = [_decision_sentence(plan, (*i, k)) for k in chosen]
        elif chosen:
            cost = to_numpy(plan.expected_cost)[i][chosen].sum()
            labels = first_names([plan.class_names[k] for k in chosen])
            parts.append(f"{phrase.format(labels)} (expected cost {number(cost)})")
    return "; ".join(parts)


def _decision_sentence(plan: Decisions, i: tuple[int, ...]) -> str:
    """One decision, about case i or label i[-1] of case i[:-1]: what to do and why."""
    action = int(to_numpy(plan.action)[i])
    if plan.task == "per_label":
        what = ABOUT_LABELS[action].format(plan.class_names[i[-1]])
    elif action < 0:
        what = ABOUT_CASES[action]
    else:
        what = f"predict {plan.class_names[action]}"
    cost, answer, knowledge = (
        number(float(to_numpy(values)[i]))
        for values in (plan.expected_cost, plan.value_of_label, plan.value_of_knowledge)
    )
    average, condition = "on average", "the predicted spread is right"
    if isinstance(plan.distribution, Intervals):
        average, condition = "in the worst case", "they lie in the intervals"
    head = f"{what}, which costs {cost} {average};"
    if action == ASK:
        head = f"{what}:"
    elif action == ABSTAIN:
        head = f"{what}, which costs {cost};"
    price = ""
    if plan.problem.ask is not None:
        price = f" and costs {number(plan.problem.ask)}"
        condition = f"no expert is asked and {condition}"
    return (
        f"{head} the expert's answer saves {answer} {average}{price}; knowing the exact "
        f"probabilities would save at most {knowledge} if {condition}"
    )
