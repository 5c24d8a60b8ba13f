"""torch modules as members, also Hugging Face models and networks with dropout; modes and random
state are restored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import nn

from ._adapter import Adapter, class_names_of_models, each_model
from ._batches import Batch
from .dropout import dropout_layers

DEFAULT_SAMPLES = 50


def torch_adapter(
    models: Sequence[nn.Module],
    single: bool,
    n_samples: int | None,
    extra_modules: Sequence[type[nn.Module]],
    seed: int,
) -> Adapter:
    """Modules in evaluation mode; with ``n_samples`` (or one module with dropout) that many members
    of each, with dropout switched on.
    """
    layers = [dropout_layers(model, extra_modules) for model in models]
    if n_samples is None and single and layers[0]:
        n_samples = DEFAULT_SAMPLES
    if n_samples is not None and not all(layers):
        raise ValueError(
            "`n_samples` needs dropout layers with p > 0 in every module; without them all samples "
            "would be the same. If a module calls "
            "torch.nn.functional.dropout itself, name its class in `extra_modules`"
        )

    @contextmanager
    def running() -> Iterator[None]:
        """Evaluation mode without gradients, dropout as it is wanted; afterwards every module is in
        the mode it was in, and torch's global generators go on as before.
        """
        modes = {module: module.training for model in models for module in model.modules()}
        try:
            for model in models:
                model.eval()
            if n_samples is not None:
                for layer in chain.from_iterable(layers):
                    layer.training = True
            with torch.no_grad(), torch.random.fork_rng(range(torch.cuda.device_count())):
                torch.manual_seed(seed)
                yield
        finally:
            for module, mode in modes.items():
                module.training = mode

    members = [model for model in models for _ in range(n_samples or 1)]
    names, multilabel = zip(*map(_huggingface_config, models), strict=True)
    return Adapter(
        each_model(members, _scores_of_module),
        "logits",
        class_names_of_models(names),
        batch_size=1024,
        running=running,
        multilabel=any(multilabel),
    )


def _scores_of_module(model: nn.Module, batch: Batch) -> torch.Tensor:
    weight = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    batch = batch.fitted_to(model.forward)
    args = [_input_for_module(part, weight) for part in batch.args]
    kwargs = {key: _input_for_module(part, weight) for key, part in batch.kwargs.items()}
    output = model(*args, **kwargs)
    scores = output
    for name in ("out", "logits"):  # torchvision, Hugging Face
        if isinstance(output, Mapping) and name in output:
            scores = output[name]
        elif hasattr(output, name):
            scores = getattr(output, name)
    if not isinstance(scores, torch.Tensor):
        raise TypeError(
            "the models must return a tensor of class scores, or an output with `logits`; got "
            f"{type(output).__name__}. "
            "Wrap them in a module whose forward returns the logits"
        )
    if scores.dtype == torch.bfloat16:  # which NumPy does not have
        return scores.float()
    return scores


def _input_for_module(part: Any, weight: torch.Tensor) -> Any:
    """An input on the device of the weights, floating-point numbers in their type; what is no array
    stays as it is.
    """
    if isinstance(part, np.ndarray) or type(part).__module__.partition(".")[0] == "pandas":
        array = np.ascontiguousarray(part)
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"`X` must hold numbers for torch modules; got an array of {array.dtype}. Encode "
                "text and categories first"
            )
        part = torch.tensor(array)
    if isinstance(part, Mapping):
        return {key: _input_for_module(value, weight) for key, value in part.items()}
    if not isinstance(part, torch.Tensor):
        return part
    if part.is_floating_point():
        return part.to(weight)
    return part.to(weight.device)


def _huggingface_config(model: nn.Module) -> tuple[tuple[str, ...] | None, bool]:
    """Class names and whether labels may occur together, from the configuration of a Hugging Face
    model.
    """
    config = getattr(model, "config", None)
    labels = getattr(config, "id2label", None)
    names = None
    if isinstance(labels, Mapping) and labels:
        names = tuple(str(labels[key]) for key in sorted(labels, key=int))
        if all(re.fullmatch(r"LABEL_\d+", name) for name in names):  # its default
            names = None
    return names, getattr(config, "problem_type", None) == "multi_label_classification"
