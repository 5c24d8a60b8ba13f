"""From trained models to a second-order distribution: one function for all libraries."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from .._arrays import ClassNames, to_numpy
from .._errors import InputError
from .._frames import row_labels
from .._validation.arguments import as_seed, check_choice, check_positive
from .._validation.labels import plain_labels
from .._validation.probabilities import FEW_ROWS
from ..distributions import Ensemble, MultiLabelEnsemble
from ..distributions.base import with_ids
from ..distributions.ensemble import softmax_of
from ._adapter import Adapter, class_order, only_one_way
from ._batches import Batch, array_batches, check_loader, is_loader, loader_batches
from .boosted_models import catboost_adapter, lightgbm_adapter, xgboost_adapter
from .keras_models import keras_adapter
from .onnx_models import onnx_adapter

ACTIVATIONS = ("softmax", "sigmoid", "none")
FEW_OUTPUTS = 16  # so few logits may all lie between 0 and 1 by chance
LIBRARIES: tuple[tuple[str, str, Callable[[Sequence[Any]], Adapter]], ...] = (
    ("keras", "Model", keras_adapter),
    ("onnxruntime", "InferenceSession", onnx_adapter),
    ("xgboost", "Booster", xgboost_adapter),
    ("lightgbm", "Booster", lightgbm_adapter),
)
"""Module and class of models, and how they are asked."""


class _Options(TypedDict, total=False):
    device: Any
    activation: str | None
    class_names: ClassNames | None
    class_axis: int
    n_samples: int | None
    also: Sequence[type]
    batch_size: int | None
    rng: int | np.random.Generator | None
    progress: bool


@overload
def from_models(
    models: Any, X: Any, *, return_labels: Literal[False] = ..., **options: Unpack[_Options]
) -> Ensemble | MultiLabelEnsemble: ...
@overload
def from_models(
    models: Any, X: Any, *, return_labels: Literal[True], **options: Unpack[_Options]
) -> tuple[Ensemble | MultiLabelEnsemble, Any]: ...
def from_models(
    models: Any,
    X: Any,
    *,
    device: Any = None,
    activation: str | None = None,
    class_names: ClassNames | None = None,
    class_axis: int = -1,
    n_samples: int | None = None,
    also: Sequence[type] = (),
    batch_size: int | None = None,
    rng: int | np.random.Generator | None = 0,
    return_labels: bool = False,
    progress: bool = True,
) -> Any:
    """Ask trained models about ``X``: their predictions as an `Ensemble`.

    Parameters
    ----------
    models : model or sequence of models
        - torch modules, also Hugging Face models (``.logits`` is read); one module with dropout is
          asked ``n_samples`` times with dropout switched on (MC dropout; each instance has its own
          masks, and batch normalization stays as it is). Modes, gradients, devices and random state
          are restored.
        - scikit-learn: one ensemble (forest, extra trees, bagging, soft voting,
          `~sklearn.calibration.CalibratedClassifierCV`, also inside
          `~sklearn.model_selection.GridSearchCV` and pipelines) by its members; a list of any
          classifiers, or the result of ``cross_validate(..., return_estimator=True)``.
        - xgboost, lightgbm, catboost: lists of classifiers or boosters; one catboost classifier
          with ``posterior_sampling=True`` is asked for a virtual ensemble of ``n_samples``.
        - Keras models, ONNX Runtime sessions, and functions from a batch to scores (flax: ``lambda
          x: net.apply(params, x)``).

        One model alone is one member: its epistemic uncertainty is 0.
    X : array, table, mapping of arrays, or loader
        Instances first. A loader gives batches: (inputs, labels), a mapping (``labels`` is taken
        out, the rest is passed by name), or inputs alone; it is read once, all models see each
        batch.
    device : optional
        For torch: move the modules there while they are asked. Defaults to where they are.
    activation : {"softmax", "sigmoid", "none"}, optional
        What turns outputs into probabilities. Defaults to softmax for torch, unless all rows sum to
        1 (a warning says so), and to what the values say elsewhere: rows that sum to 1 are
        probabilities. Where that is not clear, you are asked. "sigmoid" with several columns:
        labels that may occur together.
    class_names : sequence of str, or mapping to names, optional
        Defaults to the model's own (``classes_``, ``config.id2label``). The same names in another
        order reorder the classes; integer classes are named in ascending order. A mapping from the
        model's classes, or from positions, renames them.
    class_axis : int
        Where the classes are in the output of a model: 1 for segmentation, (N, K, height, width).
    n_samples : int, optional
        Number of dropout samples of each module (default for one module: 50) or of virtual
        ensembles (default: 10).
    also : sequence of classes
        For dropout: further modules to switch to training mode, such as one that calls
        ``torch.nn.functional.dropout`` itself.
    batch_size : int, optional
        Rows of an array at a time; defaults to 1024 for networks.
    rng : int, numpy.random.Generator or None
        For dropout.
    return_labels : bool
        Return ``(q, y_true)`` with the labels of the loader.
    progress : bool
        Show a progress bar if standard error is a terminal.

    Returns
    -------
    Ensemble or MultiLabelEnsemble
        ``probs`` (M, N, ..., K); a tensor if ``X`` is one, otherwise NumPy. **Two classes**: where
        a model gives one number for each instance, shape (N,) or (N, 1), it is the probability (or
        logit) of the second class, and the result has K = 2 classes. The index of a table ``X`` is
        kept as ``ids``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> models = [LogisticRegression(C=c).fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"]) for c in (0.1, 1, 10)]
    >>> q = lw.from_models(models, [[0.5], [1.5]])
    >>> q.probs.shape, q.class_names
    ((3, 2, 2), ('no', 'yes'))
    """  # noqa: E501
    if activation is not None:
        check_choice(activation, "activation", ACTIVATIONS)
    if n_samples is not None:
        check_positive(n_samples, "n_samples")
    adapter = _adapter_of(models, device, n_samples, also, as_seed(rng))
    if is_loader(X):
        check_loader(X, return_labels)
        batches: Iterable[Batch] = loader_batches(X)
        total = len(X) if hasattr(X, "__len__") else None
    else:
        if return_labels:
            raise ValueError(
                "`return_labels` needs a loader that gives labels; `X` has none. You have the "
                "labels of an array already"
            )
        size = (
            adapter.batch_size if batch_size is None else check_positive(batch_size, "batch_size")
        )
        batches = list(array_batches(X, size))
        total = len(batches)
    values, labels = _ask(adapter, _with_progress(batches, total, progress))
    q = _distribution(values, adapter, activation, class_axis, class_names, X)
    if len(q.batch_shape) == 1:
        q = with_ids(q, row_labels(X))  # labels with the same index are matched by it
    if not return_labels:
        return q
    if labels is None:
        raise ValueError(
            "`return_labels` needs a loader that gives labels: batches (inputs, labels) or "
            "mappings with `labels`"
        )
    return q, labels


def _adapter_of(
    models: Any, device: Any, n_samples: int | None, also: Sequence[type], seed: int
) -> Adapter:
    """The library of the models; nothing is imported that is not already in use."""
    if isinstance(models, Mapping):  # the result of cross_validate
        if "estimator" not in models:
            raise TypeError(
                "`models` must be models or the result of cross_validate(..., "
                f"return_estimator=True); got {sorted(models)}"
            )
        models = models["estimator"]
    single = not isinstance(models, list | tuple | np.ndarray)
    several = [models] if single else list(models)
    if not several:
        raise ValueError("`models` must hold at least one model; got none")
    if all(is_instance_of(model, "torch.nn", "Module") for model in several):
        from .torch_models import torch_adapter

        return torch_adapter(
            several, single=single, n_samples=n_samples, also=also, device=device, seed=seed
        )
    if device is not None:
        raise ValueError(
            f"`device` is for torch modules; got {device!r} for {type(several[0]).__name__}"
        )
    if (
        single
        and is_instance_of(models, "catboost", "CatBoostClassifier")
        and (n_samples or models.get_all_params().get("posterior_sampling"))
    ):
        return catboost_adapter(models, n_samples)
    only_one_way(n_samples, type(several[0]).__name__)
    for module, name, make in LIBRARIES:
        if all(is_instance_of(model, module, name) for model in several):
            return make(several)
    if all(
        hasattr(model, "predict_proba") or is_instance_of(model, "sklearn.base", "BaseEstimator")
        for model in several
    ):
        from .sklearn_models import sklearn_adapter

        return sklearn_adapter(several, single=single)
    if all(callable(model) and not isinstance(model, type) for model in several):
        return Adapter(
            lambda batch: [model(*batch.args, **batch.kwargs) for model in several],
            "unknown",
            batch_size=1024,
        )
    kinds = ", ".join(sorted({type(model).__name__ for model in several}))
    raise TypeError(
        "`models` must be torch modules, classifiers with predict_proba, boosters, Keras models, "
        "ONNX Runtime sessions or functions, all of one "
        f"kind; got {kinds}"
    )


def is_instance_of(model: Any, module: str, name: str) -> bool:
    """Whether ``model`` is of a class of a library, which is not imported for the question."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)


def _ask(adapter: Adapter, batches: Iterable[Batch]) -> tuple[np.ndarray, np.ndarray | None]:
    """The scores of all members, (M, N, ...), and the labels."""
    scores: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    with adapter.running():
        for batch in batches:
            outputs = [to_numpy(output) for output in adapter.predict(batch)]
            shapes = {output.shape for output in outputs}
            if len(shapes) > 1:
                raise ValueError(
                    "the models must give outputs of one shape; got "
                    f"{' and '.join(map(str, sorted(shapes)))}"
                )
            if not outputs[0].ndim or len(outputs[0]) != len(batch):
                raise ValueError(
                    "the models must give one row of scores per instance; got shape "
                    f"{outputs[0].shape} for {len(batch)} instances"
                )
            scores.append(np.stack(outputs))
            if batch.labels is not None:
                labels.append(plain_labels(batch.labels, "labels of the loader"))
    if not scores:
        raise ValueError("`X` must hold at least one instance; the loader gave no batch")
    if len({part.shape[2:] for part in scores}) > 1:
        raise ValueError(
            "the batches give outputs of different shapes; pad the inputs to one length"
        )
    return np.concatenate(scores, axis=1), np.concatenate(labels) if labels else None


def _with_progress(batches: Iterable[Batch], total: int | None, wanted: bool) -> Iterator[Batch]:
    """The batches, with a progress bar on a terminal if there are several."""
    if not (wanted and total != 1 and sys.stderr is not None and sys.stderr.isatty()):
        yield from batches
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(
        batches, "predicting", total=total, console=Console(stderr=True), transient=True
    )


def _distribution(
    values: np.ndarray,
    adapter: Adapter,
    activation: str | None,
    class_axis: int,
    class_names: Any,
    X: Any,
) -> Any:
    """The distribution that the scores (M, N, ...) are, as a tensor if ``X`` is one."""
    if values.dtype.kind not in "f":
        raise TypeError(
            f"the models must give floating-point scores; got {values.dtype}. Labels have no "
            "probabilities"
        )
    values = values.astype(np.float32) if values.dtype == np.float16 else values
    if values.ndim > 2:
        axis = class_axis if class_axis < 0 else class_axis + 1  # the members came before it
        if not -values.ndim + 2 <= axis < values.ndim or axis == 1:
            raise ValueError(
                f"`class_axis` must be an axis of the models' output {values.shape[1:]}, not its "
                f"first; got {class_axis}"
            )
        values = np.moveaxis(values, axis, -1)
    if values.ndim == 2 or values.shape[-1] == 1:
        values, activation = _two_classes(
            values if values.ndim == 2 else values[..., 0], adapter, activation
        )
    else:
        activation = activation or _activation(values, adapter)
    if is_instance_of(X, "torch", "Tensor"):
        values = sys.modules["torch"].from_numpy(np.ascontiguousarray(values)).to(X.device)
    names, order = class_order(adapter.class_names, class_names)
    if order is not None and len(order) == values.shape[-1]:
        values = values[..., order]
    options: dict[str, Any] = {"member_axis": 0, "weights": adapter.weights, "class_names": names}
    if activation == "sigmoid":
        return MultiLabelEnsemble.from_logits(values, **options)
    return Ensemble(values if activation == "none" else softmax_of(values), **options)


def _activation(values: np.ndarray, adapter: Adapter) -> str:
    """What the library says, checked against the values, or what they say themselves."""
    if adapter.multilabel:
        return "sigmoid"
    sums = values.sum(-1)
    inner = tuple(range(1, values.ndim))
    members = (values >= 0).all(axis=inner) & (np.abs(sums - 1) < 1e-3).all(axis=inner[:-1])
    if sums[0].size >= FEW_ROWS:
        _check_alike(members, "values that sum to 1 over the classes, as after a softmax", adapter)
    sum_to_one = bool(members.all())
    if adapter.scores == "logits" and sum_to_one:
        warnings.warn(
            "The models give values that are not negative and sum to 1, so they are taken as "
            "probabilities, without a softmax. "
            "Pass activation='none' to say so, or activation='softmax' if they are logits all the "
            "same",
            stacklevel=4,
        )
        return "none"
    if (
        adapter.scores == "logits"
        and values.size >= FEW_OUTPUTS
        and 0 <= values.min() < values.max() <= 1
    ):
        raise InputError(
            "the models give values between 0 and 1 that do not sum to 1 over the classes "
            f"(sums range from {sums.min():.4g} to {sums.max():.4g}): a sigmoid seems to have been "
            "taken already",
            fix="sigmoid_taken",
        )
    if adapter.scores == "unknown" and not sum_to_one:
        raise ValueError(
            "the models give values that do not sum to 1 over the classes (sums range from "
            f"{sums.min():.4g} to {sums.max():.4g}). "
            "Pass activation='softmax' for logits, or activation='sigmoid' for labels that may "
            "occur together"
        )
    return "softmax" if adapter.scores == "logits" else "none"


def _check_alike(probabilities: np.ndarray, rule: str, adapter: Adapter) -> None:
    """Refuse members of which some (M,) give probabilities and others logits: one activation would
    be wrong for either.
    """
    if adapter.scores == "probabilities" or probabilities.all() or not probabilities.any():
        return
    given, other = np.flatnonzero(probabilities), np.flatnonzero(~probabilities)
    raise InputError(
        f"the models must all give probabilities, or all logits; {_models(given)} {rule}, "
        f"{_models(other)} logits. "
        "Take the softmax or sigmoid out of the first, or apply it in the others too"
    )


def _models(positions: np.ndarray) -> str:
    numbers = ", ".join(map(str, positions[:5].tolist())) + (", …" if len(positions) > 5 else "")
    return f"model {numbers} gives" if len(positions) == 1 else f"models {numbers} give"


def _two_classes(
    values: np.ndarray, adapter: Adapter, activation: str | None
) -> tuple[np.ndarray, str]:
    """Scores of two classes from those of the second, (M, N, ...)."""
    if activation == "softmax":
        raise ValueError(
            "a softmax of one output is always 1; pass activation='sigmoid' for the logit of the "
            "second class"
        )
    members = np.asarray(((values >= 0) & (values <= 1)).all(axis=tuple(range(1, values.ndim))))
    between = bool(members.all())
    if activation is None and values[0].size >= FEW_OUTPUTS:
        _check_alike(members, "one output between 0 and 1, as after a sigmoid", adapter)
    if activation is None and adapter.scores == "logits" and between:
        raise ValueError(
            "the models give one output between 0 and 1: pass activation='none' if it is the "
            "probability of the second class, "
            "activation='sigmoid' if it is its logit"
        )
    if activation is None:
        activation = "sigmoid" if adapter.scores == "logits" else "none"
    if activation == "sigmoid":
        return np.stack([np.zeros_like(values), values], axis=-1), "softmax"
    if not between:
        raise ValueError(
            f"the probability of the second class must lie between 0 and 1; got {values.min():.4g} "
            f"to {values.max():.4g}. "
            "Pass activation='sigmoid' for logits"
        )
    return np.stack([1 - values, values], axis=-1), "none"
