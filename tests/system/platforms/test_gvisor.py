"""Platform kind `gvisor`: a kernel beside the host's forwards real frames, and goes again, whoever is killed."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.helpers.guests import forward_streams, have_ended, orphans
from tests.helpers.namespaces import interfaces
from vtax.agent_api import GuestConfigureParams, GuestNic, Neighbour
from vtax.machine.agent import AgentGone
from vtax.machine.namespace import Namespace
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import GuestPlan, PlatformUnusable, container, gvisor

pytestmark = pytest.mark.system


built = [pytest.mark.soak, pytest.mark.platform, pytest.mark.usefixtures("leaves_nothing")]
"""make test-platforms builds runsc, make test does not."""


@pytest.fixture
def plan(plan: GuestPlan) -> GuestPlan:
    far = Neighbour(address="198.18.0.2", mac="02:00:00:00:00:0a")
    nic = GuestNic(mac=plan.nics[0].mac, address="198.18.0.1/24", mtu=1500, neighbours=[far])
    return replace(plan, config=gvisor.Config(), interfaces=[nic])


@pytest.fixture
def guest(plan: GuestPlan) -> Iterator[gvisor.GvisorGuest]:
    started = gvisor.Kind().start(plan)
    yield started
    started.stop()


class TestWhatIsRefused:
    def test_a_missing_runtime_is_named_with_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        monkeypatch.setenv("PATH", "/usr/bin:/usr/sbin")
        with pytest.raises(PlatformUnusable, match=r"no runsc command found; make -C .* runsc"):
            gvisor.Kind().check(gvisor.Config())

    def test_it_is_no_runtime_of_plain_containers(self) -> None:
        with pytest.raises(ValidationError, match="allowed: the platform gvisor"):
            container.Config(runtime="runsc")

    def test_what_its_network_stack_has_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gvisor, "find_runsc", lambda: "runsc")
        kind = gvisor.Kind()
        kind.check(gvisor.Config())
        with pytest.raises(PlatformUnusable, match="no queueing disciplines, and so no netem delay 1ms"):
            kind.check(gvisor.Config(egress_qdisc="netem delay 1ms"))
        kind.check_protocols(gvisor.Config(), [])
        with pytest.raises(PlatformUnusable, match="IPv4 without tags only, not ipv6, 8021q"):
            kind.check_protocols(gvisor.Config(), ["ipv6", "8021q"])


class TestGuest:
    pytestmark = built

    def test_it_starts_answers_and_goes(self, plan: GuestPlan) -> None:
        for _ in range(2):
            begun = time.monotonic()
            guest = gvisor.Kind().start(plan)
            assert 0 < guest.hello_s <= time.monotonic() - begun
            guest.agent.api.ping()
            assert interfaces(plan.host) == {"lo", "guestp0"}
            guest.stop()
            assert interfaces(plan.host) == {"lo"}
            assert not Namespace(f"{plan.record.run}-guest").path.exists()

    def test_it_is_a_kernel_of_its_own_with_the_nics_it_was_given(
        self, plan: GuestPlan, guest: gvisor.GvisorGuest
    ) -> None:
        (asked,) = plan.interfaces
        params = GuestConfigureParams(modules=[], nics=[asked], forward=True)
        configured = guest.agent.api.guest_configure(params)
        assert [(nic.mac, nic.interface) for nic in configured.nics] == [(asked.mac, "eth0")]
        assert guest.agent.api.guest_configure(params) == configured
        state = guest.agent.api.guest_state()
        (eth0,) = (each for each in state.interfaces if each.interface == "eth0")
        assert eth0.ready
        threads = guest.threads()
        assert {component for _, component in threads.values()} >= {"kernel", "userspace"}
        assert {frozenset(os.sched_getaffinity(tid)) for tid in threads} == {frozenset(plan.cpus)}

    def test_a_failed_start_leaves_nothing_and_says_why(self, plan: GuestPlan) -> None:
        with pytest.raises(AgentGone, match="taskset: "):
            gvisor.Kind().start(replace(plan, interfaces=[], cpus=[999]))
        assert interfaces(plan.host) == {"lo"}

    def test_the_record_alone_removes_it(self, plan: GuestPlan) -> None:
        guest = gvisor.Kind().start(plan)
        os.kill(guest.agent.process.pid, signal.SIGKILL)
        plan.record.clean()
        assert not plan.record.failed
        assert not Namespace(f"{plan.record.run}-guest").path.exists()
        guest.stop()

    def test_one_of_a_killed_controller_is_removed(self, plan: GuestPlan) -> None:
        handles = orphans("gvisor", plan)
        record = OwnershipRecord(plan.record.run, plan.record.path.parent)
        record.clean()
        assert not record.failed
        assert have_ended(handles, 5000)


class TestCampaign:
    pytestmark = built

    def test_guests_forward_every_stream(self, tmp_path: Path) -> None:
        result = forward_streams("gvisor", 2, tmp_path)
        cpu = result.query("SELECT DISTINCT component FROM cpu WHERE domain = 'guest'").to_pylist()
        assert {row["component"] for row in cpu} >= {"kernel", "userspace"}
        forwarded = result.query("SELECT min(received) AS least FROM hops WHERE hop = 'guest ring'")
        assert forwarded.to_pylist()[0]["least"] > 0
