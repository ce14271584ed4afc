"""How campaigns measure each kind of workload."""

from vtax.trial.workload import Workload
from vtax.workloads.bulk.measure.workload import BulkWorkload
from vtax.workloads.echo.measure.workload import EchoWorkload
from vtax.workloads.forwarding.measure.workload import ForwardingWorkload
from vtax.workloads.program.measure.workload import ProgramWorkload
from vtax.workloads.relay.measure.workload import RelayWorkload
from vtax.workloads.requests.measure.workload import RequestsWorkload

WORKLOADS: dict[str, type[Workload]] = {
    "forwarding": ForwardingWorkload,
    "bulk": BulkWorkload,
    "echo": EchoWorkload,
    "requests": RequestsWorkload,
    "relay": RelayWorkload,
    "program": ProgramWorkload,
}
"""By the key `workload.kind`."""
