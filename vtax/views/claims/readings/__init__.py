"""What a result has of each quantity that claims are about: a module a kind of workload, read once each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from vtax.results import Result
from vtax.views.claims.readings import bulk, cells, forwarding, relay, stages
from vtax.views.claims.readings.quantity import Quantity
from vtax.views.claims.sample import Sample
from vtax.views.provenance import BULK, FORWARDING, PROGRAM, RELAY, Provenance
from vtax.views.served import Served
from vtax.workloads import CATALOGUES

__all__ = ["CLAIMS", "COORDINATES", "OF_KIND", "QUANTITIES", "Quantity", "read_samples"]

Samples = Mapping[str, Sequence[Sample]]
"""Samples by the name of their quantity."""
Reader = Callable[[Result, Provenance], Samples]

_READERS: dict[str, tuple[Reader, tuple[Quantity, ...]]] = {
    FORWARDING: (forwarding.read, forwarding.QUANTITIES),
    BULK: (bulk.read, bulk.QUANTITIES),
    **dict.fromkeys((RELAY, PROGRAM), (relay.read, relay.QUANTITIES)),
    **{
        kind: (partial(cells.read, catalogue), cells.quantities(catalogue))
        for kind, catalogue in CATALOGUES.items()
        if catalogue.claimed
    },
}

OF_KIND = {kind: (*quantities, *stages.QUANTITIES) for kind, (_, quantities) in _READERS.items()}
"""The quantities that a workload of that kind can have; stages where its packets were followed."""
CLAIMS = Served("claims", OF_KIND, stages=True)
QUANTITIES = {each.name: each for quantities in OF_KIND.values() for each in quantities}
COORDINATES = {stages.STAGE_NS.name: stages.COORDINATES}
"""What a quantity's samples are told apart by that is no key of a scenario."""


def read_samples(result: Result, provenance: Provenance) -> Samples:
    """Every cell's samples of each quantity of its workload; none of loads that a search chose for what it saw."""
    if provenance.search:
        return {}
    read, _ = _READERS[provenance.kind]
    return {**read(result, provenance), **stages.read(result, provenance)}
