"""Of requests: the mean response time."""

from __future__ import annotations

from vtax.results import Result
from vtax.views import numbers
from vtax.views.claims.levels import held, levels
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import Sample
from vtax.views.provenance import Provenance
from vtax.views.responses import read_responses

RESPONSE_TIME_NS = Quantity("response_time_ns", "µs", numbers.microseconds)

QUANTITIES = (RESPONSE_TIME_NS,)


def read(result: Result, provenance: Provenance) -> dict[str, list[Sample]]:
    """A sample a cell in which a request was answered."""
    base = held(result)
    samples = []
    for row in read_responses(result, provenance.names):
        own = {
            "transport": row.setting.transport,
            "placement": row.setting.placement,
            "response_bytes": row.setting.response_bytes,
            "requests_per_s": row.setting.requests_per_s,
            "guests": row.setting.guests,
            "message_bytes": row.message_bytes,
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
    return {RESPONSE_TIME_NS.name: samples}
