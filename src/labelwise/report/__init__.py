"""The explorer: predictions in, one self-contained HTML file out, to look at, to share and to decide from."""

from __future__ import annotations

from .write import Report, build_report, write_report

__all__ = ["Report", "build_report", "write_report"]
