"""Ctrl-C ends the command with one word."""

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


@pytest.mark.parametrize("start", ["module", "script"])
def test_interrupted_while_it_waits_for_its_input(start: str, tmp_path) -> None:
    script = tmp_path / "labelwise"
    script.write_text(SCRIPT)
    how = ["-m", "labelwise"] if start == "module" else [str(script)]
    command = [sys.executable, "-X", "importtime", *how, "evaluate", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        for line in process.stderr:
            if line.rpartition("|")[2].strip() == "labelwise.cli._input":
                time.sleep(0.5)
                break
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        code = process.wait()
        watchdog.cancel()
    assert [line for line in said.splitlines() if not line.startswith("import time:")] == [
        "Interrupted."
    ]
    assert code == 130
