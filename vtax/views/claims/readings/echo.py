"""Of echoes: the mean round trip through a router."""

from __future__ import annotations

from vtax.results import Result
from vtax.views import numbers
from vtax.views.claims.levels import PlainLevel, held, levels
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import Sample
from vtax.views.echoes import read_echoes
from vtax.views.provenance import Provenance

ROUND_TRIP_NS = Quantity("round_trip_ns", "µs", numbers.microseconds)

QUANTITIES = (ROUND_TRIP_NS,)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell in which an echo was answered."""
    base = held(result)
    samples = []
    for row in read_echoes(result, provenance.names):
        own: dict[str, PlainLevel] = {
            "others": row.setting.others,
            "payload_bytes": row.setting.payload_bytes,
            "interval_ms": row.setting.interval_ms,
            "guests": row.guests,
        }
        if row.mean_by_block_ns:
            samples.append(
                Sample(
                    levels=levels(base, row.platform, own, row.setting.further),
                    emulated=provenance.platform(row.platform).emulated,
                    values=row.mean_by_block_ns,
                    recorded=row.recorded,
                    invalid=row.invalid,
                )
            )
    return {ROUND_TRIP_NS.name: samples}
