"""Interfaces that threads poll, beside others of the same name."""

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from vtax.machine import ingress
from vtax.machine.ingress import switch_threads, thread_ingress
from vtax.machine.namespace import Namespace
from vtax.machine.napi import polling_threads
from vtax.machine.offloads import set_offload

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

NAME = "in0"


@pytest.fixture
def two() -> Iterator[list[Namespace]]:
    """Namespaces that each have an interface of that name."""
    made = [Namespace(f"vtax-test-{uuid.uuid4().hex[:6]}-uut") for _ in range(2)]
    with ExitStack() as ends:
        for namespace in made:
            ends.callback(namespace.remove)
            namespace.create()
            ip = ["ip", "-n", namespace.name, "link"]
            subprocess.run([*ip, "add", NAME, "type", "veth", "peer", "name", "in1"], check=True)
            for end in (NAME, "in1"):
                subprocess.run([*ip, "set", end, "up"], check=True)
        yield made


def test_threads_of_another_interface_of_that_name_are_left_alone(
    two: list[Namespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if they appear at the same moment, as where another run begins a trial."""
    own, other = two
    set_offload(other, NAME, "rx-gro", True)

    def both(namespace: Namespace, interface: str, enabled: bool) -> None:
        switch_threads(other, interface, enabled)
        switch_threads(namespace, interface, enabled)

    monkeypatch.setattr(ingress, "switch_threads", both)
    threads = thread_ingress(own, NAME, [0])
    others = other.run(lambda: polling_threads(NAME))
    if not others:
        pytest.skip("Linux before 6.8 does not tell whose thread it is")
    assert len(threads) == 1
    assert others.isdisjoint(threads)
