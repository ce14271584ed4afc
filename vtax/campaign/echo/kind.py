"""Kind `echo` of a campaign: round trips through one of the guests, which are routers."""

from vtax.campaign.echo.judge import judge
from vtax.campaign.echo.rows import headline, record
from vtax.campaign.echo.trial import measure
from vtax.campaign.ends import EndsPath
from vtax.campaign.ends_kind import EndsKind
from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished
from vtax.platforms import Probe
from vtax.scenario import Cell
from vtax.testbed.guest_state import GuestState


class Kind(EndsKind):
    """See vtax.campaign.kind.Kind."""

    def measure(
        self, path: EndsPath, cell: Cell, number: int, guests: dict[str, GuestState], probe: Probe
    ) -> Finished:
        """As often as the interval says."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        return Finished.of(measured, judge, headline, is_broken, record)
