"""Faults of an ensemble's members that change uncertainty without an error: copies, other scales,
rows or classes in another order.

Here are the reading of the members and their scale; `member_faults` compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import quotient, to_numpy
from .._errors import InputError
from .._format import fixed
from .._frames import same_rows
from .._tables import Check, counted
from .._validation.labels import outcomes_by_class
from .._validation.probabilities import check_probabilities
from ..distributions import Distribution
from ..io import Predictions
from .member_faults import (
    Finding,
    Members,
    constant_members,
    identical_members,
    permuted_classes,
    quoted,
    unrelated_members,
)

MIN_INSTANCES = 20  # for comparisons of members
MAX_INSTANCES = 4096  # evenly spaced; enough to see a fault, cheap enough to run always
MAX_PROBABILITIES = 1 << 22  # with more than 32 members fewer, because all pairs are compared
MAX_SENTENCES = 5
FOLDS = (
    "The members are folds of a cross-validation: they were trained on different data, so their "
    "disagreement mixes the effect of the data "
    "with that of the random seed, and is not that of a deep ensemble (arXiv:2605.18329). Several "
    "seeds for each fold and "
    "`factors={'fold': ..., 'seed': ...}` separate the two"
)


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleCheck(Check):
    """What `check_ensemble` found."""

    n_members: int
    findings: tuple[Finding, ...]
    effective_members: np.ndarray | None
    """(K,): the number of equally different members that would disagree as these do; ``None`` if
    fewer than 2 members are usable.
    """
    class_names: tuple[str, ...]
    member_names: tuple[str, ...] | None = None
    """What the members are called, if they have names."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def _columns(self) -> dict[str, Any]:
        names = self.member_names or tuple(map(str, range(self.n_members)))
        members = []
        for finding in self.findings:
            members.append(", ".join([names[i] for i in finding.members]))
        return {
            "fault": [finding.fault for finding in self.findings],
            "members": members,
            "sentence": [finding.sentence for finding in self.findings],
        }

    def __str__(self) -> str:
        sentences = [f"{x.sentence}." for x in self.findings[:MAX_SENTENCES]]
        if not sentences:
            sentences = [f"No faults found in {counted(self.n_members, 'member')}."]
        if len(self.findings) > MAX_SENTENCES:
            sentences.append(f"… and {counted(len(self.findings) - MAX_SENTENCES, 'more fault')}.")
        if self.effective_members is not None:
            lowest = np.argmin(self.effective_members)
            sentences.append(
                f"Effective number of members: {fixed(self.effective_members.mean(), 1)} on "
                "average, lowest for "
                f"{quoted(self.class_names[lowest])} ({fixed(self.effective_members[lowest], 1)})."
            )
        return " ".join(sentences)


def check_ensemble(q: Any, y_true: Any = None) -> EnsembleCheck:
    """Look for faulty members: copies, constants, other scales, rows or classes in another order.

    Such faults pass unnoticed because they leave valid probabilities, or refuse the whole array
    without naming the member. Copies lower the epistemic uncertainty; permuted classes, shuffled
    rows and constant members raise it.

    Parameters
    ----------
    q : Ensemble, MultiLabelEnsemble, Predictions, or array (M, ..., K)
        Arrays are not validated first, so that members with logits or sums other than 1 are named.
    y_true : array (...) or, for labels that may occur together, (..., K), optional
        True classes. A member is compared with the mean of the others, and with these: then all
        members may be permuted alike, and it can be told which of two members is at fault.

    Returns
    -------
    EnsembleCheck

    Examples
    --------
    >>> probs = np.random.default_rng(0).dirichlet([1, 1, 1], size=(4, 100))
    >>> probs[2] = probs[0]
    >>> check = check_ensemble(lw.Ensemble(probs))
    >>> check.findings[0].sentence, check.effective_members.round(1)
    ('Members 0 and 2 are identical', array([2.9, 2.9, 3. ]))
    """
    (y_true,) = same_rows(q, y_true=y_true)
    if isinstance(q, Predictions):
        # Files are not read whole.
        rows = _instances_to_check(len(q), q.n_members or 1, q.n_classes)
        part = q[rows]
        q = part.distribution()
        if y_true is None:
            y_true = part.y_true
        else:
            y_true = to_numpy(y_true)[rows]
    members, findings = _read_members(q, y_true)

    # A member on another scale would look like every other fault, too.
    usable = members.without(_members_in_findings(findings))
    factors = getattr(q, "factors", None) or ()
    if any(name.lower() in ("fold", "folds") for name in factors):
        findings.append(Finding("folds", members.numbers, FOLDS))
    if len(usable) and usable.n_instances >= MIN_INSTANCES:
        findings += _faults_of_members(usable)
    effective = None
    if len(usable) > 1 and usable.n_instances:
        effective = _effective_number_of_members(usable.probs)
    names = getattr(q, "member_names", None)
    return EnsembleCheck(len(members), tuple(findings), effective, members.class_names, names)


