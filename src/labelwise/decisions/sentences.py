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


def _decision_sentence(
    plan: Decisions, i: tuple[int, ...], ask: str, abstain: str, predict: str
) -> str:
    """One decision: case i, or label i[-1] of case i[:-1]."""
    problem = plan.problem
    action = to_numpy(plan.action)[i]
    answer = number(float(to_numpy(plan.value_of_label)[i]))
    knowledge = number(float(to_numpy(plan.value_of_knowledge)[i]))
    average, condition = "on average", "the predicted spread is right"
    if isinstance(plan.distribution, Intervals):
        average, condition = "in the worst case", "they lie in the intervals"

    if action == ASK:
        head = f"{ask}:"
    else:
        cost = number(float(to_numpy(plan.expected_cost)[i]))
        head = f"{predict}, which costs {cost} {average};"
        if action == ABSTAIN:
            head = f"{abstain}, which costs {cost};"
    price, unasked = "", ""
    if problem.ask is not None:
        price = f" and costs {number(problem.ask)}"
        unasked = "no expert is asked and "
    return (
        f"{head} the expert's answer saves {answer} {average}{price}; knowing the exact "
        f"probabilities would save at most {knowledge} if {unasked}{condition}"
    )


def explain_decision(plan: Decisions, i: tuple[Any, ...], label: str | int | None) -> str:
    """See `Decisions.explain`."""
    for position in i:
        if not isinstance(position, int | np.integer):
            raise InputError(
                f"`i` must be the position of a case; got {position!r}. Pick a label by `label`"
            )
    if plan.task == "per_label":
        if label is None:
            return explain_all_label_decisions(plan, i)
        return explain_label_decision(plan, (*i, class_position(label, plan.class_names, "label")))
    if label is not None:
        raise ValueError("`label` is for task='per_label'; this decision is about the whole case")
    name = plan.class_names[int(to_numpy(plan.action)[i])]
    ask = "ask an expert for the class of this case"
    return _decision_sentence(plan, i, ask, "abstain on this case", f"predict {name}")


def explain_label_decision(plan: Decisions, i: tuple[int, ...]) -> str:
    """Act on one label, leave it, abstain, or ask."""
    name = plan.class_names[i[-1]]
    verb = "act on" if to_numpy(plan.action)[i] == 1 else "do not act on"
    ask, abstain = f"ask an expert about {name}", f"abstain on {name}"
    return _decision_sentence(plan, i, ask, abstain, f"{verb} {name}")


def explain_all_label_decisions(plan: Decisions, i: tuple[int, ...]) -> str:
    """All labels of one case: those to ask about with their numbers, the others by name."""
    action = to_numpy(plan.action)[i]
    if action.ndim != 1:
        raise IndexError(f"`i` must pick one case out of shape {plan.action.shape[:-1]}; got {i}")
    parts = [explain_label_decision(plan, (*i, int(k))) for k in np.flatnonzero(action == ASK)]
    for code, verb in ((1, "act on {}"), (ABSTAIN, "abstain on {}"), (0, "do not act on {}")):
        chosen = np.flatnonzero(action == code)
        if chosen.size:
            cost = float(to_numpy(plan.expected_cost)[i][chosen].sum())
            labels = first_names([plan.class_names[k] for k in chosen])
            parts.append(f"{verb.format(labels)} (expected cost {number(cost)})")
    return "; ".join(parts)
