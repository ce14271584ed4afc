"""How fast a machine's CPUs are before a trial and after it, by fixed work: the agent's `canary.*`.

A trial is compared with the others of its campaign on the same CPU. Cores that others share have two speeds from one
moment to the next (decision 78), which are within the bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from vtax.agent_api import AgentApi, CanaryOpenParams, CanaryReading
from vtax.machine.agent import UNTRUE, AgentBreach, AgentError
from vtax.results import Row, number, whole
from vtax.testbed.host import Host
from vtax.trial.observed import Observed
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


class Canary:
    """Does the work on CPUs of the machine that an agent runs on; `refused` says why where that cannot be."""

    def __init__(self) -> None:
        self._api: AgentApi | None = None
        self._cpus: list[int] = []
        self.refused: str | None = None

    def open(self, host: Host, agent: str, cpus: Mapping[str, Sequence[int]]) -> None:
        """Prepare the work on the CPUs of a machine's roles, the first eight of them."""
        api = host.api(agent)
        self._api, self.refused = None, None
        self._cpus = list(dict.fromkeys([*cpus["agents"], *cpus["host"], *cpus["guests"]]))[:MOST_CPUS]
        try:
            api.canary_open(CanaryOpenParams(cpus=self._cpus))
            api.canary_read()
            self._api = api
        except AgentError as error:
            self.refused = str(error)

    def read(self) -> list[CanaryReading]:
        """Do the work on each of the CPUs; returns nothing where that is refused. Raises AgentBreach."""
        if self._api is None:
            return []
        readings = self._api.canary_read().readings
        if (found := [reading.cpu for reading in readings]) != self._cpus:
            problem = f"readings: of CPUs {found}, not {self._cpus}"
            raise AgentBreach(self._api.agent, "answered canary.read", problem, UNTRUE)
        return readings


class Band:
    """How long the work took in a campaign's trials so far, by CPU and kind of work."""

    def __init__(self) -> None:
        self._ns: defaultdict[tuple[int, str], list[float]] = defaultdict(list)

    def add(self, rows: Iterable[Row]) -> None:
        """Take note of a committed trial's rows of `canary`."""
        for row in rows:
            for work in BOUNDS:
                if row[work] is not None:
                    self._ns[whole(row["cpu"]), work].append(number(row[work]))

    def median_ns(self, cpu: int, work: str) -> float | None:
        """Return the median of a kind of work on a CPU; None where there are too few readings."""
        earlier = self._ns.get((cpu, work), [])
        return median(earlier) if len(earlier) >= LEAST_READINGS else None


def canary_rows(observed: Observed, machine: str) -> list[Row]:
    """Return a trial's rows of `canary`, of the UUT's machine of that name."""
    return [
        {
            "host": machine,
            "cpu": reading.cpu,
            "moment": moment,
            **{work: getattr(reading, work) for work in BOUNDS},
        }
        for moment, readings in zip(MOMENTS, observed.canary or (), strict=False)
        for reading in readings
    ]


def canary_findings(observed: Observed, band: Band) -> Iterator[Finding]:
    """Find the CPUs that were slower around a trial than around the campaign's others, each by its slowest work."""
    for row in canary_rows(observed, ""):
        slowdowns = {
            work: number(row[work]) / usual_ns / bound
            for work, (_, bound) in BOUNDS.items()
            if (usual_ns := band.median_ns(whole(row["cpu"]), work))
        }
        worst = max(slowdowns, key=lambda work: slowdowns[work], default=None)
        if worst is not None and slowdowns[worst] > 1:
            words, bound = BOUNDS[worst]
            yield (
                Verdict.SUSPECT,
                f"CPU {row['cpu']} was slow {row['moment']} the trial: {words} took "
                f"{slowdowns[worst] * bound:.1f} times as long as the campaign's median",
            )
