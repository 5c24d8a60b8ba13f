"""From trained models to a second-order distribution: one function for all libraries."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from .._arrays import ClassNames, to_numpy
from .._errors import InputError, listed
from .._frames import row_labels
from .._validation.arguments import as_seed, check_choice, check_positive
from .._validation.labels import plain_labels
from .._validation.probabilities import FEW_ROWS
from ..distributions import Ensemble, MultiLabelEnsemble
from ..distributions.ensemble import softmax_of_members
from ._adapter import Adapter, each_model, order_of_model_classes
from ._batches import Batch, array_batches, check_loader, is_loader, loader_batches
from .keras_models import scores_of_keras_model
from .onnx_models import scores_of_session

ACTIVATIONS = ("softmax", "sigmoid", "none")
FEW_OUTPUTS = 16  # so few logits may all lie between 0 and 1 by chance


class _Options(TypedDict, total=False):
    """The options by name, so that type checkers find misspelled ones."""

    activation: str | None
    class_names: ClassNames | None
    class_axis: int
    n_samples: int | None
    extra_modules: Sequence[type]
    batch_size: int | None
    rng: int | np.random.Generator | None


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
    activation: str | None = None,
    class_names: ClassNames | None = None,
    class_axis: int = -1,
    n_samples: int | None = None,
    extra_modules: Sequence[type] = (),
    batch_size: int | None = None,
    rng: int | np.random.Generator | None = 0,
    return_labels: bool = False,
) -> Any:
    """Ask trained models about ``X``: their predictions as an `Ensemble`.

    Parameters
    ----------
    models : model, or sequence or mapping of models
        The keys of a mapping are the names of the members.

        - torch modules, a ``ModuleList`` or ``ModuleDict`` of them, also Hugging Face models
          (``.logits`` is read); one module with dropout is
          asked ``n_samples`` times with dropout switched on (MC dropout; each instance has its own
          masks, and batch normalization stays as it is). They are asked where they are, on their
          device; modes, gradients and random state are restored.
        - scikit-learn: one ensemble (forest, extra trees, bagging, soft voting,
          `~sklearn.calibration.CalibratedClassifierCV`, also inside
          `~sklearn.model_selection.GridSearchCV` and pipelines) by its members; a list of any
          classifiers, such as ``cross_validate(..., return_estimator=True)["estimator"]``.
        - xgboost, lightgbm, catboost: lists of classifiers.
        - Keras models, ONNX Runtime sessions, and functions from a batch to scores (flax: ``lambda
          x: net.apply(params, x)``).

        One model alone is one member: its epistemic uncertainty is 0.
    X : array, table, mapping of arrays, or loader
        Instances first. A loader gives batches: (inputs, labels), a mapping (``labels`` is taken
        out, the rest is passed by name, or as it is to a model with one parameter of another
        name), or inputs alone; it is read once, all models see each batch. For a
        progress bar wrap it: ``rich.progress.track(loader)``.
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
        Number of dropout samples of each module (default for one module: 50).
    extra_modules : sequence of classes
        For dropout: further modules to switch to training mode, such as one that calls
        ``torch.nn.functional.dropout`` itself.
    batch_size : int, optional
        Rows of an array at a time; defaults to 1024 for networks.
    rng : int, numpy.random.Generator or None
        For dropout.
    return_labels : bool
        Return ``(q, y_true)`` with the labels of the loader.

    Returns
    -------
    Ensemble or MultiLabelEnsemble, with ``return_labels`` (q, y_true)
        ``probs`` (M, N, ..., K); a tensor if ``X`` is one, otherwise NumPy. **Two classes**: where
        a model gives one number for each instance, shape (N,) or (N, 1), it is the probability (or
        logit) of the second class, and the result has K = 2 classes. The index of a table ``X`` is
        kept as ``ids``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0]], ["no", "no", "yes"]
    >>> models = [LogisticRegression(C=c).fit(X, y) for c in (0.1, 1, 10)]
    >>> q = lw.from_models(models, [[0.5], [1.5]])
    >>> q.probs.shape, q.class_names
    ((3, 2, 2), ('no', 'yes'))
    """
    if activation is not None:
        check_choice(activation, "activation", ACTIVATIONS)
    if n_samples is not None:
        check_positive(n_samples, "n_samples")
    models, member_names = _models_and_names(models)
    adapter = _adapter_of(models, n_samples, extra_modules, as_seed(rng))
    member_names = member_names or adapter.member_names
    if is_loader(X):
        check_loader(X, return_labels)
        batches = loader_batches(X)
    elif return_labels:
        raise ValueError(
            "`return_labels` needs a loader that gives labels; `X` has none. You have the labels "
            "of an array already"
        )
    else:
        if batch_size is not None:
            check_positive(batch_size, "batch_size")
        batches = array_batches(X, batch_size or adapter.batch_size)
    scores, labels = _scores_of_models(adapter, batches)
    scores = _model_scores_classes_last(scores, class_axis)
    activation = activation or _activation_of_scores(scores, adapter)
    if scores.shape[-1] == 1:
        scores, activation = _scores_of_two_classes(scores, activation)
    if is_model_of(X, "torch", "Tensor"):
        scores = sys.modules["torch"].from_numpy(np.ascontiguousarray(scores)).to(X.device)
    names, order = order_of_model_classes(adapter.class_names, class_names)
    if order is not None and len(order) == scores.shape[-1]:
        scores = scores[..., order]
    if member_names is not None and len(member_names) < scores.shape[0]:  # dropout of each
        n_each = scores.shape[0] // len(member_names)
        member_names = [f"{name} / {i}" for name in member_names for i in range(n_each)]
    options = {
        "member_axis": 0,
        "weights": adapter.weights,
        "class_names": names,
        "member_names": member_names,
    }
    q: Ensemble | MultiLabelEnsemble
    if activation == "sigmoid":
        q = MultiLabelEnsemble.from_logits(scores, **options)
    else:
        probs = softmax_of_members(scores) if activation == "softmax" else scores
        q = Ensemble(probs, **options)
    if len(q.batch_shape) == 1:
        q = q.with_values(ids=row_labels(X))  # labels with the same index are matched by it
    if not return_labels:
        return q
    if labels is None:
        raise ValueError(
            "`return_labels` needs a loader that gives labels: batches (inputs, labels) or "
            "mappings with `labels`"
        )
    return q, labels


def _models_and_names(models: Any) -> tuple[Any, Sequence[str] | None]:
    """A model or a list of models, and the names of the members if there are any."""
    if is_model_of(models, "torch.nn", "ModuleDict") or isinstance(models, Mapping):
        return list(models.values()), list(map(str, models))
    if is_model_of(models, "torch.nn", "ModuleList"):
        models = list(models)
    return models, None


def _adapter_of(
    models: Any, n_samples: int | None, extra_modules: Sequence[type], seed: int
) -> Adapter:
    """The library of the models; nothing is imported that is not already in use."""
    single = not isinstance(models, list | tuple | np.ndarray)
    several = [models] if single else list(models)
    if not several:
        raise ValueError("`models` must hold at least one model; got none")

    def all_are(module: str, name: str) -> bool:
        return all(is_model_of(model, module, name) for model in several)

    if all_are("torch.nn", "Module"):
        from .torch_models import torch_adapter

        return torch_adapter(several, single, n_samples, extra_modules, seed)
    if n_samples is not None:
        kind = type(several[0]).__name__
        raise ValueError(f"`n_samples` is for dropout in torch modules; got {n_samples} for {kind}")
    # an estimator without predict_proba is refused with the reason
    estimators = all_are("sklearn.base", "BaseEstimator")
    if estimators or all(hasattr(model, "predict_proba") for model in several):
        from .sklearn_models import sklearn_adapter

        return sklearn_adapter(several, single=single)
    predict: Callable[[Any, Batch], Any]
    if all_are("keras", "Model"):
        predict = scores_of_keras_model
    elif all_are("onnxruntime", "InferenceSession"):
        predict = scores_of_session
    elif all(callable(model) and not isinstance(model, type) for model in several):
        predict = _scores_of_function
    else:
        raise TypeError(
            "`models` must be torch modules, classifiers with predict_proba, Keras models, "
            "ONNX Runtime sessions or functions, all of one kind; got "
            + ", ".join(sorted({type(model).__name__ for model in several}))
        )
    return Adapter(each_model(several, predict), "unknown", batch_size=1024)


def _scores_of_function(function: Any, batch: Batch) -> Any:
    fitted = batch.fitted_to(function)
    return function(*fitted.args, **fitted.kwargs)


def is_model_of(model: Any, module: str, name: str) -> bool:
    """Whether ``model`` is of a class of a library, which is not imported for the question."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)


