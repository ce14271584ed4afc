"""The sampling of a machine's CPUs in a trial, by the agent's `cpu.*`."""

from typing import Any

from vtax.machine.agent import AgentError
from vtax.testbed.host import Host


class CpuMeter:
    """Samples all CPUs of the machine that an agent runs on; `refused` says why where that cannot be."""

    def __init__(self, hz: int) -> None:
        self._hz = hz
        self._at: tuple[Host, str] | None = None
        self.refused: str | None = None

    def open(self, host: Host, agent: str) -> None:
        """Have the CPUs sampled by an agent, at the rate that was asked for; 0 samples nothing."""
        self._at, self.refused = None, None
        if not self._hz:
            return
        try:
            host.call(agent, "cpu.open", {"cpus": None, "hz": self._hz})
            self._at = (host, agent)
        except AgentError as error:
            self.refused = str(error)

    def arm(self, delay_s: float, duration_s: float) -> None:
        """Keep what is sampled in a window that begins so much later; nothing need be asked until it is over."""
        if self._at is not None:
            self._call("cpu.arm", {"delay_s": delay_s, "duration_s": duration_s})

    def read(self) -> dict[str, Any] | None:
        """What was sampled in the window, which is over: the replies of `cpu.read` as one. None without samples."""
        if self._at is None:
            return None
        told: dict[str, Any] = self._call("cpu.read", {"first": 0})
        while len(told["samples"]) < told["entries"]:
            told["samples"] += self._call("cpu.read", {"first": len(told["samples"])})["samples"]
        return told

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        assert self._at is not None  # noqa: S101 - asked only while open
        host, agent = self._at
        return host.call(agent, method, params)
