"""The document of `vtax ab`."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import Document
from vtax.documents.comparison import Comparison
from vtax.documents.run import Unusable


class Ab(Document):
    """Verdicts of rules on two levels of a factor that were measured by turns (docs/ab.md)."""

    format_version: Literal[1] = 1
    """Version of the document's form."""
    directory: str
    """Directory of the result."""
    unusable: list[Unusable]
    """Cells without a usable trial."""
    comparison: Comparison | None
    """Comparison of the levels by the rules; null where one of them has no trial."""
