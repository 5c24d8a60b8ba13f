r"""Definition 2.1 for finitely supported Q: three transformations of a second-order distribution.

Each maps an `Ensemble` of M members, Q = Σ_m w_m δ_{θ_m}, for any number of instances, to another
one, and raises an error if the result would leave the probability simplex; `largest_step` gives the
limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Shape, to_numpy
from ..distributions import Distribution, Ensemble

# Smaller coordinates are rounding errors of a move that ends on the boundary.
BOUNDARY_ROUNDING = 1e-15


def mean_preserving_spread(q: Ensemble, z: Any, *, p: Any = 0.5) -> Ensemble:
    r"""Definition 2.1 (i): Θ' = Θ + Z with E[Z | Θ] = 0 and max_k Var Z_k > 0.

    Each member is split in two: θ_m + (1−p) z_m with probability p, and θ_m − p z_m with
    probability 1 − p.

    Parameters
    ----------
    q : Ensemble (M, ..., K)
    z : array, broadcast to (M, ..., K)
        Directions, summing to 0 over the classes; a member whose direction is 0 does not move.
    p : float or array, broadcast to (M, ...)
        Probabilities strictly between 0 and 1.

    Returns
    -------
    Ensemble (2M, ..., K)

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[0.5, 0.5], [0.2, 0.8]]), member_axis=0)
    >>> spread = mean_preserving_spread(q, [[0.2, -0.2], [0.0, 0.0]])
    >>> spread.probs[:, 0].round(3), spread.mean().round(3), q.mean().round(3)
    (array([0.6, 0.2, 0.4, 0.2]), array([0.35, 0.65]), array([0.35, 0.65]))
    """
    atoms, weights = atoms_and_weights(q)
    z = _shift_direction(z, atoms.shape)
    p = _shift_share(p, weights.shape, "p")
    if not np.all(np.any((z != 0) & (weights > 0)[..., None], axis=(0, -1))):
        raise ValueError(
            "`z` must not be 0 for all members of an instance: the spread would change nothing"
        )
    split = np.concatenate([atoms + (1 - p)[..., None] * z, atoms - p[..., None] * z])
    return _ensemble_on_simplex(q, split, np.concatenate([weights * p, weights * (1 - p)]))


def location_shift(q: Ensemble, z: Any) -> Ensemble:
    r"""Definition 2.1 (ii): Θ' = Θ + z, a spread-preserving location shift by a constant z ≠ 0.

    Parameters
    ----------
    q : Ensemble (M, ..., K)
    z : array, broadcast to (..., K)
        Summing to 0 over the classes.

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[0.5, 0.5], [0.2, 0.8]]), member_axis=0)
    >>> location_shift(q, [0.1, -0.1]).probs.round(3)
    array([[0.6, 0.4],
           [0.3, 0.7]])
    """
    atoms, weights = atoms_and_weights(q)
    z = _shift_direction(z, atoms.shape[1:])
    if not np.all(np.any(z != 0, axis=-1)):
        raise ValueError("`z` must not be 0: the shift would change nothing")
    return _ensemble_on_simplex(q, atoms + z, weights)


def center_shift(q: Ensemble, lam: Any) -> Ensemble:
    r"""Definition 2.1 (iii): the location shift to the mean λ E Θ + (1−λ)(1/K, …, 1/K), toward the
    center of the simplex.

    Parameters
    ----------
    q : Ensemble (M, ..., K)
    lam : float or array, broadcast to (...)
        λ, strictly between 0 and 1. Not every λ is possible: ``1 - lam`` must not exceed the
        `largest_step` to the center.

    Examples
    --------
    >>> q = lw.Ensemble(np.array([[0.3, 0.7], [0.95, 0.05]]), weights=[0.7, 0.3], member_axis=0)
    >>> shifted = center_shift(q, 0.5)
    >>> q.mean().round(4), shifted.mean().round(4)
    (array([0.495, 0.505]), array([0.4975, 0.5025]))
    """
    away = direction_to_center(q)
    lam = _shift_share(lam, away.shape[:-1], "lam")
    if not np.all(np.any(np.abs(away) > BOUNDARY_ROUNDING, axis=-1)):
        raise ValueError("`q` already has its mean in the center, so it has no center shift")
    return location_shift(q, (1 - lam)[..., None] * away)


def largest_step(q: Ensemble, z: Any) -> np.ndarray:
    """The largest factor f ≥ 0 for which Θ + f·z stays in the simplex, shape (...); ``z``
    broadcasts to (M, ..., K).

    >>> q = lw.Ensemble(np.array([[0.5, 0.5], [0.2, 0.8]]), member_axis=0)
    >>> float(largest_step(q, [-0.1, 0.1]))
    2.0
    """
    atoms, _ = atoms_and_weights(q)
    return largest_step_of_members(atoms, _shift_direction(z, atoms.shape)).min(axis=0)


def direction_to_center(q: Ensemble) -> np.ndarray:
    """The vector from the mean to the center of the simplex, (..., K)."""
    atoms, weights = atoms_and_weights(q)
    mean = np.sum(weights[..., None] * atoms, axis=0)
    return mean.mean(axis=-1, keepdims=True) - mean  # 1/K up to rounding of the sum


def largest_step_of_members(atoms: np.ndarray, z: np.ndarray) -> np.ndarray:
    """`largest_step` of each member, (M, ...)."""
    falling = z < 0  # the coordinates sum to 1, so none can pass 1 before another passes 0
    return np.where(falling, atoms / np.where(falling, -z, 1), np.inf).min(axis=-1)


def atoms_and_weights(q: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Atoms (M, ..., K) and weights (M, ...) of an ensemble."""
    if not (isinstance(q, Distribution) and q.members is not None and q.exclusive):
        raise TypeError(f"`q` must be an lw.Ensemble; got {type(q).__name__}")
    probs, given = q.members
    atoms = to_numpy(probs).astype(float)
    weights = np.full(len(atoms), 1 / len(atoms))
    if given is not None:
        weights = to_numpy(given).astype(float)
    if weights.ndim == 1:  # the same for all instances
        weights = weights.reshape(-1, *(1,) * (atoms.ndim - 2))
    return atoms, np.broadcast_to(weights, atoms.shape[:-1])


