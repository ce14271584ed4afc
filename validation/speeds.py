"""How fast the CPUs were before each part of a run, by the canary's fixed work: two pages compare by this."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from vtax.agent_api import CanaryReading
from vtax.testbed.host import Host
from vtax.testbed.host_session import hold_host
from vtax.testbed.layout import cpu_layout
from vtax.testbed.testbed import Aboard
from vtax.trial.canary import BOUNDS, Canary

AGENT: Final = "speeds"
LOOKS: Final = 10

TEXT = f"""
## Speed of the CPUs

Fixed work, as before and after each trial of a campaign (`docs/verdicts.md`): before each part {LOOKS} looks at each
CPU that has a role. Figures are medians of all looks of the run, the fastest and the slowest look, and the part whose
median was the slowest. What is measured in ns depends on these; ratios and shares do so less.
"""


@dataclass
class Speeds:
    """Looks at the CPUs by part, in the order they were taken."""

    looks: dict[str, list[list[CanaryReading]]] = field(default_factory=dict)

    def look(self, part: str) -> None:
        """Look at the CPUs before a part; raises OSError where the machine does not let vtax."""
        cpus = cpu_layout()
        canary = Canary()
        with hold_host("speed of the CPUs") as record:
            host = Host(AGENT, record, cpus)
            try:
                host.create()
                host.start_agent(AGENT, "agents")
                canary.open({AGENT: Aboard.of(host, AGENT, cpus)})
                if AGENT in canary.refused:
                    raise OSError(canary.refused[AGENT])
                self.looks[part] = [[*canary.read()[AGENT]] for _ in range(LOOKS)]
            finally:
                host.close()

    def text(self) -> str:
        """Return the section of a page, in Markdown."""
        rows = "".join(f"| {' | '.join(row)} |\n" for row in self._rows())
        return f"{TEXT.lstrip()}\n| CPU | work | ns | slowest before |\n|---|---|---|---|\n{rows}"

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield a row of each CPU and kind of work."""
        cpus = {reading.cpu: None for looks in self.looks.values() for look in looks for reading in look}
        for cpu in cpus:
            for work, (words, _) in BOUNDS.items():
                of_parts = {part: list(_of(looks, cpu, work)) for part, looks in self.looks.items()}
                found = [took_ns for of_part in of_parts.values() for took_ns in of_part]
                slowest = max(of_parts, key=lambda part: median(of_parts[part]))
                spread = f"{_ns(min(found))} to {_ns(max(found))}, n = {len(found)}"
                slow_ns = _ns(median(of_parts[slowest]))
                yield f"{cpu}", words, f"{_ns(median(found))} ({spread})", f"`{slowest}`: {slow_ns}"


def _of(looks: list[list[CanaryReading]], cpu: int, work: str) -> Iterator[float]:
    for look in looks:
        yield from (getattr(reading, work) for reading in look if reading.cpu == cpu)


def _ns(took_ns: float) -> str:
    return f"{took_ns:.3g}" if took_ns < 100 else f"{took_ns:,.0f}"
