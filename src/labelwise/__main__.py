"""``python -m labelwise``: the same as the command ``labelwise``."""

from __future__ import annotations

from .cli import main

if __name__ == "__main__":
    main(prog_name="labelwise")
