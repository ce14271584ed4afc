"""The sampling of a machine's CPUs in a trial, by the agent's `cpu.*`."""

from msgspec import structs

from vtax.agent_api import AgentApi, CpuArmParams, CpuOpenParams, CpuReadAnswer, CpuReadParams, ThreadSamples
from vtax.machine.agent import AgentError
from vtax.machine.series import Part, read_series
from vtax.testbed.host import Host

MOST_ENTRIES = 4096
"""The agent counts no more threads, CPUs and contexts apart."""


class CpuMeter:
    """Samples all CPUs of the machine that an agent runs on; `refused` says why where that cannot be."""

    def __init__(self, hz: int) -> None:
        self._hz = hz
        self._api: AgentApi | None = None
        self.refused: str | None = None

    def open(self, host: Host, agent: str) -> None:
        """Have the CPUs sampled by an agent, at the rate that was asked for; 0 samples nothing."""
        self._api, self.refused = None, None
        if not self._hz:
            return
        try:
            host.api(agent).cpu_open(CpuOpenParams(hz=self._hz))
            self._api = host.api(agent)
        except AgentError as error:
            self.refused = str(error)

    def arm(self, delay_s: float, duration_s: float) -> None:
        """Keep what is sampled in a window that begins so much later; nothing need be asked until it is over."""
        if self._api is not None:
            self._api.cpu_arm(CpuArmParams(delay_s=delay_s, duration_s=duration_s))

    def read(self) -> CpuReadAnswer | None:
        """What was sampled in the window, which is over: the answers of `cpu.read` as one. None without samples."""
        if self._api is None:
            return None
        api, answers = self._api, list[CpuReadAnswer]()

        def ask(first: int, timeout_s: float) -> Part[ThreadSamples]:
            answers.append(api.cpu_read(CpuReadParams(first=first), timeout_s))
            return answers[-1].samples, answers[-1].entries

        samples = read_series(api.agent, "cpu.read", "samples", MOST_ENTRIES, ask)
        return structs.replace(answers[0], samples=samples)
