"""Interactive reports: one self-contained HTML file about predictions."""

from __future__ import annotations

from .write import build_report, write_report

__all__ = ["build_report", "write_report"]
