"""The sampling of a machine's CPUs in a trial, by the agent's `cpu.*`."""

from msgspec import structs

from vtax.agent_api import AgentApi, CpuArmParams, CpuOpenParams, CpuReadAnswer, CpuReadParams
from vtax.machine.agent import AgentError
from vtax.testbed.host import Host


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
        answer = self._api.cpu_read(CpuReadParams(first=0))
        samples = [*answer.samples]
        while len(samples) < answer.entries:
            more = self._api.cpu_read(CpuReadParams(first=len(samples))).samples
            if not more:
                break
            samples += more
        return structs.replace(answer, samples=samples)
