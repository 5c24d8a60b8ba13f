"""Makes property tests repeatable, and the command's output the same with every click; finds real
volumes, where they are there.
"""

from __future__ import annotations

import inspect
import os
from functools import partialmethod
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings

settings.register_profile(
    "labelwise",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("labelwise")

if (
    "mix_stderr" in inspect.signature(CliRunner).parameters
):  # before click 8.2, either `output` or `stderr` has the errors; since, both
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)
    Result.output = property(lambda self: self.stdout + self.stderr)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def medical() -> Path:
    """The folder medical/ of LABELWISE_DATA, or of ../shared/data beside the repository."""
    folder = Path(os.environ.get("LABELWISE_DATA", SHARED)) / "medical"
    if not (folder / "brats").is_dir():
        pytest.skip("no published volumes: set LABELWISE_DATA to a folder that holds medical/brats")
    return folder
