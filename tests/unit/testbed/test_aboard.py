"""Which agent of a testbed does fixed work on each of its machines."""

from types import SimpleNamespace
from typing import Any

from vtax.testbed.network import Network, Node, NodeAgent
from vtax.testbed.testbed import CANARY, Aboard, Testbed

CPUS = {"agents": [0, 4], "host": [1], "guests": [1, 2], "controller": [3]}


class Host:
    """A host that tells which agents were started."""

    def __init__(self, name: str) -> None:
        self.name, self.started = name, list[str]()

    def create(self, bridge_netfilter: bool) -> None:
        """As Host.create."""

    def start_agent(self, name: str, cpus: str) -> None:
        """As Host.start_agent."""
        self.started.append(f"{name} on {cpus}")


class Machines:
    """Two machines: the generator has source and sink, the other has the UUT."""

    def machine(self, host: str) -> Any:
        """As Machines.machine."""
        return SimpleNamespace(name="server" if host == "uut" else "generator", cpus=CPUS)

    def host(self, name: str, *, far: bool) -> Host:
        """As Machines.host."""
        return Host(name)

    def watcher(self, uut: Host, instrument: tuple[Host, str]) -> tuple[Host, str]:
        """As of machines that are apart."""
        uut.start_agent("watcher", "agents")
        return uut, "watcher"


def built(*agents: NodeAgent) -> Testbed:
    settings: Any = SimpleNamespace(bridge_netfilter=False)
    nodes = tuple(map(Node, ("source", "uut", "sink")))
    machines: Any = Machines()
    testbed = Testbed(Network(settings, parts=(*nodes, *agents), guests=()), machines)
    testbed.build()
    return testbed


def test_the_first_agent_of_a_machine_does_its_work_on_the_cpus_that_have_roles_in_a_trial() -> None:
    testbed = built(NodeAgent("source", "source"), NodeAgent("sink", "sink", watches=True))
    cpus = [0, 4, 1, 2]
    assert testbed.aboard() == {
        "generator": Aboard(testbed.source, "source", cpus),
        "server": Aboard(testbed.uut, "watcher", cpus),
    }


def test_a_machine_without_an_agent_is_given_one() -> None:
    testbed = built(NodeAgent("sink", "sink"))
    found = testbed.aboard()
    assert (found["generator"].agent, found["server"].agent) == ("sink", CANARY)
    uut: Any = testbed.uut
    assert uut.started == [f"{CANARY} on agents"]


def test_agents_of_a_path_that_was_taken_down_are_forgotten() -> None:
    testbed = built(NodeAgent("source", "source"))
    testbed.aboard()
    testbed.build()
    assert testbed.aboard()["generator"].agent == "source"
    uut: Any = testbed.uut
    assert uut.started == [f"{CANARY} on agents"] * 2
