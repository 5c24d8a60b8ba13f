"""Monte Carlo dropout (Gal & Ghahramani 2016): dropout stays on while predicting, each pass is a member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from .._validation import as_seed, check_positive
from ..distributions import Ensemble
from ._forward import as_input, check_model, evaluating, like_input, run, seeded


def dropout_layers(model: nn.Module, also: Sequence[type[nn.Module]] = ()) -> list[nn.Module]:
    """The modules of ``model`` for which training mode means dropout and nothing else.

    Besides the dropout layers these are attention and recurrent layers, which drop inside; a transformer's encoder layer
    itself must be switched with them, because in evaluation mode it takes a short cut past its dropout layers.
    """
    found = []
    for module in model.modules():
        drops = (
            (isinstance(module, _DropoutNd) and module.p > 0)
            or (isinstance(module, nn.MultiheadAttention) and module.dropout > 0)
            or (isinstance(module, nn.RNNBase) and module.dropout > 0 and module.num_layers > 1)
        )
        if drops or isinstance(module, tuple(also)):
            found.append(module)
    if found:
        found += [module for module in model.modules() if isinstance(module, nn.TransformerEncoderLayer)]
    return found


def mc_dropout(
    model: nn.Module,
    x: Any,
    *,
    n_samples: int = 50,
    rng: int | np.random.Generator | None = 0,
    batch_size: int = 1024,
    outputs: str = "logits",
    class_axis: int = -1,
    also: Sequence[type[nn.Module]] = (),
    class_names: Sequence[str] | None = None,
) -> Ensemble:
    """Predict ``n_samples`` times with dropout switched on: a sample of the posterior predictive, as an ensemble.

    Only dropout layers are switched to training mode: batch normalization uses its running statistics and does not change them. Afterwards
    all modules are in the mode they were in, and torch's random state is what it was. Every instance has its own dropout masks, so a member
    is not one network, but each instance has its n_samples draws.

    Parameters
    ----------
    model : torch.nn.Module
        Any classifier with dropout: `torch.nn.Dropout` and its relatives, attention and recurrent layers with ``dropout > 0``.
    x : array or tensor (N, ...)
        Instances first. A NumPy array gives NumPy probabilities, a tensor a tensor (on its device).
    n_samples, batch_size : int
    rng : int, Generator or None
        Random seed or generator. The same seed, ``n_samples`` and ``batch_size`` give the same result on the same machine.
    outputs : {"logits", "probabilities"}
        What the model returns. (Log-probabilities are logits.)
    class_axis : int
        Where the classes are in the model's output: 1 for segmentation, (N, K, height, width).
    also : sequence of module classes
        Further modules to switch to training mode, for instance one that calls ``torch.nn.functional.dropout`` itself.
    class_names : sequence of str, optional

    Returns
    -------
    Ensemble
        ``probs`` of shape (n_samples, N, ..., K).

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))
    >>> q = mc_dropout(model, np.ones((2, 4)), n_samples=10)
    >>> q.probs.shape
    (10, 2, 3)
    """
    check_model(model)
    n_samples, batch_size, seed = check_positive(n_samples, "n_samples"), check_positive(batch_size, "batch_size"), as_seed(rng)
    if outputs not in ("logits", "probabilities"):
        raise ValueError(f"`outputs` must be 'logits' or 'probabilities'; got {outputs!r}")
    layers = dropout_layers(model, also)
    if not layers:
        raise ValueError(
            "`model` has no dropout layer with p > 0, so all samples would be the same. Train it with dropout first; if it calls "
            "torch.nn.functional.dropout itself, name the class of that module in `also`"
        )
    x = as_input(x)
    with evaluating(model), seeded(seed):
        for layer in layers:
            layer.training = True
        samples = torch.stack([run(model, x, batch_size) for _ in range(n_samples)])
    axis = class_axis if class_axis < 0 else class_axis + 1  # the members came before it
    if not -samples.ndim + 2 <= axis < samples.ndim or axis == 1:
        raise ValueError(f"`class_axis` must be an axis of the model's output {tuple(samples.shape[1:])}, not its first; got {class_axis}")
    options: dict[str, Any] = {"member_axis": 0, "class_axis": axis, "class_names": class_names}
    values = like_input(samples, x)
    if outputs == "probabilities":
        return Ensemble(values, **options)
    _refuse_probabilities(samples, axis)
    return Ensemble.from_logits(values, **options)


def _refuse_probabilities(samples: torch.Tensor, axis: int) -> None:
    """A softmax of probabilities is a prediction too, but never the one that was meant."""
    if bool((samples >= 0).all()) and bool(((samples.sum(axis) - 1).abs() < 1e-3).all()):
        raise ValueError(
            "`model` returns values that are not negative and sum to 1: these are probabilities, not logits. Pass outputs='probabilities'"
        )
