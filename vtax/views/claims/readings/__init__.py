"""What a result has of each quantity that claims are about, read once each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vtax.model.quantity import Quantity
from vtax.results import Result
from vtax.views.claims.readings import cells, forwarding, relay, stages
from vtax.views.claims.sample import Sample
from vtax.views.provenance import FORWARDING, PROGRAM, RELAY, Provenance
from vtax.views.served import Served
from vtax.workloads.catalogues import CATALOGUES

__all__ = ["CLAIMS", "COORDINATES", "OF_KIND", "QUANTITIES", "Quantity", "read_samples"]

Samples = Mapping[str, Sequence[Sample]]
"""Samples by the name of their quantity."""
Reader = Callable[[Result, Provenance], Samples]

_RUNS: tuple[Reader, tuple[Quantity, ...]] = relay.read, relay.QUANTITIES
_FURTHER: Mapping[str, tuple[Reader, tuple[Quantity, ...]]] = {
    FORWARDING: (forwarding.read, ()),
    RELAY: _RUNS,
    PROGRAM: _RUNS,
}
"""Of kinds that have quantities which are no cell's own: what reads them, and those that no catalogue names."""

OF_KIND = {
    kind: (*catalogue.claimed, *(_FURTHER[kind][1] if kind in _FURTHER else ()), *stages.QUANTITIES)
    for kind, catalogue in CATALOGUES.items()
}
"""The quantities that a workload of that kind can have; stages where its packets were followed."""
CLAIMS = Served("claims", OF_KIND, stages=True)
QUANTITIES = {each.name: each for quantities in OF_KIND.values() for each in quantities}
COORDINATES = {stages.STAGE_NS.name: stages.COORDINATES}
"""What a quantity's samples are told apart by that is no key of a scenario."""


def read_samples(result: Result, provenance: Provenance) -> Samples:
    """Return every cell's samples of each quantity; none of loads that a search chose for what it saw."""
    if provenance.search:
        return {}
    own = cells.read(CATALOGUES[provenance.kind], result, provenance)
    further = _FURTHER[provenance.kind][0](result, provenance) if provenance.kind in _FURTHER else {}
    return {**own, **further, **stages.read(result, provenance)}
