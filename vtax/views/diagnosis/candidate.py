"""Something that may be behind a loss, before chance is ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vtax.statistics.paired import ByBlock
from vtax.views.diagnosis.trials import Account


class CauseKind(StrEnum):
    """What a cause is. CPU time was `taken` by others, or `spent` on the work itself."""

    TAKEN = "taken"
    SPENT = "spent"
    WAITED = "waited"
    DROPPED = "dropped"
    HELD_BACK = "held back"
    LIMITED = "limited"
    RESENT = "resent"


@dataclass(frozen=True)
class Candidate:
    """A difference between a cell and its reference: `more` is how much more of it there was, by block, in `unit`.

    `share` is the part of the loss that it is, None where that cannot be told. What `shows` is where a lack of CPU time
    shows, and a loss that CPU time is `behind` shows there: it is explained once. `account`, `hop` and `reason` say
    what the difference is about.
    """

    kind: CauseKind
    more: ByBlock
    unit: str
    share: float | None
    shows: bool = False
    behind: bool = False
    account: Account | None = None
    hop: str | None = None
    reason: str | None = None
