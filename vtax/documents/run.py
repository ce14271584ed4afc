"""The document of `vtax run`."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import Document, Part
from vtax.documents.show import Show


class Unusable(Part):
    """A cell without a usable trial."""

    cell: str
    """The cell: every factor and its level."""
    reason: str
    """Reason why it has none."""


class Run(Document):
    """Result of a campaign that has ended, and the cells without a usable trial."""

    format_version: Literal[2] = 2
    """Version of the document's form."""
    directory: str
    """Directory of the result."""
    report: str | None
    """The report; null where it could not be written."""
    unusable: list[Unusable]
    """Cells without a usable trial."""
    summary: Show
    """Numbers of the result, as `vtax show` has them."""
