"""What the tests of wrong input share: a prediction, and the check that a message is a helpful
sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from labelwise._errors import InputError

NAMES = ["lung", "lymphoma", "melanoma"]
PROBS = np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.8, 0.1]]])
NUMPY_AND_TORCH = pytest.mark.parametrize(
    "lib", ["numpy", "torch"], indirect=True
)  # JAX compiles for each shape
LOGITS = np.array([[[2.0, -1.5, 0.0]], [[-3.0, 4.0, 1.0]]])


@contextmanager
def refused(error: type[Exception], *phrases: str) -> Iterator[None]:
    """The body raises ``error`` with a message that holds every phrase and does not trail off."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    for phrase in phrases:
        assert phrase in message
    assert type(caught.value) in (error, InputError)
    assert not message.endswith((".", " ", ";", ":"))
