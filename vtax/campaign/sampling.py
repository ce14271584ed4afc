"""The sampling of a machine's CPUs in a trial, by the agent's `cpu.*`."""

from typing import Any

from vtax.machine.agent import AgentError
from vtax.testbed.host import Host

SAMPLES_HZ = 997
"""Of each CPU. A prime, so that no timer of the kernel's keeps step with it."""


class CpuMeter:
    """Samples all CPUs of the machine that an agent runs on; where that cannot be, `refused` says why."""

    def __init__(self, host: Host, agent: str) -> None:
        self._host, self._agent = host, agent
        self.refused: str | None = "no CPU is sampled yet"

    def open(self) -> None:
        """Have the CPUs sampled."""
        try:
            self._host.call(self._agent, "cpu.open", {"cpus": None, "hz": SAMPLES_HZ})
            self.refused = None
        except AgentError as error:
            self.refused = str(error)

    def arm(self, delay_s: float, duration_s: float) -> None:
        """Keep what is sampled in a window that begins so much later; nothing need be asked until it is over."""
        if self.refused is None:
            self._host.call(self._agent, "cpu.arm", {"delay_s": delay_s, "duration_s": duration_s})

    def read(self) -> dict[str, Any] | None:
        """What was sampled in the window, which is over: the replies of `cpu.read` as one. None without samples."""
        if self.refused is not None:
            return None
        told: dict[str, Any] = self._read(0)
        while len(told["samples"]) < told["entries"]:
            told["samples"] += self._read(len(told["samples"]))["samples"]
        return told

    def _read(self, first: int) -> Any:
        return self._host.call(self._agent, "cpu.read", {"first": first})
