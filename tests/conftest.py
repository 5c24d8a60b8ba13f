"""Makes property tests repeatable, and the command's output the same with every click."""

from __future__ import annotations

import inspect
from functools import partialmethod

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
