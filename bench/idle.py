"""What an agent costs that has everything open and waits: CPU time and wake-ups of all its threads.

Each protocol's responder waits differently, in accept or in a datagram socket, so each has its turn.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from bench.ends import End, made_ends
from bench.figure import Figure, Section
from bench.request_response import OUR_PORT, PROTOCOLS, listening
from vtax.agent_api import Protocol, SinkOpenParams, SourceOpenParams, SourceStream, StreamInterface

WATCHED_S = 10.0
TEXT = f"""
CPU time and context switches of all threads of an agent that waits for its next request, in {WATCHED_S:g} s,
as the scheduler counts them (`schedstat` and `status` of each thread in /proc).
"""
SETTLED_S = 0.5
"""After the last reply, whose writer may still be on its way to sleep."""


@dataclass(frozen=True)
class Spent:
    """What all threads of a process have used: time on a CPU, and how often they were put on or off one."""

    run_ns: int
    switches: int

    def since(self, earlier: "Spent") -> "Spent":
        """What was used since then."""
        return Spent(self.run_ns - earlier.run_ns, self.switches - earlier.switches)


def run(directory: Path) -> Section:
    """Watch an agent with source, sink and responder open; logs go to `directory`."""
    with made_ends(directory) as ends:
        return Section("Idle agent", TEXT, tuple(measure(ends.far, ends.near, each) for each in PROTOCOLS))


def measure(end: End, peer: End, protocol: Protocol, watched_s: float = WATCHED_S) -> Figure:
    """Watch one end's agent for a while."""
    open_all(end, peer, protocol)
    time.sleep(SETTLED_S)
    before = spent(end.agent.process.pid)
    time.sleep(watched_s)
    used = spent(end.agent.process.pid).since(before)
    end.agent.api.responder_close()
    return Figure(
        f"source, sink and {protocol.upper()} responder open",
        f"{used.run_ns} ns of CPU, {used.switches} context switches in {watched_s:g} s",
        "",
        "none",
        None,
        None,
        None,
        used == Spent(0, 0),
    )


def open_all(end: End, peer: End, protocol: Protocol) -> None:
    """Open what an agent can have open: a source, a sink and a responder on the end's interface."""
    stream = SourceStream(
        stream=0,
        interface=end.interface,
        source_mac=end.mac,
        destination_mac=peer.mac,
        source_ip=end.ip,
        destination_ip=peer.ip,
        source_port=OUR_PORT,
        destination_port=OUR_PORT,
    )
    agent = end.agent.api
    agent.source_open(SourceOpenParams(cpus=[end.cpu], streams=[stream]))
    received = StreamInterface(stream=0, interface=end.interface)
    agent.sink_open(SinkOpenParams(streams=[received], attach="auto"))
    agent.responder_open(listening(end, protocol))


def spent(pid: int) -> Spent:
    """What a process's threads have used up to now; those that have ended are not among them."""
    run_ns = switches = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        run_ns += int((thread / "schedstat").read_text().split()[0])
        status = (thread / "status").read_text().splitlines()
        switches += sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
    return Spent(run_ns, switches)
