"""What an agent costs that has everything open and waits: CPU time and wake-ups of all its threads.

Each protocol's responder waits differently, in accept or in a datagram socket, so each has its turn.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from bench.comparison import Comparison
from bench.ends import End, made_ends
from bench.request_response import OUR_PORT

WATCHED_S = 10.0
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


def run(directory: Path) -> list[Comparison]:
    """Watch an agent with source, sink and responder open; logs go to `directory`."""
    with made_ends(directory) as ends:
        return [measure(ends.far, ends.near, protocol) for protocol in ("udp", "tcp")]


def measure(end: End, peer: End, protocol: str, watched_s: float = WATCHED_S) -> Comparison:
    """Watch one end's agent for a while."""
    open_all(end, peer, protocol)
    time.sleep(SETTLED_S)
    before = spent(end.agent.process.pid)
    time.sleep(watched_s)
    used = spent(end.agent.process.pid).since(before)
    end.agent.call("responder.close")
    return Comparison(
        name=f"idle agent: source, sink and {protocol.upper()} responder open",
        unit="ns of CPU",
        ours=(float(used.run_ns),),
        peers={},
        required="no CPU",
        ratio=None,
        low=None,
        high=None,
        holds=used == Spent(0, 0),
        note=f"{used.switches} context switches of all its threads in {watched_s:g} s",
    )


def open_all(end: End, peer: End, protocol: str) -> None:
    """Open what an agent can have open: a source, a sink and a responder on the end's interface."""
    stream = {
        "stream": 0,
        "interface": end.interface,
        "source_mac": end.mac,
        "destination_mac": peer.mac,
        "source_ip": end.ip,
        "destination_ip": peer.ip,
        "source_port": OUR_PORT,
        "destination_port": OUR_PORT,
    }
    end.agent.call("source.open", {"cpu": end.cpu, "streams": [stream]})
    sink = {"streams": [{"stream": 0, "interface": end.interface}], "attach": "auto"}
    end.agent.call("sink.open", sink)
    listen = {"cpu": end.cpu, "interface": end.interface, "address": end.ip, "port": OUR_PORT}
    end.agent.call("responder.open", {"protocol": protocol, "response_bytes": "equal", **listen})


def spent(pid: int) -> Spent:
    """What a process's threads have used up to now; those that have ended are not among them."""
    run_ns = switches = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        run_ns += int((thread / "schedstat").read_text().split()[0])
        status = (thread / "status").read_text().splitlines()
        switches += sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
    return Spent(run_ns, switches)
