"""The way between guests that are end hosts and their peers, each an agent outside the host."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vtax.campaign.path import Path, PathFacts, PathFailed
from vtax.machine.agent import AgentError, AgentGone
from vtax.platforms import PlatformConfig, Preset
from vtax.testbed.guest import PEER
from vtax.testbed.host import Host
from vtax.testbed.shared import SharedTestbed

READY_REPLIES = 200
READY_PER_S = 1000
READY_LIMIT_S = 10.0
READY_TRIAL = 0xFFFFFFFF
"""Trial number of what shows that a path is ready; trials count from 1."""
PORT = 5001


@dataclass(frozen=True)
class End:
    """One end of a flow: who answers for it, and where it is on the network."""

    host: Host
    agent: str
    interface: str
    address: str
    cpu: int
    """As the end's own kernel counts."""

    def call(self, method: str, params: dict[str, Any], timeout_s: float = 10.0) -> Any:
        """Ask its agent."""
        return self.host.call(self.agent, method, params, timeout_s)

    @property
    def place(self) -> dict[str, Any]:
        """Where its sockets are bound."""
        return {"cpu": self.cpu, "interface": self.interface}


class BulkPath(Path):
    """A path with a pair of ends for each guest: itself and its peer."""

    testbed: SharedTestbed

    def __init__(
        self,
        preset: Preset,
        config: PlatformConfig,
        testbed: SharedTestbed,
        protocols: Sequence[str],
        samples_hz: int,
    ) -> None:
        super().__init__(preset, config, testbed, protocols, samples_hz)
        self.ends: list[tuple[End, End]] = []
        """Guest and peer, by the guest's number."""

    def open(self) -> PathFacts:
        """Build everything and wait until each peer reaches its guest; raises PathFailed, PlatformUnusable, OSError."""
        kind = self.preset.platform()
        self.testbed.build(kind.port)
        begun = self.testbed.uut.counters([])["at_s"]
        try:
            hello_s = self.start_guests()
            self.ends = self._make_ends(kind.own_kernel)
            self.cpu_meter.open(self.testbed.source, self.ends[0][1].agent)
            for guest, peer in self.ends:
                self._wait_ready(guest, peer)
            self.set_egress()
        except (AgentGone, AgentError) as error:
            raise PathFailed(f"{error}\n{self.last_words()}".strip()) from None
        ready_s = self.testbed.uut.counters([])["at_s"] - begun
        refused = self.cpu_meter.refused
        notes = () if refused is None else (f"CPU time is counted, not sampled: {refused}",)
        self.facts = PathFacts(hello_s, ready_s, (*self.scheduling_notes, *notes))
        return self.facts

    def _make_ends(self, own_kernel: bool) -> list[tuple[End, End]]:
        testbed, cpus = self.testbed, self.testbed.settings.cpus
        ends = []
        for stream, guest in zip(testbed.streams, testbed.guests, strict=True):
            peer = f"{PEER}{stream.stream}"
            testbed.source.start_agent(peer, "agents")
            testbed.source.call(peer, "guest.configure", testbed.peer_configuration(stream))
            state = testbed.uut.guest_state(guest.name)
            nics = {nic["mac"]: nic["interface"] for nic in state["interfaces"]}
            inside = End(
                testbed.uut,
                guest.name,
                nics[guest.interfaces[0]["mac"]],
                stream.uut_in_ip,
                0 if own_kernel else cpus["guests"][0],
            )
            outside = End(testbed.source, peer, f"src{stream.stream}", stream.source_ip, cpus["agents"][0])
            ends.append((inside, outside))
        return ends

    def _wait_ready(self, guest: End, peer: End) -> None:
        """Until 200 echoes at 1000 a second all came back; raises PathFailed after 10 s."""
        way = {
            **peer.place,
            "local_address": peer.address,
            "remote_address": guest.address,
            "payload_bytes": 56,
            "interval_ms": 1000 / READY_PER_S,
            "timeout_ms": 1000,
        }
        deadline = self.testbed.uut.counters([])["at_s"] + READY_LIMIT_S
        peer.call("echo.open", way)
        while True:
            asked = {"trial": READY_TRIAL, "warmup_s": None, "duration_s": READY_REPLIES / READY_PER_S}
            peer.call("echo.go", asked)
            told = peer.call("echo.collect", {})
            if told["sent"] and not told["lost"]:
                break
            if self.testbed.uut.counters([])["at_s"] > deadline:
                raise PathFailed(
                    f"{guest.agent} does not answer all of {told['sent']} echoes within {READY_LIMIT_S:g} s "
                    f"({told['lost']} lost)\n{self.last_words()}"
                )
        peer.call("echo.close", {})
