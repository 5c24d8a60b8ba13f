"""Three small networks."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from model_cases import net


@pytest.fixture
def nets() -> list[nn.Module]:
    torch.manual_seed(0)
    return [net() for _ in range(3)]
