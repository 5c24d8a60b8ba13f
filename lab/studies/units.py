"""Units of a long study, one line each: what is finished is not run again."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


def finished(path: Path) -> dict[str, dict[str, Any]]:
    """The records by their "unit"; a last line that was cut off is not one."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[record["unit"]] = record
    return found


def keep(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Add a finished unit."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        file.seek(0)
        text = file.read()
        if text and not text.endswith("\n"):  # cut off
            file.write("\n")
        file.write(json.dumps(record) + "\n")
    return record


def wait_while_paused() -> None:
    """Wait as long as the file exists that the environment variable LABELWISE_PAUSE names."""
    name = os.environ.get("LABELWISE_PAUSE")
    while name and Path(name).exists():
        time.sleep(1)
