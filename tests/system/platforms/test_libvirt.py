"""Guests of libvirt: how one starts, forwards frames and ends, and what refuses it."""

import os
import re
import select
import signal
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.libvirt_domains import DOMAINS, UNWANTED
from tests.helpers.namespaces import interfaces
from tests.helpers.rights import status_of
from vtax.machine.agent import Agent, AgentGone
from vtax.platforms import GuestPlan, PlatformUnusable, libvirt
from vtax.platforms.accelerator import DEVICE
from vtax.platforms.libvirt import guest as guests
from vtax.platforms.libvirt import hypervisor as hypervisors
from vtax.platforms.libvirt import kind as kinds
from vtax.platforms.libvirt.hypervisor import EMBEDDED, Hypervisor, emulator_user
from vtax.platforms.unprivileged import as_user
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


OF_RED_HAT = {
    "pc-q35-rhel9.2.0": "pc-q35-7.2",
    "/usr/libexec/qemu-kvm": "/usr/bin/qemu-system-x86_64",
}
"""What only its QEMU has, and what stands for it in everybody else's."""
HUGE_PAGES = "<memoryBacking><hugepages/></memoryBacking>"


def config(domain: str | Path, **keys: str) -> libvirt.Config:
    path = DOMAINS / f"{domain}.xml" if isinstance(domain, str) else domain
    return libvirt.Config(domain=str(path), **{"libvirt_uri": EMBEDDED, **keys})


@pytest.mark.platform
@pytest.mark.soak
@pytest.mark.parametrize("domain", ["appliance", "kubevirt", "proxmox", "virt-manager"])
class TestCampaign:
    """The domain as of OpenStack forwards in test_attached.py; that of network functions wants 8 GB in huge pages."""

    @pytest.mark.measures
    def test_every_domain_forwards_frames(self, domain: str, scenario: Path, tmp_path: Path) -> None:
        path = tmp_path / f"{domain}.xml"
        content = (DOMAINS / path.name).read_text()
        for theirs, here in OF_RED_HAT.items():
            content = content.replace(theirs, here)
        path.write_text(content)
        chosen = ["--platform", f"libvirt:{path}", "--set", "intended_mbps=1", "--repetitions", "1"]
        if unwanted := UNWANTED[domain]:
            chosen += ["--set", f"platform.without={' '.join(unwanted)}"]
        out = tmp_path / "out"
        assert_measured(vtax("run", scenario, *chosen, "--libvirt-uri", EMBEDDED, "--out", out))
        flows = Result.open(out).query("SELECT frames_received, loss_ratio FROM flows").to_pylist()
        assert flows
        assert all(flow["frames_received"] > 0 and flow["loss_ratio"] == 0 for flow in flows)


