"""Platform kind `virtualbox`: what is missing is named, and a failed start leaves nothing.

VirtualBox itself was never run: what stands for it here are commands that note how they were called.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.namespaces import interfaces
from tests.helpers.virtualbox import bridged, machine
from vtax.machine.agent import AgentGone
from vtax.machine.borrowed_nic import OWN
from vtax.platforms import GuestPlan, PlatformUnusable, virtualbox
from vtax.platforms.virtualbox.bridging import bridge_nics
from vtax.platforms.virtualbox.kind import VirtualBoxMachine

pytestmark = pytest.mark.system

PATH = r"/\S+"


@pytest.fixture
def plan(plan: GuestPlan) -> Iterator[GuestPlan]:
    yield replace(plan, config=virtualbox.Config())
    assert bridged(plan) == set()


class TestStarting:
    def test_what_is_missing_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(PlatformUnusable, match=r"no VBoxManage command found; needs VirtualBox 7\.0"):
            virtualbox.Kind().check(virtualbox.Config())

    @pytest.mark.usefixtures("manage")
    def test_an_older_one_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VTAX_TEST_VERSION", "6.1.38_Debianr153438")
        with pytest.raises(PlatformUnusable, match=r"6\.1\.38_Debianr153438 has other options"):
            virtualbox.Kind().check(virtualbox.Config())

    def test_a_module_that_is_not_loaded_is_named(self, manage: Path, tmp_path: Path) -> None:
        virtualbox.Kind().check(virtualbox.Config())
        (tmp_path / "modules/vboxnetflt").rmdir()
        with pytest.raises(PlatformUnusable, match=r"module vboxnetflt is not loaded; .*modprobe vboxnetflt"):
            virtualbox.Kind().check(virtualbox.Config())

    def test_its_nics_are_bridged_to_silent_interfaces(self, plan: GuestPlan) -> None:
        with contextlib.ExitStack() as undo:
            (nic,) = bridge_nics(plan, undo)
            assert bridged(plan) == {nic.interface}
            assert interfaces(plan.host) == {"lo", "guestp0"}

            def look(ip):  # type: ignore[no-untyped-def]
                (link,) = ip.get_links(ip.link_lookup(ifname=nic.interface)[0])
                return link["flags"], link.get_attr("IFLA_ADDRESS"), len(ip.get_addr(index=link["index"]))

            flags, mac, addresses = OWN.netlink(look)
            assert flags & 0x81 == 0x81  # up, no ARP
            assert mac not in (nic.mac, None)
            assert addresses == 0
        assert bridged(plan) == set()
        assert interfaces(plan.host) == {"lo"}

    def test_a_machine_that_ends_at_once_says_why_and_leaves_nothing(
        self, plan: GuestPlan, manage: Path
    ) -> None:
        with pytest.raises(AgentGone, match="VBoxHeadless ended\nVBoxHeadless: error: the VMMR0 module"):
            virtualbox.Kind().start(plan)
        assert interfaces(plan.host) == {"lo"}
        assert not Path(f"{manage}.made").exists()
        assert "unregistervm" in Path(f"{manage}.calls").read_text()

    def test_a_refused_command_says_why_and_leaves_nothing(
        self, plan: GuestPlan, manage: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("VTAX_TEST_REFUSES", "yes")
        with pytest.raises(AgentGone, match="VBoxManage storageattach: VBoxManage: error: no such medium"):
            virtualbox.Kind().start(plan)
        assert not Path(f"{manage}.made").exists()

    def test_the_record_alone_removes_a_machine(self, plan: GuestPlan, manage: Path) -> None:
        plan.record.add(VirtualBoxMachine("guest", machine("virtio", 1).uuid))
        Path(f"{manage}.made").touch()
        assert "VirtualBox machine guest" in [str(entry) for entry in plan.record.clean()]
        assert not plan.record.failed
        assert not Path(f"{manage}.made").exists()
