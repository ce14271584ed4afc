"""Two namespaces with addresses, joined by a veth pair, an agent in each: the least path there is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from vtax.machine.agent import Agent, start_agent
from vtax.machine.namespace import Namespace, OwnedNamespace, index_of
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.link import LinkEnd, make_link

HELLO_S = 10.0
MTU = 1500


@dataclass(frozen=True)
class End:
    """One end: its namespace, interface, address, the CPU of whatever runs there, and its agent."""

    namespace: Namespace
    interface: str
    mac: str
    ip: str
    cpu: int
    agent: Agent


@dataclass(frozen=True)
class Ends:
    """Both ends, and the record of what was made for them."""

    near: End
    far: End
    record: OwnershipRecord


@contextmanager
def made_ends(directory: Path) -> Iterator[Ends]:
    """Both ends, on a CPU each where there are two; gone after the block. Agents' words go to `directory`."""
    cpus = sorted(os.sched_getaffinity(0))
    record = OwnershipRecord(f"bench-{os.getpid()}")
    record.open()
    agents: list[Agent] = []
    try:
        links = [_namespace_end(record, name, number) for number, name in enumerate(("near", "far"))]
        make_link(links[0], links[1], MTU)
        ends = []
        for number, (link, cpu) in enumerate(zip(links, (cpus[0], cpus[1 % len(cpus)]), strict=True)):
            ip = f"198.18.0.{number + 2}"
            _give_address(link, ip)
            log = directory / f"{link.namespace.name}.log"
            agent = start_agent(link.namespace.name, netns=link.namespace.path, cpus=[cpu], log=log)
            agents.append(agent)
            record.add_process(agent.process.pid, "vtax-agent")
            agent.wait_hello(HELLO_S)
            ends.append(End(link.namespace, link.interface, link.mac, ip, cpu, agent))
        yield Ends(ends[0], ends[1], record)
    finally:
        for agent in agents:
            agent.close()
        record.clean()


def _namespace_end(record: OwnershipRecord, name: str, number: int) -> LinkEnd:
    namespace = Namespace(f"{record.run}-{name}")
    record.add(OwnedNamespace(namespace.name))
    namespace.create()
    return LinkEnd(namespace, f"{name}0", f"02:76:74:00:00:{number + 1:02x}")


def _give_address(link: LinkEnd, ip: str) -> None:
    def act(netlink: IPRoute) -> None:
        index = index_of(netlink, link.interface)
        netlink.addr("add", index=index, address=ip, prefixlen=24)

    link.namespace.netlink(act)
