"""Explain a decision in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import to_numpy
from .._format import number
from .._tables import enumerated
from .problem import ABSTAIN, ASK

if TYPE_CHECKING:
    from .policy import Decisions


def _numbers(plan: Decisions, i: tuple[int, ...]) -> dict[str, Any]:
    """The numbers of one decision: case i, or label i[-1] of case i[:-1]."""

    def price(value: Any) -> float | None:
        return None if value is None else float(np.broadcast_to(value, plan.action.shape)[i])

    return {
        "action": int(to_numpy(plan.action)[i]),
        "cost": float(to_numpy(plan.expected_cost)[i]),
        "answer": float(to_numpy(plan.value_of_label)[i]),
        "knowledge": float(to_numpy(plan.value_of_knowledge)[i]),
        "ask": price(plan.problem.ask),
        "abstain": price(plan.problem.abstain),
        "errs": price(plan.problem.error),
    }


def _answer(n: dict[str, Any]) -> str:
    who = (
        "the expert's answer"
        if n["errs"] == 0
        else f"the answer of an expert with error rate {number(n['errs'])}"
    )
    price = "" if n["ask"] is None else f" and costs {number(n['ask'])}"
    return f"{who} saves {number(n['answer'])} on average{price}"


def _sentence(n: dict[str, Any], ask: str, abstain: str, predict: str) -> str:
    if n["action"] == ASK:
        head = ask
    elif n["action"] == ABSTAIN:
        head = f"{abstain}, which costs {number(n['abstain'])}"
    else:
        head = f"{predict}, which costs {number(n['cost'])} on average"
    unasked = "" if n["ask"] is None else "no expert is asked and "
    more = (
        f"knowing the exact probabilities would save at most {number(n['knowledge'])} if "
        f"{unasked}the predicted spread is right"
    )
    return f"{head}{':' if n['action'] == ASK else ';'} {_answer(n)}; {more}"


def about_class(plan: Decisions, i: tuple[int, ...]) -> str:
    """Predict a class, abstain, or ask."""
    n = _numbers(plan, i)
    return _sentence(
        n,
        "ask an expert for the class of this case",
        "abstain on this case",
        f"predict {plan.class_names[n['action']]}",
    )


def about_label(plan: Decisions, i: tuple[int, ...]) -> str:
    """Act on one label, leave it, abstain, or ask."""
    n = _numbers(plan, i)
    name = plan.class_names[i[-1]]
    verb = "act on" if n["action"] == 1 else "do not act on"
    return _sentence(n, f"ask an expert about {name}", f"abstain on {name}", f"{verb} {name}")


def about_labels(plan: Decisions, i: tuple[int, ...]) -> str:
    """All labels of one case: those to ask about with their numbers, the others by name."""
    action = to_numpy(plan.action)[i]
    if action.ndim != 1:
        raise IndexError(f"`i` must pick one case out of shape {plan.action.shape[:-1]}; got {i}")
    parts = [about_label(plan, (*i, int(k))) for k in np.flatnonzero(action == ASK)]
    for code, verb in ((1, "act on {}"), (ABSTAIN, "abstain on {}"), (0, "do not act on {}")):
        chosen = np.flatnonzero(action == code)
        if chosen.size:
            cost = float(to_numpy(plan.expected_cost)[i][chosen].sum())
            parts.append(
                f"{verb.format(_list([plan.class_names[k] for k in chosen]))} (expected cost "
                f"{number(cost)})"
            )
    return "; ".join(parts)


def _list(words: list[str]) -> str:
    if len(words) > 6:
        return f"{', '.join(words[:4])} and {len(words) - 4} others"
    return enumerated(words)
