"""Ctrl-C ends the command with one word, from its first import on; other programs are left
alone.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals cannot be sent to a single process there"
)

SCRIPT = (
    "import sys\nfrom labelwise.cli import main\nsys.exit(main())\n"  # what an installer writes
)
# Signals as a terminal leaves them: a process inherits what earlier tests ignore.
IN_THE_FOREGROUND = (
    "import os, signal, sys\n"
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])\n"
    "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "os.execv(sys.argv[1], sys.argv[1:])\n"
)
# After the import of which module the signal comes; the last: when the command waits for its input.
MOMENTS = [
    "labelwise._interrupts",
    "numpy.version",
    "numpy._core.multiarray",
    "labelwise._errors",
    "click.types",
    "labelwise.cli",
    "stdin",
]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("start", ["module", "script"])
def test_interrupted_at_any_moment(start: str, moment: str, tmp_path) -> None:
    script = tmp_path / "labelwise"
    script.write_text(SCRIPT)
    how = ["-m", "labelwise"] if start == "module" else [str(script)]
    command = [sys.executable, "-X", "importtime", *how, "evaluate", "-"]
    command = [sys.executable, "-c", IN_THE_FOREGROUND, *command]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for line in process.stderr:
            imported = line.rpartition("|")[2].strip()
            if imported == moment:
                break
            if moment == "stdin" and imported == "labelwise.cli._input":
                time.sleep(0.5)
                break
        else:
            pytest.fail(f"{moment} is not imported")
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        code = process.wait()
        watchdog.cancel()
    lines = [line for line in said.splitlines() if line]  # click ends the line of ^C first
    assert [line for line in lines if not line.startswith("import time:")] == ["Interrupted."]
    # Where the signal comes inside `exec` of a string, as `dataclass` calls it, Python ends by the
    # signal whatever exit code it is told. A shell says 130 of both.
    assert code in (130, -signal.SIGINT)


def test_other_programs_keep_their_own_handling() -> None:
    script = (
        "import signal, labelwise.cli; assert signal.getsignal(signal.SIGINT) is "
        "signal.default_int_handler"
    )
    command = [sys.executable, "-c", IN_THE_FOREGROUND, sys.executable, "-c", script]
    subprocess.run(command, check=True, timeout=60)


def test_a_background_job_that_ignores_interrupts_goes_on(tmp_path) -> None:
    (tmp_path / "labelwise").write_text(
        "import signal, os\nimport labelwise.cli\nos.kill(os.getpid(), "
        "signal.SIGINT)\nprint(signal.getsignal(signal.SIGINT).name)\n"
    )
    # a shell sets the signal to be ignored: JAX, if it is loaded here, warns of a fork in this
    # process
    ignoring = [
        "sh",
        "-c",
        'trap "" INT; exec "$@"',
        "sh",
        sys.executable,
        str(tmp_path / "labelwise"),
    ]
    done = subprocess.run(ignoring, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "SIG_IGN\n")