def _scores_of_models(
    adapter: Adapter, batches: Iterable[Batch]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The scores of all members, (M, N, ...), and the labels."""
    scores: list[np.ndarray] = []
    labels = []
    with adapter.running():
        for batch in batches:
            outputs = list(map(to_numpy, adapter.predict(batch)))
            shape, *others = sorted({output.shape for output in outputs})
            if others:
                raise ValueError(
                    f"the models must give outputs of one shape; got {shape} and {others[0]}"
                )
            if shape[:1] != (len(batch),):
                raise ValueError(
                    "the models must give one row of scores per instance; got shape "
                    f"{shape} for {len(batch)} instances"
                )
            if scores and scores[0].shape[2:] != shape[1:]:
                raise ValueError(
                    "the batches give outputs of different shapes; pad the inputs to one length"
                )
            scores.append(np.stack(outputs))
            if batch.labels is not None:
                labels.append(plain_labels(batch.labels, "labels of the loader"))
    if not scores:
        raise ValueError("`X` must hold at least one instance; the loader gave no batch")
    return np.concatenate(scores, axis=1), np.concatenate(labels) if labels else None


def _model_scores_classes_last(scores: np.ndarray, class_axis: int) -> np.ndarray:
    """Scores (M, N, ..., K); K is 1 where a model gives one number for each instance."""
    if scores.dtype.kind not in "f":
        raise TypeError(
            f"the models must give floating-point scores; got {scores.dtype}. Labels have no "
            "probabilities"
        )
    if scores.dtype == np.float16:
        scores = scores.astype(np.float32)
    if scores.ndim == 2:
        return scores[..., None]
    axis = class_axis
    if class_axis >= 0:
        axis += 1  # the members came before it
    if not -scores.ndim + 2 <= axis < scores.ndim or axis == 1:
        raise ValueError(
            f"`class_axis` must be an axis of the models' output {scores.shape[1:]}, not its "
            f"first; got {class_axis}"
        )
    return np.moveaxis(scores, axis, -1)


def _activation_of_scores(scores: np.ndarray, adapter: Adapter) -> str:
    """What the library says, checked against the values, or what they say themselves."""
    if adapter.multilabel:
        return "sigmoid"
    one_output, probs = scores.shape[-1] == 1, scores
    if one_output:  # of the second of two classes
        probs = np.concatenate([1 - scores, scores], axis=-1)
    sums = probs.sum(-1)
    rows = tuple(range(1, sums.ndim))
    are_probs = (np.abs(sums - 1) < 1e-3).all(axis=rows) & (probs >= 0).all(axis=(*rows, -1))
    if sums[0].size >= (FEW_OUTPUTS if one_output else FEW_ROWS):
        _check_models_alike(are_probs, adapter)
    found = f"sums range from {sums.min():.4g} to {sums.max():.4g}"
    if adapter.scores == "unknown" and not are_probs.all():
        raise ValueError(
            f"the models give values that are no probabilities ({found}). Pass "
            "activation='softmax' for logits, or activation='sigmoid' for the logit of the second "
            "of two classes, or for labels that may occur together"
        )
    if adapter.scores != "logits":
        return "none"
    if are_probs.all() and one_output:
        raise ValueError(
            "the models give one output between 0 and 1: pass activation='none' if it is the "
            "probability of the second class, activation='sigmoid' if it is its logit"
        )
    if are_probs.all():
        warnings.warn(
            "The models give values that are not negative and sum to 1, so they are taken as "
            "probabilities, without a softmax. "
            "Pass activation='none' to say so, or activation='softmax' if they are logits all the "
            "same",
            stacklevel=3,
        )
        return "none"
    if one_output:
        return "sigmoid"
    if scores.size >= FEW_OUTPUTS and 0 <= scores.min() < scores.max() <= 1:
        raise InputError(
            "the models give values between 0 and 1 that do not sum to 1 over the classes "
            f"({found}): a sigmoid seems to have been taken already",
            fix="sigmoid_taken",
        )
    return "softmax"


def _scores_of_two_classes(second: np.ndarray, activation: str) -> tuple[np.ndarray, str]:
    """Scores of two classes (M, N, ..., 2) from those of the second, (M, N, ..., 1)."""
    if activation == "softmax":
        raise ValueError(
            "a softmax of one output is always 1; pass activation='sigmoid' for the logit of the "
            "second class"
        )
    if activation == "sigmoid":
        return np.concatenate([np.zeros_like(second), second], axis=-1), "softmax"
    return np.concatenate([1 - second, second], axis=-1), "none"


def _check_models_alike(are_probs: np.ndarray, adapter: Adapter) -> None:
    """Refuse members of which some (M,) give probabilities and others logits: one activation would
    be wrong for either.
    """
    if adapter.scores == "probabilities" or are_probs.all() or not are_probs.any():
        return
    raise InputError(
        "the models must all give probabilities, or all logits; of those numbered from 0, "
        f"{listed(np.flatnonzero(are_probs).tolist())} give probabilities, "
        f"{listed(np.flatnonzero(~are_probs).tolist())} logits. "
        "Take the softmax or sigmoid out of the first, or apply it in the others too"
    )
