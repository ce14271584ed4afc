"""The document of `vtax doctor` and `vtax testbed check`."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import Document, Part


class Check(Part):
    """One capability of a machine, a link or a platform."""

    group: str
    """Section of the table that it is in, such as `machine` or `platforms`."""
    subject: str
    """The capability, unique in its group."""
    usable: bool
    """True where vtax can use it."""
    detail: str
    """State found, or the reason why it cannot be used."""
    fix: str | None
    """Command that makes it usable; null where none is needed, or none helps."""
    accelerator: str | None
    """Accelerator of a platform's guests, or `not probed`; null for anything else."""
    versions: dict[str, str]
    """Versions by program or kernel, as far as they are known without fetching anything."""


class Checks(Document):
    """Capabilities of a machine or a testbed, with a fix for each that is missing."""

    format_version: Literal[1] = 1
    """Version of the document's form."""
    checks: list[Check]
    """The checks, in the order of the table."""
