"""What container runtimes start: an agent in a namespace of its own, behind a second pair of interfaces."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtax.machine.agent import Agent, AgentGone
from vtax.machine.namespace import Namespace, OwnedNamespace
from vtax.machine.ownership import Owned, remove_quietly
from vtax.machine.user_namespace import IdRange, Namespaces, hold_namespaces
from vtax.platforms.console import tail
from vtax.platforms.contract import GuestPlan
from vtax.platforms.launch import await_hello, launch
from vtax.platforms.veth import add_veth, remove_veth

HELLO_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Container:
    """What a runtime starts in a namespace: the command that runs it, and what has to be removed then."""

    runtime: str
    """Of a runtime that fails, the words before its exit status."""
    run: Sequence[str]
    owned: Owned


@dataclass
class ContainerGuest:
    """A container whose only process is the agent."""

    agent: Agent
    hello_s: float
    undo: contextlib.ExitStack
    """What takes down all that starting it has made, newest first."""
    log: Path
    modules: list[str] = field(default_factory=list)

    def threads(self) -> dict[int, tuple[int, str]]:
        """None: the host's kernel forwards, on the threads of its ingress."""
        return {}

    def last_words(self) -> str:
        """What runtime and agent wrote to standard error."""
        return tail(self.log)

    def stop(self) -> None:
        """End the agent, remove the container and its namespace (and with it the veth pairs)."""
        self.undo.close()


Describe = Callable[[Namespace, Namespaces | None], Container]
"""Writes down what a runtime reads of a guest in a namespace, and of the user namespace that confines it."""


def start_container(
    plan: GuestPlan,
    describe: Describe,
    guest_type: type[ContainerGuest] = ContainerGuest,
    *,
    confined: bool = False,
) -> ContainerGuest:
    """Make a namespace with one veth pair a NIC, and run the agent in a container that joins it.

    It is root of nothing but its own network where it is `confined`. Raises AgentGone.
    """
    with contextlib.ExitStack() as starting:
        owner = None
        if confined:
            ids = IdRange.of(f"{plan.record.run}-{plan.name}")
            owner = starting.enter_context(hold_namespaces(ids))
        return _start(plan, describe, guest_type, owner)


def _start(
    plan: GuestPlan,
    describe: Describe,
    guest_type: type[ContainerGuest],
    owner: Namespaces | None,
) -> ContainerGuest:
    begun = time.monotonic()
    with contextlib.ExitStack() as undo:
        namespace = open_namespace(plan, undo, owner.network if owner else None)
        container = describe(namespace, owner)
        plan.record.add(container.owned)
        undo.callback(remove_quietly, container.owned)
        log = plan.scratch / f"{plan.name}.log"
        agent = launch(plan.name, container.run, log)
        undo.callback(agent.close)
        guest = guest_type(agent, 0.0, undo.pop_all(), log)
    try:
        await_hello(guest, plan, begun, HELLO_TIMEOUT_S)
    except AgentGone:
        if (status := agent.process.returncode) > 0:
            raise AgentGone(f"{container.runtime} exited {status}: {tail(log)}") from None
        raise
    return guest


def open_namespace(plan: GuestPlan, undo: contextlib.ExitStack, network: Path | None = None) -> Namespace:
    """A namespace with the plan's NICs: `eth0` and so on, each the far end of an interface at its port."""
    namespace = Namespace(f"{plan.record.run}-{plan.name}")
    plan.record.add(OwnedNamespace(namespace.name))
    namespace.create(made=network)
    undo.callback(namespace.remove)
    for number, nic in enumerate(plan.nics):
        interface = f"{plan.name}p{number}"
        add_veth(plan.host, interface, namespace, f"eth{number}", nic)
        undo.callback(remove_veth, plan.host, interface)
        nic.port.attach(interface, nic.mac)
    return namespace
