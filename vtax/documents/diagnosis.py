"""The document of `vtax diagnose`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vtax.documents.base import Count, Document, Estimate, Part, Share

CauseKind = Literal["taken", "spent", "waited", "dropped", "held back", "limited", "resent"]
Confidence = Annotated[float, Field(gt=0, lt=1)]


class Account(Part):
    """An account of the CPU ledger, as in the table `cpu`."""

    domain: str
    """Domain of the ledger."""
    guest: Count | None
    """Number of the guest, from 0; null where it is no guest's."""
    component: str
    """Component of the domain."""


class Loss(Part):
    """A significant loss of throughput, or a significant gain of delay."""

    quantity: str
    """The quantity, whose unit ends its name."""
    lost: Estimate
    """Amount by which the cell is worse than its reference, in the quantity's unit."""
    measured: Estimate
    """Mean of the cell over the blocks that both have, in the quantity's unit."""
    reference: Estimate
    """Mean of the reference over these blocks, in the quantity's unit."""


class Cause(Part):
    """Something of which the cell has significantly more than its reference."""

    kind: CauseKind
    """Kind of the cause; docs/diagnose.md explains each."""
    more: Estimate
    """Amount that the cell has more of it."""
    unit: str
    """Unit of `more`."""
    loss_share: Share | None
    """Share of the loss that it explains and no cause before it does; null where that cannot be decided."""
    account: Account | None
    """Whose CPU time it is; null where it is no CPU time."""
    hop: str | None
    """The hop that dropped frames; null for other kinds."""
    reason: str | None
    """The reason recorded at the hop, or the mark of the trials; null where there is none."""


class DiagnosedCell(Part):
    """A cell with a significant loss."""

    cell: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    emulated: bool
    """True where its CPU is emulated, so that it is compared with other emulated platforms alone."""
    levels: dict[str, str]
    """Levels of the factors that the campaign varies, by factor."""
    reference: str
    """The cell that it is compared with."""
    losses: list[Loss]
    """The losses; the causes explain the first."""
    causes: list[Cause]
    """Causes of the first loss, the one that explains most first."""
    symptoms: list[Cause]
    """Places where the loss shows as well, and which explain nothing further."""
    unexplained_share: Share
    """Share of the first loss without a cause."""
    missing: list[str]
    """Data that were not recorded and would explain more, with what records them."""
    note: str | None
    """The most frequent reason that its trials report; null where they report none."""
    text: str
    """The diagnosis in sentences."""


class NotCompared(Part):
    """A cell that could not be compared."""

    cell: str
    """The cell: every factor and its level."""
    reason: str
    """Reason why it could not be compared."""


class DiagnosedCells(Part):
    """The cells with a significant loss, and those that could not be compared."""

    findings: list[DiagnosedCell]
    """The cells with a significant loss, in the order of platforms and levels."""
    compared: Count
    """Cells that were compared with a reference."""
    confidence: Confidence
    """Confidence of the intervals of losses, corrected for all comparisons."""
    not_compared: list[NotCompared]
    """Cells that could not be compared."""


class Diagnosis(DiagnosedCells, Document):
    """Losses of throughput and gains of delay with their causes (docs/diagnose.md)."""

    format_version: Literal[2] = 2
    """Version of the document's form."""
