"""Where an ensemble's disagreement comes from: named factors of its members, and how much each
explains.
"""

from __future__ import annotations

from .design import Factors, as_factors
from .find import find_sources
from .names import as_member_names, name_members, varying_factors
from .result import Sources

__all__ = [
    "Factors",
    "Sources",
    "as_factors",
    "as_member_names",
    "find_sources",
    "name_members",
    "varying_factors",
]
