"""How fast the CPUs of a testbed's machines are before a trial and after it, by fixed work: the agent's `canary.*`.

A trial is compared with the others of its campaign on the same CPU. Cores that others share have two speeds from one
moment to the next (decision 78), which are within the bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from vtax.agent_api import AgentApi, CanaryOpenParams, CanaryReading
from vtax.machine.agent import UNTRUE, AgentBreach, AgentError
from vtax.results import Row, number, text, whole
from vtax.testbed.testbed import Aboard
from vtax.trial.observed import Observed, Speeds
from vtax.trial.verdict import Finding, Verdict

MOST_CPUS: Final = 8
"""A reading takes 5 ms of each."""
MOMENTS: Final = ("before", "after")
LEAST_READINGS: Final = 8
"""Of a CPU in earlier trials, for its median to be one."""

CHAIN_SUSPECT: Final = 1.2
PARALLEL_SUSPECT: Final = 2.5
LOAD_SUSPECT: Final = 2.0
KERNEL_SUSPECT: Final = 1.8
"""How many times the campaign's median each kind of work may take."""
BOUNDS: Final = {
    "chain_ns": ("a chain of multiplications", CHAIN_SUSPECT),
    "parallel_ns": ("additions", PARALLEL_SUSPECT),
    "load_ns": ("a load from memory", LOAD_SUSPECT),
    "system_call_ns": ("a system call", KERNEL_SUSPECT),
    "frame_ns": ("a frame through the kernel", KERNEL_SUSPECT),
}
"""Each kind of work in words, with its bound."""


@dataclass(frozen=True)
class _MachineCpus:
    """CPUs of a machine, and the agent that does the work on them."""

    api: AgentApi
    cpus: list[int]

    def check(self, found: Sequence[CanaryReading]) -> Sequence[CanaryReading]:
        """Return the readings, which have to be of these CPUs; raises AgentBreach."""
        if (cpus := [reading.cpu for reading in found]) != self.cpus:
            problem = f"readings: of CPUs {cpus}, not {self.cpus}"
            raise AgentBreach(self.api.agent, "answered canary.read", problem, UNTRUE)
        return found


class Canary:
    """Does the work on the machines of a testbed; `refused` says why where that cannot be, by machine."""

    def __init__(self) -> None:
        self._machines: dict[str, _MachineCpus] = {}
        self.refused: dict[str, str] = {}

    def open(self, aboard: Mapping[str, Aboard]) -> None:
        """Prepare the work on the CPUs that have roles on each machine, the first eight of them."""
        self._machines, self.refused = {}, {}
        for machine, who in aboard.items():
            of_machine = _MachineCpus(who.host.api(who.agent), who.cpus[:MOST_CPUS])
            try:
                of_machine.api.canary_open(CanaryOpenParams(cpus=of_machine.cpus))
                of_machine.api.canary_read()
                self._machines[machine] = of_machine
            except AgentError as error:
                self.refused[machine] = str(error)

    def read(self) -> Speeds:
        """Do the work on all machines at once, on one CPU of each after the other. Raises AgentBreach.

        Those where it is refused are left out.
        """
        begun = {name: of_machine.api.begin_canary_read() for name, of_machine in self._machines.items()}
        return {name: self._machines[name].check(reply().readings) for name, reply in begun.items()}


class Band:
    """How long the work took in a campaign's trials so far, by machine, CPU and kind of work."""

    def __init__(self) -> None:
        self._ns: defaultdict[tuple[str, int, str], list[float]] = defaultdict(list)

    def add(self, rows: Iterable[Row]) -> None:
        """Take note of a committed trial's rows of `canary`."""
        for row in rows:
            for work in BOUNDS:
                if row[work] is not None:
                    self._ns[text(row["host"]), whole(row["cpu"]), work].append(number(row[work]))

    def median_ns(self, machine: str, cpu: int, work: str) -> float | None:
        """Return the median of a kind of work on a CPU; None where there are too few readings."""
        earlier = self._ns.get((machine, cpu, work), [])
        return median(earlier) if len(earlier) >= LEAST_READINGS else None


def canary_rows(observed: Observed) -> list[Row]:
    """Return a trial's rows of `canary`."""
    return [
        {
            "host": machine,
            "cpu": reading.cpu,
            "moment": moment,
            **{work: getattr(reading, work) for work in BOUNDS},
        }
        for moment, speeds in zip(MOMENTS, observed.canary or (), strict=False)
        for machine, readings in speeds.items()
        for reading in readings
    ]


def canary_findings(observed: Observed, band: Band) -> Iterator[Finding]:
    """Find the CPUs that were slower around a trial than around the campaign's others, each by its slowest work."""
    for row in canary_rows(observed):
        machine, cpu = text(row["host"]), whole(row["cpu"])
        slowdowns = {
            work: number(row[work]) / usual_ns / bound
            for work, (_, bound) in BOUNDS.items()
            if (usual_ns := band.median_ns(machine, cpu, work))
        }
        worst = max(slowdowns, key=lambda work: slowdowns[work], default=None)
        if worst is not None and slowdowns[worst] > 1:
            words, bound = BOUNDS[worst]
            yield (
                Verdict.SUSPECT,
                f"CPU {cpu} of {machine} was slow {row['moment']} the trial: {words} took "
                f"{slowdowns[worst] * bound:.1f} times as long as the campaign's median",
            )
