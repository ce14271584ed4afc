"""The workload that a scenario asks for."""

from vtax.registry.measures import WORKLOADS
from vtax.scenario import Scenario
from vtax.trial.workload import Workload


def workload_of(scenario: Scenario, cpus: dict[str, list[int]]) -> Workload:
    """Return the workload of a scenario, on a machine of such CPUs by role."""
    return WORKLOADS[scenario.file.workload.kind](scenario, cpus)
