"""Label-wise total, aleatoric and epistemic uncertainty: Eqs. (9)–(16) of the paper.

The three equations themselves are in `Marginal.split`.
"""

from __future__ import annotations

from functools import lru_cache
from operator import methodcaller
from typing import Any, Literal

from .._arrays import Names
from .._engine.compute import Computed, compute, evaluate_law
from .._engine.kernel import thread_count
from .._errors import InputError
from ..distributions import Distribution, Intervals
from ..distributions.base import ArrayOf, ArrayT
from ..distributions.ensemble import as_distribution
from ..events import Events, Family, Structure, as_events
from ..losses import Loss, LossName, as_loss
from .forecast import regret_of_forecast
from .median import median_deviation
from .results import PARTS, Components
from .uncertainty import Basis, Uncertainty, numpy_law

__all__ = ["PARTS", "Components", "Uncertainty", "decompose", "median_deviation", "numpy_law"]


def decompose(
    q: Distribution[ArrayT] | ArrayOf[ArrayT],
    loss: LossName | Loss = "log",
    *,
    events: Family | None = None,
    forecast: Any = None,
    correction: Literal["jackknife"] | None = None,
    n_jobs: int | None = None,
) -> Uncertainty[ArrayT]:
    r"""Label-wise total, aleatoric and epistemic uncertainty.

    .. math::
        \mathrm{TU}_k = G(\mathbb{E}\,\Theta_k), \quad \mathrm{AU}_k = \mathbb{E}\,G(\Theta_k),
        \quad \mathrm{EU}_k = \mathrm{TU}_k - \mathrm{AU}_k = \mathbb{E}\, D(\Theta_k \Vert
        \mathbb{E}\,\Theta_k)

    Eqs. (9)–(11), (15), (16) of the paper, with the entropy G and the Bregman divergence D of the
    loss. EU is computed as the expected divergence, never as a difference, so it is nonnegative,
    and exactly 0 when the members agree.

    Parameters
    ----------
    q : Distribution or array (M, ..., K)
        `Ensemble`, `Dirichlet`, `DirichletMixture`, `LogisticNormal`, `MultiLabelEnsemble`, or your
        own. Probabilities are those of an `Ensemble`.
    loss : str or Loss
        ``"log"`` (bits), ``"squared"`` (= ``"brier"``), ``"spherical"``, ``"zero_one"``, or a loss
        object.
    events : mapping or Events, optional
        Groups of classes, ordinal cuts, a tree or pairs instead of single labels
        (`labelwise.events`).
    forecast : array (..., K), int or "member", optional
        The forecast that is deployed, if it is not the mean: its probabilities, a member by
        position, or a random member. Its expected excess loss is :math:`\mathrm{EU}_k =
        \mathbb{E}\, D(\Theta_k \Vert f_k)`, larger than that of the mean by the ``regret``
        :math:`D(\bar\theta_k \Vert f_k)`, and TU = AU + EU its risk. Infinite under log loss
        where :math:`f_k = 0 < \bar\theta_k`. With ``"member"`` the regret is the reverse divergence
        :math:`\mathbb{E}\, D(\bar\theta_k \Vert \Theta_k)` and EU the pairwise one,
        :math:`\mathbb{E}\, D(\Theta_k \Vert \Theta_k')`. A member is compared with itself, too: for
        independent trainings EU · M/(M−1) is unbiased. Other forecasts need no correction.
    correction : {"jackknife"}, optional
        Remove the leading bias of a finite ensemble: M members underestimate EU (for squared loss
        by the factor (M−1)/M). TU is raised by the same amount and may exceed its maximum. Needs M
        ≥ 2 equally weighted members and a smooth loss.
    n_jobs : int, optional
        Maximum number of threads for large NumPy ensembles; defaults to LABELWISE_THREADS, or one
        per core. Results are bit-identical for any value.

    Returns
    -------
    Uncertainty
        Arrays of shape (..., K) or (..., E), in the array library, dtype and device of ``q``. Dask
        arrays stay lazy: one task per block of instances validates and computes it, bit-identical
        to NumPy.

    Examples
    --------
    >>> probs = np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.8, 0.1]]])  # two members, one case
    >>> u = decompose(lw.Ensemble(probs, class_names=["lung", "lymphoma", "melanoma"]))
    >>> u.epistemic.round(3)  # the members disagree about two of the classes
    array([[0.296, 0.278, 0.   ]])
    >>> u["melanoma"].total.round(3)
    array([0.469])
    """
    if not isinstance(q, Distribution):
        q = as_distribution(q)
    loss = as_loss(loss)
    if correction is not None:
        _check_jackknife(q, loss, correction)
        if forecast is not None:
            raise InputError(
                "`correction` is for the mean as the forecast. The risk of another `forecast` has "
                "no bias of a finite ensemble; for a member, multiply EU by M/(M−1)"
            )
    if n_jobs is not None:
        thread_count(n_jobs)  # refused here, whichever way is taken
    family: Events | None = None
    class_names = q.class_names
    structure: Structure = "partition" if q.exclusive else "free"
    if events is not None:
        family = as_events(events)
        class_names = family.names
        structure = family.structure(q.n_classes, q.class_names)
    if loss.per_event:
        loss = loss.bind(class_names or _numbered_class_names(q.n_classes))

    def equations(q: Distribution) -> Computed:
        parts = q.marginal(family).split(loss)
        return Computed(parts[:3], parts.error)

    # The same numbers from compiled code, if there is any for this distribution and loss.
    computed = compute(equations, q, methodcaller("fast", loss, family, n_jobs))
    total, aleatoric, epistemic = computed.parts
    error = sums = ensemble = regret = None
    basis: Basis = "mean"
    if computed.error is not None:
        error = Components(*computed.error)
    if isinstance(q, Intervals):
        basis = "intervals"
        if forecast is not None:
            raise InputError("`forecast`: intervals have no mean that it could be compared with")
        regret = evaluate_law(lambda law: law.regret(loss), q, family)
    elif forecast is not None:
        basis = "forecast"
        regret, bound = regret_of_forecast(q, loss, family, forecast)
        total, epistemic = total + regret, epistemic + regret
        if error is not None and bound is not None:
            error = Components(error.total + bound, error.aleatoric, error.epistemic + bound)
    elif correction is not None:
        bias = evaluate_law(lambda law: law.jackknife(loss), q, family)
        total, epistemic = total + bias, epistemic + bias
    else:
        if computed.sums is not None:
            sums = Components(*computed.sums)
        if getattr(q, "factors", None) is not None:
            ensemble = q
    return Uncertainty(
        total,
        aleatoric,
        epistemic,
        class_names=class_names or _numbered_class_names(total.shape[-1]),
        loss=loss,
        events=family,
        structure=structure,
        error=error,
        sums=sums,
        n_members=q.n_members if q.finite else None,
        ids=q.ids,
        ensemble=ensemble,
        regret=regret,
        basis=basis,
    )


@lru_cache(maxsize=64)
def _numbered_class_names(k: int) -> Names:
    return tuple(map(str, range(k)))


def _check_jackknife(q: Distribution, loss: Loss, correction: str) -> None:
    if correction != "jackknife":
        raise InputError(f"`correction` must be 'jackknife' or None; got {correction!r}")
    if not q.finite:
        raise InputError(
            "`correction`: the jackknife corrects for a finite number of members; "
            f"{type(q).__name__} has no members. "
            "Leave `correction` out"
        )
    if not loss.smooth:
        raise InputError(
            "`correction`: the jackknife needs a smooth loss; the entropy of "
            f"{type(loss).__name__} has a kink, where the bias does not "
            "decrease like 1/M. Leave `correction` out, or use a loss such as 'squared'"
        )
    if q.n_members is not None and q.n_members < 2:
        raise InputError(
            f"`correction`: the jackknife needs at least 2 members; got M = {q.n_members}, whose "
            "epistemic uncertainty is unknown"
        )
    if getattr(q, "weights", None) is not None:
        raise InputError(
            "`correction`: the jackknife is defined for equally weighted members; got `weights`. "
            "Leave one of the two out"
        )
