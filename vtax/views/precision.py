"""Whether intervals became as narrow as a scenario with `precision` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.views.cells import Setting
from vtax.views.estimate import Estimate
from vtax.views.provenance import Provenance
from vtax.views.throughput import Maximum, Throughput


@dataclass(frozen=True)
class Reached:
    """An interval that was to become narrow: its width as a share of the estimate, None where it has no bounds."""

    platform: str
    setting: Setting
    intended_mbps: float | None
    received_mbps: Estimate
    width: float | None
    wanted: float
    reached: bool


def precision_reached(
    provenance: Provenance, throughput: Sequence[Throughput], maxima: Sequence[Maximum]
) -> list[Reached]:
    """A row for each interval that the campaign was to make narrow; none without `precision`."""
    if not provenance.precision:
        return []
    wanted = float(provenance.precision["relative_width"])
    rows: Sequence[Throughput | Maximum] = maxima if provenance.precision["of"] == "maximum" else throughput
    return [_reached(row, wanted) for row in rows]


def _reached(row: Throughput | Maximum, wanted: float) -> Reached:
    width = row.received_mbps.relative_width
    return Reached(
        platform=row.platform,
        setting=row.setting,
        intended_mbps=row.intended_mbps,
        received_mbps=row.received_mbps,
        width=width,
        wanted=wanted,
        reached=width is not None and width <= wanted,
    )
