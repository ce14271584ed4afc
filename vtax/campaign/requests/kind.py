"""Kind `requests` of a campaign: response times between a guest and whoever asks it."""

from collections.abc import Sequence
from typing import Any

from vtax.campaign.ends import EndsTestbed
from vtax.campaign.ends_kind import EndsKind
from vtax.campaign.guest import is_broken
from vtax.campaign.kind import Finished, settings_of
from vtax.campaign.requests.judge import judge
from vtax.campaign.requests.path import RequestsPath
from vtax.campaign.requests.rows import headline, record
from vtax.campaign.requests.trial import Exchanged, measure
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import Probe, presets
from vtax.results import TrialRecord
from vtax.scenario import Cell, Scenario
from vtax.testbed.pair import PairTestbed


class Kind(EndsKind):
    """See vtax.campaign.kind.Kind."""

    path_class = RequestsPath

    def check(self, scenario: Scenario, cells: Sequence[Cell]) -> None:
        """Also that two guests of one host are two."""
        super().check(scenario, cells)
        known = presets()
        for cell in cells:
            placement = cell.requests.placement
            if placement == "intra-host" and known[cell.platform].platform().port == "wire":
                problem = (
                    f"{cell.platform} is the host itself and has no two guests; "
                    "allowed with it: guest-to-peer, inter-host"
                )
                raise scenario.error("placement", placement, problem)

    def testbed(self, cell: Cell, owned: OwnershipRecord) -> EndsTestbed:
        """Of two ends, placed as the cell says."""
        return PairTestbed(settings_of(cell, self.cpus), cell.requests.placement, owned)

    def measure(
        self, path: RequestsPath, cell: Cell, number: int, guests: dict[str, dict[str, Any]], probe: Probe
    ) -> Finished:
        """As fast as answers come, or as often as the rate says."""
        measured = measure(path, cell, number, guests, emulated=probe.emulated)
        broken = measured.failure is not None or is_broken(measured)
        return Finished(measured, judge(measured), headline(measured), broken)

    def record(
        self, path: RequestsPath, finished: Finished, place: dict[str, Any], environment: dict[str, Any]
    ) -> TrialRecord:
        """See vtax.campaign.requests.rows."""
        measured = finished.measured
        assert isinstance(measured, Exchanged)  # noqa: S101 - of its own making
        return record(measured, finished.judgement, place, environment)
