"""The kinds of workload that a campaign can measure: a line each."""

from vtax.campaign.bulk.workload import BulkWorkload
from vtax.campaign.echo.workload import EchoWorkload
from vtax.campaign.forwarding.workload import ForwardingWorkload
from vtax.campaign.program.workload import ProgramWorkload
from vtax.campaign.relay.workload import RelayWorkload
from vtax.campaign.requests.workload import RequestsWorkload
from vtax.campaign.workload import Workload
from vtax.scenario import Scenario

WORKLOADS: dict[str, type[Workload]] = {
    "forwarding": ForwardingWorkload,
    "bulk": BulkWorkload,
    "echo": EchoWorkload,
    "requests": RequestsWorkload,
    "relay": RelayWorkload,
    "program": ProgramWorkload,
}
"""By the key `workload.kind`."""


def workload_of(scenario: Scenario, cpus: dict[str, list[int]]) -> Workload:
    """Return the workload of a scenario, on a machine of such CPUs by role."""
    return WORKLOADS[scenario.file.workload.kind](scenario, cpus)
