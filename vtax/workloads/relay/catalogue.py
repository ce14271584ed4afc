"""What campaigns of relays are compared in: the time of an iteration, and how many failed."""

from vtax.model.catalogue import Catalogue, Facet
from vtax.model.runs import COMPARED, RUNS

CATALOGUE = Catalogue(kind="relay", reading=RUNS, metrics=COMPARED, shown=COMPARED, facet=Facet.RUNS)
