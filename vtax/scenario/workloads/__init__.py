"""The kinds of workload: what the platforms do in a trial. A kind is a module with its keys."""

from vtax.scenario.workloads.base import Refusal, WorkloadKeys
from vtax.scenario.workloads.bulk import Bulk
from vtax.scenario.workloads.forwarding import Forwarding

__all__ = ["KINDS", "Bulk", "Forwarding", "Refusal", "Workload", "WorkloadKeys"]

Workload = Forwarding | Bulk
"""Told apart by their key `kind`."""

KINDS: dict[str, type[WorkloadKeys]] = {"forwarding": Forwarding, "bulk": Bulk}
