"""Whether intervals became as narrow as a scenario with `precision` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.results import number
from vtax.statistics import Interval, relative_width
from vtax.views.goodput import Goodput
from vtax.views.provenance import Provenance
from vtax.views.stream_cells import level_label
from vtax.views.throughput import Maximum, Throughput


@dataclass(frozen=True)
class Reached:
    """An interval that was to become narrow: its width as a share of the estimate, None where it has no bounds.

    The width is that by the values' scatter, whatever bounded them: what more trials can make narrow.
    Of bulk streams `guests` tells how many there were, and `received_mbps` is their aggregate goodput.
    """

    platform: str
    setting: Setting
    intended_mbps: float | None
    guests: int | None
    received_mbps: Estimate
    width: float | None
    wanted: float
    reached: bool

    @property
    def level(self) -> str:
        """Its load, or number of guests, in a table."""
        return level_label(self.intended_mbps, self.guests)


def precision_reached(
    provenance: Provenance,
    throughput: Sequence[Throughput],
    maxima: Sequence[Maximum],
    goodput: Sequence[Goodput],
) -> list[Reached]:
    """A row for each interval that the campaign was to make narrow; none without `precision`."""
    if not provenance.precision:
        return []
    wanted = number(provenance.precision["relative_width"])
    rows: Sequence[Throughput | Maximum] = maxima if provenance.precision["of"] == "maximum" else throughput
    return [
        *(
            _reached(
                row.platform, row.setting, row.intended_mbps, None, row.received_mbps, row.scatter(), wanted
            )
            for row in rows
        ),
        *(
            _reached(row.platform, row.setting, None, row.guests, row.aggregate_mbps, row.scatter(), wanted)
            for row in goodput
        ),
    ]


def _reached(
    platform: str,
    setting: Setting,
    intended_mbps: float | None,
    guests: int | None,
    received_mbps: Estimate,
    scatter: Interval,
    wanted: float,
) -> Reached:
    width = relative_width(scatter)
    return Reached(
        platform=platform,
        setting=setting,
        intended_mbps=intended_mbps,
        guests=guests,
        received_mbps=received_mbps,
        width=width,
        wanted=wanted,
        reached=width is not None and width <= wanted,
    )
