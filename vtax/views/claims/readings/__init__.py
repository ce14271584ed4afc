"""What a result has of each quantity that claims are about, read once each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vtax.model.catalogue import Catalogue, Facet
from vtax.model.quantity import Quantity
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.views.claims.readings import cells, maxima, runs, stages
from vtax.views.claims.sample import Sample
from vtax.views.provenance import Provenance
from vtax.views.served import Served

__all__ = ["CLAIMS", "COORDINATES", "OF_KIND", "QUANTITIES", "Quantity", "read_samples"]

Samples = Mapping[str, Sequence[Sample]]
"""Samples by the name of their quantity."""
Reader = Callable[[Result, Provenance], Samples]

_FURTHER: Mapping[Facet | None, tuple[Reader, tuple[Quantity, ...]]] = {
    Facet.LOADS: (maxima.read, ()),
    Facet.RUNS: (runs.read, runs.QUANTITIES),
}
"""Of facets that have quantities which are no cell's own: what reads them, and those that no catalogue names."""


def _further(catalogue: Catalogue) -> tuple[Reader, tuple[Quantity, ...]]:
    return _FURTHER.get(catalogue.facet, (lambda result, provenance: {}, ()))


OF_KIND = {
    kind: (*catalogue.claimed, *_further(catalogue)[1], *stages.QUANTITIES)
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
    catalogue = CATALOGUES[provenance.kind]
    own, (further, _) = cells.read(catalogue, result, provenance), _further(catalogue)
    return {**own, **further(result, provenance), **stages.read(result, provenance)}
