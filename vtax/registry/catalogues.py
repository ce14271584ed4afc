"""What views know of each kind of workload."""

from vtax.model.catalogue import Catalogue
from vtax.workloads.bulk.catalogue import CATALOGUE as BULK
from vtax.workloads.echo.catalogue import CATALOGUE as ECHO
from vtax.workloads.forwarding.catalogue import CATALOGUE as FORWARDING
from vtax.workloads.program.catalogue import CATALOGUE as PROGRAM
from vtax.workloads.relay.catalogue import CATALOGUE as RELAY
from vtax.workloads.requests.catalogue import CATALOGUE as REQUESTS

CATALOGUES: dict[str, Catalogue] = {
    each.kind: each for each in (FORWARDING, BULK, ECHO, REQUESTS, RELAY, PROGRAM)
}
"""By the key `workload.kind`."""
