"""Fitted sets as .npz files of plain numbers and text; nothing is pickled, nothing is trusted."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.atomic import replacing
from ..io.files import reading
from ..io.npz import read_npz, write_npz
from ._predictor import EventScores, SetPredictor
from ._quantiles import as_level
from ._scores import SCORES
from ._shapes import Shape

if TYPE_CHECKING:
    from .labels import LabelThresholds

FORMAT = {"sets": "labelwise sets 1", "labels": "labelwise label thresholds 1"}
# fmt: off
_KEYS = (
    "format", "class_names", "coverage", "score", "per", "smoothed", "cover", "new_weight", "prevalence", "event_names", "inside",  # noqa: E501
    "used_by", "n_cases", "n_groups", "offsets", "scores", "weights", "shape", "order", "node_names", "nodes", "max_nodes", "lower",  # noqa: E501
    "upper", "n_present", "n_absent", "rates", "method", "confidence", "family_wise", "grouped",
)
# fmt: on


def write_arrays(path: str | os.PathLike[str], arrays: dict[str, Any]) -> Path:
    """Write an .npz file, whole or not at all."""
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"fitted sets are written as .npz; got {path.name!r}")
    with replacing(path) as file:
        write_npz(file, {key: np.asarray(x) for key, x in arrays.items() if x is not None})
    return path


def save_predictor(fitted: SetPredictor, path: str | os.PathLike[str]) -> Path:
    """Write a fitted predictor."""
    events, shape = fitted.events, fitted.shape
    arrays: dict[str, Any] = {
        "format": FORMAT["sets"],
        "class_names": list(fitted.class_names),
        **{
            key: getattr(fitted, key)
            for key in ("coverage", "score", "per", "smoothed", "cover", "new_weight", "prevalence")
        },
        "event_names": [e.name for e in events],
        "inside": np.stack([e.inside for e in events]),
        "used_by": np.stack([e.used_by for e in events]),
        "n_cases": [e.n_cases for e in events],
        "n_groups": None if fitted.cover is None else [e.n_groups for e in events],
        "offsets": np.cumsum([0, *(len(e.scores) for e in events)]),
        "scores": np.concatenate([e.scores for e in events]),
        "weights": None
        if events[0].weights is None
        else np.concatenate([e.weights for e in events if e.weights is not None]),
    }
    if shape is not None:
        arrays |= {
            "shape": shape.kind,
            "order": shape.order,
            "nodes": shape.nodes,
            "max_nodes": shape.max_nodes,
        }
        arrays["node_names"] = np.asarray(shape.node_names, dtype=str)
    return write_arrays(path, arrays)


def load_sets(path: str | os.PathLike[str]) -> SetPredictor | LabelThresholds:
    """Fitted sets, or label thresholds, from a file written by their ``save``; the file is checked.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> p = np.random.default_rng(0).dirichlet([1, 1], 60)
    >>> sets = lw.sets.fit_sets(p, p.argmax(axis=1), coverage=0.8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bool((load_sets(sets.save(pathlib.Path(folder, "sets.npz"))).thresholds == sets.thresholds).all())
    True
    """  # noqa: E501
    path = Path(path)
    with reading(path):
        found = read_npz(path, _KEYS)
        kind = _text(found, "format")
        if kind not in FORMAT.values():
            raise ValueError(
                f"`path` must be a file of fitted sets, written by `save`; got {kind!r:.60}"
            )
        if kind == FORMAT["labels"]:
            from .labels import thresholds_from

            return thresholds_from(found)
        return _predictor(found)


def need(
    found: dict[str, np.ndarray], key: str, kinds: str, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """An array of the file, of one of these kinds and this shape."""
    if key not in found:
        raise ValueError(f"it is damaged, or no file of fitted sets: it has no `{key}`")
    x = found[key]
    if (
        x.dtype.kind not in kinds
        or (shape is not None and x.shape != shape)
        or (x.dtype.kind == "f" and np.isnan(x).any())
    ):
        raise ValueError(f"it is damaged: `{key}` is {x.dtype} of shape {x.shape}")
    return x


def _text(found: dict[str, np.ndarray], key: str, choices: tuple[str, ...] | None = None) -> str:
    word = str(need(found, key, "U", ()))
    if choices is not None and word not in choices:
        raise ValueError(f"it is damaged: `{key}` is {word!r:.60}")
    return word


def names_from(found: dict[str, np.ndarray], key: str) -> tuple[str, ...]:
    """Distinct names."""
    names = tuple(need(found, key, "U").reshape(-1).tolist())
    if len(set(names)) != len(names):
        raise ValueError(f"it is damaged: `{key}` names something twice")
    return names


def _predictor(found: dict[str, np.ndarray]) -> SetPredictor:
    names = names_from(found, "class_names")
    k, e = len(names), len(need(found, "inside", "b"))
    events = tuple(need(found, "event_names", "U", (e,)).tolist())
    inside, used_by = need(found, "inside", "b", (e, k)), need(found, "used_by", "b", (e, k))
    scores = need(found, "scores", "f")
    offsets, n_cases = need(found, "offsets", "iu", (e + 1,)), need(found, "n_cases", "iu", (e,))
    weights = need(found, "weights", "f", scores.shape) if "weights" in found else None
    cover = _text(found, "cover", ("case", "group")) if "cover" in found else None
    n_groups = need(found, "n_groups", "iu", (e,)) if cover is not None else None
    steps = np.diff(offsets.astype(np.int64))
    if (
        scores.ndim != 1
        or offsets[0] != 0
        or offsets[-1] != len(scores)
        or steps.min(initial=0) < 0
        or not used_by.any(axis=0).all()
    ):
        raise ValueError("it is damaged: scores, events and classes do not fit each other")
    if weights is not None and weights.min(initial=0.0) < 0:
        raise ValueError("it is damaged: a weight is negative")
    parts = [slice(int(a), int(b)) for a, b in pairwise(offsets)]
    made = tuple(
        EventScores(
            events[i],
            inside[i],
            used_by[i],
            np.sort(scores[part]),
            None if weights is None else weights[part][np.argsort(scores[part], kind="stable")],
            int(n_cases[i]),
            None if n_groups is None else int(n_groups[i]),
        )
        for i, part in enumerate(parts)
    )
    new_weight = need(found, "new_weight", "f", (k,)) if "new_weight" in found else None
    prevalence = (
        _text(found, "prevalence", ("known", "estimated")) if "prevalence" in found else None
    )
    coverage = float(need(found, "coverage", "f", ()))
    as_level(coverage)
    per = _text(found, "per", ("marginal", "class", "events", "clusters"))
    smoothed = bool(need(found, "smoothed", "b", ()))
    return SetPredictor(
        made,
        names,
        coverage,
        _text(found, "score", SCORES),
        per,
        smoothed,
        cover,
        new_weight,
        prevalence,
        _shape(found, k),
    )


def _shape(found: dict[str, np.ndarray], k: int) -> Shape | None:
    if "shape" not in found:
        return None
    kind = _text(found, "shape", ("ordinal", "tree"))
    order, nodes = need(found, "order", "iu"), need(found, "nodes", "b")
    node_names = names_from(found, "node_names")
    max_nodes = int(need(found, "max_nodes", "iu", ()))
    whole = (
        sorted(order.tolist()) == list(range(k))
        if kind == "ordinal"
        else nodes.shape == (len(node_names), k) and bool(nodes[-1:].all()) and len(nodes) > 0
    )
    if not whole or max_nodes < 1:
        raise ValueError("it is damaged: the shape does not fit the classes")
    return Shape(kind, order, node_names, nodes, max_nodes)