def _faults_of_members(members: Members) -> list[Finding]:
    """Faults that are seen by comparing members with each other and with the truth.

    What is found is left out of the next comparisons.
    """
    findings, constant = constant_members(members)
    members = members.without(constant)

    copies = list(identical_members(members))
    # Of members that are equal, one is compared with the others: a copy would speak for its
    # original.
    members = members.without({i for x in copies for i in x.members[1:]})

    permuted = list(permuted_classes(members))
    members = members.without(_members_in_findings(permuted))
    return [*findings, *copies, *permuted, *unrelated_members(members)]


def _members_in_findings(findings: list[Finding]) -> set[int]:
    """The members that are named by findings."""
    return {i for x in findings for i in x.members}


def _read_members(q: Any, y_true: Any) -> tuple[Members, list[Finding]]:
    """All members on evenly spaced instances, and what is wrong with the scale of some."""
    findings = []
    if isinstance(q, Distribution):
        if q.members is None:
            raise TypeError(f"`q` must be an ensemble with members; {type(q).__name__} has none")
        array = to_numpy(q.members[0])
        names = q.class_names
    else:
        array, names = to_numpy(q), None
        if array.ndim < 3 or array.dtype.kind != "f" or 0 in array.shape:
            raise ValueError(
                "`q` must be an ensemble, or a floating array (members, ..., classes); got "
                f"{array.dtype} of shape {array.shape}"
            )
        for i, member in enumerate(array):
            try:
                check_probabilities(member, "probs", sum_to_one=True)
            except InputError as error:
                findings.append(Finding("scale", (i,), f"Of member {i}, {error}"))
    m, *batch, k = array.shape
    class_names = names or tuple(map(str, range(k)))
    probs = array.reshape(m, -1, k)
    chosen = _instances_to_check(probs.shape[1], m, k)
    truth = None
    if y_true is not None:
        truth = outcomes_by_class(y_true, class_names, tuple(batch))[chosen].astype(float)
    numbers = tuple(range(m))
    called = getattr(q, "member_names", None)
    member_names = tuple(map(str, numbers)) if called is None else tuple(map(quoted, called))
    probs = probs[:, chosen].astype(float)
    return Members(probs, numbers, member_names, class_names, truth), findings


def _instances_to_check(n: int, m: int, k: int) -> np.ndarray:
    """Evenly spaced positions of some of n instances, for m members and k classes."""
    most = min(MAX_INSTANCES, max(MIN_INSTANCES, MAX_PROBABILITIES // (m * k * max(1, m // 32))))
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def _effective_number_of_members(x: np.ndarray) -> np.ndarray:
    r"""(K,): :math:`1 + (\operatorname{tr} C)^2 / \operatorname{tr} C^2` with the M × M matrix C of
    mean products of the deviations from the mean.

    M for independent members that differ equally; copies count once, and a member that differs
    alone makes it 2.
    """
    d = x - x[:1]  # exactly 0 where they agree
    d -= d.mean(axis=0)
    products = np.einsum("ank,bnk->kab", d, d, optimize=True)
    square = np.einsum("kab,kab->k", products, products)
    return 1 + quotient(np.einsum("kaa->k", products) ** 2, square, 0)