@pytest.mark.skipif(not DEVICE.exists(), reason="no /dev/kvm here")
def test_the_emulators_user_has_kvm_and_nobody_elses_rights_change(tmp_path: Path) -> None:
    before = DEVICE.stat()
    command = Hypervisor(EMBEDDED).command("look")
    entering = command[: command.index(hypervisors.find_python())]
    ask = ["sh", "-c", f"exec 3<>{DEVICE} && id -u"]
    user = emulator_user(None)
    done = subprocess.run(
        [*entering, *as_user(user), *ask], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == [str(user)], done.stderr
    assert DEVICE.stat() == before
    assert subprocess.run([*entering, *as_user(user + 1), *ask], check=False).returncode != 0


class TestGuest:
    def test_it_answers_and_ends_with_its_keeper(self, plan: GuestPlan) -> None:
        """As of Proxmox: i440fx with an e1000."""
        guest = libvirt.Kind().start(replace(plan, config=config("proxmox")))
        guest.agent.api.ping()
        assert interfaces(plan.host) == {"lo", "guestp0"}
        assert {"vcpu 0", "emulator"} == {component for _, component in guest.threads().values()}
        status = status_of(guest.emulator[0])
        ids = {int(number) for number in (*status["Uid"].split(), *status["Gid"].split())}
        assert all(number >= 0x80000 for number in ids)
        assert {int(status[kind], 16) for kind in ("CapEff", "CapPrm")} == {0}
        assert status["Seccomp"] == "2"
        with os.fdopen(os.pidfd_open(guest.emulator[0])) as emulator:
            os.kill(guest.agent.process.pid, signal.SIGKILL)
            assert select.select([emulator], [], [], 60)[0], "the emulator runs on"
        guest.stop()
        assert interfaces(plan.host) == {"lo"}
        assert guest.threads() == {}
        guest.stop()

    def test_one_that_hangs_halfway_is_ended_with_its_domain(self, plan: GuestPlan) -> None:
        guest = libvirt.Kind().start(replace(plan, config=config("proxmox")))
        os.killpg(guest.agent.process.pid, signal.SIGSTOP)
        emulator, _ = guest.emulator
        os.kill(emulator, signal.SIGSTOP)
        with pytest.raises(AgentGone):
            guest.agent.api.ping(timeout_s=0.5)
        with os.fdopen(os.pidfd_open(emulator)) as handle:
            guest.stop()
            assert select.select([handle], [], [], 60)[0], "readable as soon as its process has ended"
        assert interfaces(plan.host) == {"lo"}


class TestRefusals:
    def test_a_hypervisor_that_hangs_as_it_starts_is_not_waited_for(
        self, plan: GuestPlan, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keep = guests.keep

        def hang(*arguments: Any) -> tuple[Agent, int]:
            agent, answer = keep(*arguments)
            os.killpg(agent.process.pid, signal.SIGSTOP)
            return agent, answer

        kind, chosen = libvirt.Kind(), config("proxmox")
        kind.prepare(chosen)  # before the limit is lowered: another machine's may need it
        monkeypatch.setattr(kinds, "keep", hang)
        monkeypatch.setattr(guests, "ANSWER_LIMIT_S", 1.0)
        with pytest.raises(AgentGone, match="did not start the domain within 1 s; needs the domain changed"):
            kind.start(replace(plan, config=chosen))
        assert interfaces(plan.host) == {"lo"}

    def test_a_daemon_that_cannot_be_reached_is_named(self) -> None:
        refusal = "Failed to connect socket to '/nowhere'"
        with pytest.raises(PlatformUnusable, match=re.escape(refusal)) as refused:
            Hypervisor("qemu+unix:///system?socket=/nowhere").ask()
        assert "\n" not in str(refused.value)
        assert refused.value.fix.startswith("needs ")

    @pytest.mark.parametrize(
        ("old", "new", "refusal"),
        [
            ("/usr/bin/qemu-system-x86_64", "/usr/libexec/qemu-kvm", "/usr/libexec/qemu-kvm"),
            ("pc-q35-6.2", "pc-q35-rhel9.2.0", "pc-q35-rhel9.2.0"),
            ("<resource><partition>/machine</partition></resource>", HUGE_PAGES, "hugetlbfs"),
        ],
    )
    def test_what_this_machine_has_not_is_named_before_anything_starts(
        self, tmp_path: Path, old: str, new: str, refusal: str
    ) -> None:
        content = (DOMAINS / "openstack.xml").read_text()
        assert old in content
        domain = tmp_path / "domain.xml"
        domain.write_text(content.replace(old, new))
        with pytest.raises(PlatformUnusable, match=re.escape(refusal)) as refused:
            libvirt.Kind().prepare(config(domain))
        assert "\n" not in str(refused.value)

    def test_a_daemon_that_stops_answering_is_not_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hypervisors, "ANSWER_LIMIT_S", 1.0)
        path = tmp_path / "socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            with pytest.raises(PlatformUnusable, match="did not answer within 1 s"):
                Hypervisor(f"qemu+unix:///system?socket={path}").ask()
