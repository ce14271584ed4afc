"""What trials between agents at both ends have in common: whose CPUs else they depend on."""

from collections.abc import Collection, Iterator
from typing import ClassVar

from vtax.testbed.cpu_time import CpuCounters
from vtax.trial.endpoints.path import EndpointPath
from vtax.trial.interference import taken_findings
from vtax.trial.observed import Observed
from vtax.trial.verdict import Finding
from vtax.trial.window_trial import WindowTrial


class EndpointTrial(WindowTrial[EndpointPath]):
    """A trial between ends, of which some may be far guests and some bare."""

    far_end: ClassVar[str]
    """A far guest in words."""

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed)
        self.far_cpus: Collection[int] = ()
        """Where far guests run, if on CPUs of their own."""

    def count_far_end(self, path: EndpointPath) -> CpuCounters:
        """Count the CPU that bare far ends share."""
        return path.testbed.source.counters([path.far_end_cpu])

    def interference(self) -> Iterator[Finding]:
        """Yield what other processes took of far guests' CPUs."""
        if self.far_cpus:
            yield from taken_findings(self.observed, self.far_cpus, self.far_end)
