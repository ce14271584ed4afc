"""A link of two namespaces that exists to try out on it what campaigns need."""

import contextlib
import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vtax.agent_api import AgentApi
from vtax.machine.agent import start_agent
from vtax.machine.lock import HostLock
from vtax.machine.namespace import Namespace, OwnedNamespace, index_of
from vtax.machine.ownership import OwnershipRecord
from vtax.testbed.link import LinkEnd, make_link


@dataclass(frozen=True)
class Bench:
    """A link between two namespaces, and the CPU that probes run on."""

    record: OwnershipRecord
    near: LinkEnd
    far: LinkEnd
    cpu: int


@contextlib.contextmanager
def open_bench(state: Path) -> Iterator[Bench]:
    """Raises InputError while a campaign holds the host: a probe would cost it CPU time."""
    lock = HostLock(state)
    lock.acquire("vtax doctor")
    try:
        record = OwnershipRecord(f"vtax-{uuid.uuid4().hex[:6]}", state)
        record.open()
        try:
            near = LinkEnd(Namespace(f"{record.run}-near"), "doctor0", "02:00:00:00:00:01")
            far = LinkEnd(Namespace(f"{record.run}-far"), "doctor1", "02:00:00:00:00:02")
            for end in (near, far):
                record.add(OwnedNamespace(end.namespace.name))
                end.namespace.create()
            make_link(near, far, mtu=1500)
            yield Bench(record, near, far, max(os.sched_getaffinity(0)))
        finally:
            record.clean()
    finally:
        lock.release()


def received(end: LinkEnd) -> int:
    """Frames that an interface has received."""
    (link,) = end.namespace.netlink(lambda ip: list(ip.get_links(index_of(ip, end.interface))))
    return int(link.get_attr("IFLA_STATS64")["rx_packets"])


Answer = TypeVar("Answer")


def asked(bench: Bench, ask: Callable[[AgentApi], Answer]) -> Answer:
    """Return what an agent at the far end answers."""
    log = bench.record.scratch / "agent.log"
    agent = start_agent("doctor's agent", netns=bench.far.namespace.path, cpus=[bench.cpu], log=log)
    try:
        bench.record.add_process(agent.process.pid, "agent")
        agent.wait_hello(2.0)
        return ask(agent.api)
    finally:
        agent.close()
