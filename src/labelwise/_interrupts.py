"""Ctrl-C before and after the command itself: while it is still imported, and while Python shuts
down.

This is the first module that the package imports. In any other program than the command it does
nothing.
"""

from __future__ import annotations

# Nothing but what Python has loaded anyway: until this module is through, Ctrl-C shows a traceback.
import os
import signal
import sys

__all__ = ["INTERRUPTED", "interrupts_raised_as_usual"]

INTERRUPTED = 130
"""Exit code: 128 and the number of the signal, as shells say it."""


def _exit_on_interrupt(*_: object) -> None:
    """Nothing has been written yet, or all has: there is nothing to clean up, and no traceback that
    would help.
    """
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


def _interrupt_ends_the_command() -> bool:
    """Whether this process is ``labelwise …`` or ``python -m labelwise …``, and not a program that
    imports the package, nor a worker.

    ``labelwise-lab`` is the command too.
    """
    typed = sys.orig_argv
    if sys.argv[:1] == ["-m"]:  # while Python looks for the module
        modules = ("labelwise", "labelwise_lab")
        return any(f"-m{module}" in typed for module in modules) or (
            "-m" in typed and typed[typed.index("-m") + 1] in modules
        )
    script = sys.argv[0] if sys.argv else ""
    return script in typed and os.path.splitext(os.path.basename(script))[0] in (
        "labelwise",
        "labelwise-lab",
    )


class interrupts_raised_as_usual:
    """Let Ctrl-C raise KeyboardInterrupt inside the block, where it is handled."""

    def __enter__(self) -> None:
        self.ours = signal.getsignal(signal.SIGINT) is _exit_on_interrupt
        if self.ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *error: object) -> None:
        if self.ours:
            signal.signal(signal.SIGINT, _exit_on_interrupt)


# A shell that starts a job in the background lets it ignore Ctrl-C: then it stays ignored.
if _interrupt_ends_the_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _exit_on_interrupt)
