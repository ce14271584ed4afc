"""All that may be behind a loss: its places, CPU time, waiting for it, and what was sent again.

By place and by CPU time are two accounts of the same throughput, each complete. A queue that waits for a CPU is only
where a lack of CPU time shows, so what CPU time explains of it is not explained once more by the queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from vtax.model.diagnosed import Diagnosed
from vtax.views.diagnosis.candidate import Candidate, CauseKind
from vtax.views.diagnosis.cpu_time import of_throughput, of_time
from vtax.views.diagnosis.effects import Affected, differences
from vtax.views.diagnosis.places import places


def candidates(affected: Affected, diagnosed: Diagnosed, cpus: int | None) -> list[Candidate]:
    """Those of a pair's first effect that differ at all; `cpus` is how many host and guests have, None if unknown."""
    return [found for found in _all(affected, diagnosed, cpus) if any(found.more.values())]


def _all(affected: Affected, diagnosed: Diagnosed, cpus: int | None) -> list[Candidate]:
    if affected.effects[0].quantity.is_time:
        return [*of_time(affected, diagnosed), *_resent(affected)]
    found = list(places(affected))
    waiting = sum(place.share or 0.0 for place in found if place.shows) if found else 1.0
    by_time = of_throughput(affected, diagnosed, min(1.0, max(0.0, waiting)), cpus)
    return [*found, *by_time, *_resent(affected)]


def _resent(affected: Affected) -> Iterator[Candidate]:
    """What a transport sent again: something was lost on its way."""
    if more := differences(affected.pair, lambda trials: trials.value("retransmissions")):
        yield Candidate(CauseKind.RESENT, more, "segments", None)
