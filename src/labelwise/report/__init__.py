"""Interactive reports: one self-contained HTML file about predictions."""

from __future__ import annotations

from .write import Report, build_report, write_report

__all__ = ["Report", "build_report", "write_report"]
