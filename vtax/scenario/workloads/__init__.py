"""The kinds of workload: what the platforms do in a trial. A kind is a module with its keys."""

from vtax.scenario.workloads.base import Refusal, TimedKeys, WorkloadKeys
from vtax.scenario.workloads.bulk import Bulk
from vtax.scenario.workloads.echo import Echo
from vtax.scenario.workloads.forwarding import Forwarding
from vtax.scenario.workloads.program import Program
from vtax.scenario.workloads.relay import Relay
from vtax.scenario.workloads.requests import Requests
from vtax.scenario.workloads.traced import TracedKeys

__all__ = [
    "KINDS",
    "Bulk",
    "Echo",
    "Forwarding",
    "Program",
    "Refusal",
    "Relay",
    "Requests",
    "TimedKeys",
    "TracedKeys",
    "Workload",
    "WorkloadKeys",
]

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
