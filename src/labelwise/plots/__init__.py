"""Plots of results: ``plot_*(result, ax=None)`` draws on given or new axes and returns them. Needs
matplotlib.
"""

from __future__ import annotations

from .classes import plot_by_class
from .curves import plot_detection, plot_rejection, plot_reliability
from .decisions import plot_values
from .labels import plot_gallery, plot_labels
from .sources import plot_sources

__all__ = [
    "plot_by_class",
    "plot_detection",
    "plot_gallery",
    "plot_labels",
    "plot_rejection",
    "plot_reliability",
    "plot_sources",
    "plot_values",
]
