"""Monte Carlo dropout (Gal & Ghahramani 2016): dropout stays on while predicting, each pass is a
member.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn
from torch.nn.modules.dropout import _DropoutNd


def dropout_layers(model: nn.Module, extra_modules: Sequence[type[nn.Module]]) -> list[nn.Module]:
    """The modules of ``model`` for which training mode means dropout and nothing else.

    Besides the dropout layers these are attention and recurrent layers, which drop inside; a
    transformer's encoder layer itself must be switched with them, because in evaluation mode it
    takes a short cut past its dropout layers.
    """
    found, encoder_layers = [], []
    for module in model.modules():
        drops = (
            (isinstance(module, _DropoutNd) and module.p > 0)
            or (isinstance(module, nn.MultiheadAttention) and module.dropout > 0)
            or (isinstance(module, nn.RNNBase) and module.dropout > 0 and module.num_layers > 1)
        )
        if drops or isinstance(module, tuple(extra_modules)):
            found.append(module)
        if isinstance(module, nn.TransformerEncoderLayer):
            encoder_layers.append(module)
    return found and found + encoder_layers