def _shift_direction(z: Any, shape: Shape) -> np.ndarray:
    direction = _broadcast_shift(z, shape, "z")
    off = np.abs(direction.sum(axis=-1)).max(initial=0)
    if not off <= 1e-9:
        raise ValueError(
            "`z` must sum to 0 over the classes, or probabilities no longer sum to 1; sums differ "
            f"from 0 by up to {off:.4g}"
        )
    return direction


def _broadcast_shift(x: Any, shape: Shape, name: str) -> np.ndarray:
    x = np.asarray(x, float)
    try:
        return np.broadcast_to(x, shape)
    except ValueError as error:
        raise ValueError(f"`{name}` must fit the shape {shape}; got shape {x.shape}") from error


def _shift_share(x: Any, shape: Shape, name: str) -> np.ndarray:
    share = _broadcast_shift(x, shape, name)
    if not np.all((share > 0) & (share < 1)):
        raise ValueError(
            f"`{name}` must lie strictly between 0 and 1; values range from {share.min():.4g} to "
            f"{share.max():.4g}"
        )
    return share


def _ensemble_on_simplex(q: Ensemble, atoms: np.ndarray, weights: np.ndarray) -> Ensemble:
    """``q`` moved to ``atoms``, rounding errors on the boundary removed; an error if they lie
    outside.
    """
    lowest = atoms.min(initial=0)
    if lowest < -1e-12:
        raise ValueError(
            f"`z` leaves the probability simplex: a probability would become {lowest:.4g}. "
            "lw.axioms.largest_step(q, z) is the largest factor that stays inside"
        )
    atoms = np.where(atoms < BOUNDARY_ROUNDING, 0.0, atoms)
    return Ensemble(atoms, weights=weights, member_axis=0, class_names=q.class_names)
