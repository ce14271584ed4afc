"""What scenarios may say of each kind of workload."""

from vtax.keys.workload import WorkloadKeys
from vtax.workloads.bulk.keys import Bulk
from vtax.workloads.echo.keys import Echo
from vtax.workloads.forwarding.keys import Forwarding
from vtax.workloads.program.keys import Program
from vtax.workloads.relay.keys import Relay
from vtax.workloads.requests.keys import Requests

Workload = Forwarding | Bulk | Echo | Requests | Relay | Program
"""Told apart by their key `kind`."""

KINDS: dict[str, type[WorkloadKeys]] = {
    "forwarding": Forwarding,
    "bulk": Bulk,
    "echo": Echo,
    "requests": Requests,
    "relay": Relay,
    "program": Program,
}
"""By the key `workload.kind`."""
