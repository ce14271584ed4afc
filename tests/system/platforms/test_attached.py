"""Attached machines: sshd in a namespace is one, with two interfaces that lead to the testbed's ports."""

import os
import re
import subprocess
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, vtax
from tests.helpers.libvirt_domains import DOMAINS
from tests.helpers.namespaces import interfaces
from vtax.machine.agent import AgentGone
from vtax.machine.borrowed_nic import OWN
from vtax.machine.bridge_netfilter import read_bridge_netfilter
from vtax.machine.namespace import NAMED, Namespace
from vtax.platforms import GuestPlan, PlatformUnusable, attached, console
from vtax.platforms.libvirt.hypervisor import EMBEDDED
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]


@dataclass(frozen=True)
class Machine:
    """A namespace that ssh finds as the host `machine`, and the interfaces that join it to this one's."""

    namespace: Namespace
    directory: Path
    wires: str

    @property
    def config(self) -> attached.Config:
        return attached.Config(host="machine", wires=self.wires)

    def links(self) -> list[str]:
        """Its interfaces as `ip` shows them, without their peers' indices, which may change."""
        command = ["nsenter", f"--net={self.namespace.path}", "ip", "-br", "link"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        return sorted(re.sub(r"@if[0-9]+", "", " ".join(line.split())) for line in lines)


@pytest.fixture
def machine(commands: Path, tmp_path: Path) -> Iterator[Machine]:
    """sshd serves one connection at a time on a pipe, as inetd has it: nothing listens."""
    tag = uuid.uuid4().hex[:4]
    namespace = Namespace(f"vtax-test-{tag}-machine")
    for kind in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / kind], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    server = {
        "HostKey": tmp_path / "host",
        "AuthorizedKeysFile": tmp_path / "user.pub",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "PidFile": "none",
    }
    (tmp_path / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in server.items()))
    served = f"nsenter --net={namespace.path} /usr/sbin/sshd -i -f {tmp_path}/sshd_config"
    client = {
        "User": "root",
        "IdentityFile": tmp_path / "user",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": tmp_path / "known_hosts",
        "ProxyCommand": served,
    }
    lines = "".join(f"    {key} {value}\n" for key, value in client.items())
    (tmp_path / "ssh_config").write_text(f"Host machine\n{lines}")
    (tmp_path / "known_hosts").write_text(f"machine {(tmp_path / 'host.pub').read_text()}")
    (commands / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {tmp_path}/ssh_config "$@"\n')
    (commands / "ssh").chmod(0o755)
    namespace.create()
    names = [(f"vt{tag}a{number}", f"ens{number}") for number in (4, 5)]
    try:
        for here, there in names:
            peer = {"ifname": there, "net_ns_fd": str(namespace.path)}
            OWN.netlink(lambda ip, here=here, peer=peer: ip.link("add", ifname=here, kind="veth", peer=peer))
        yield Machine(namespace, tmp_path, " ".join(f"{here}={there}" for here, there in names))
    finally:
        for here, _ in names:
            OWN.netlink(
                lambda ip, here=here: [ip.link("del", index=at) for at in ip.link_lookup(ifname=here)]
            )
        namespace.remove()


@pytest.fixture
def _late_drain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What processes complain of is taken out of its pipe by who asks for it alone, as where CPUs are busy."""
    run, over = console._Drain._run, threading.Event()

    def late(drain: console._Drain) -> None:
        over.wait()
        run(drain)

    monkeypatch.setattr(console._Drain, "_run", late)
    yield
    over.set()


class TestCampaign:
    @pytest.mark.platform
    def test_it_forwards_frames_beside_a_domain_and_is_as_it_was(
        self, machine: Machine, tmp_path: Path
    ) -> None:
        """One campaign for both kinds that users bring. The domain is as of OpenStack, one virtio NIC the pattern."""
        domain = f"libvirt:{DOMAINS}/openstack.xml"
        scenario = tmp_path / "scenario.yaml"
        scenario.write_text(f"""
name: test/attached
title: A test
question: Do frames come through machines of one's own?
workload: {{kind: forwarding, warmup_s: 0.1, duration_s: 0.3, streams: 1, frame_bytes: 64}}
testbed: {{link_mbps: 1000, flow_control: true}}
platform: {{wires: {machine.wires}}}
factors:
  platform: ["attached:machine", "{domain}"]
  intended_mbps: [1]
repetitions: 1
figures: [throughput-by-load]
""")
        before, here = machine.links(), interfaces(OWN)
        out = tmp_path / "out"
        assert_measured(
            vtax(
                "run",
                scenario,
                "--libvirt-uri",
                EMBEDDED,
                "--allow",
                "domains,hosts,interfaces",
                "--out",
                out,
            )
        )
        assert machine.links() == before
        assert interfaces(OWN) >= here
        result = Result.open(out)
        flows = result.query(
            "SELECT platform, max(frames_received) AS frames FROM trials JOIN flows USING (trial_id) GROUP BY ALL"
        ).to_pylist()
        assert {flow["platform"]: flow["frames"] > 0 for flow in flows} == {
            "attached:machine": True,
            domain: True,
        }
        facts = {name: platform["facts"] for name, platform in result.campaign["platforms"].items()}
        assert facts["attached:machine"]["guest_kernel"] == os.uname().release
        assert (facts[domain]["nic_model"], facts[domain]["machine"]) == ("virtio", "pc-q35-6.2")
        assert {"disk", "graphics", "uuid"} <= set(facts[domain]["left_out"])
        cpu = result.query("SELECT DISTINCT component FROM cpu WHERE domain = 'guest'").to_pylist()
        assert {"vcpu 0", "emulator"} <= {row["component"] for row in cpu}


class TestGuest:
    def test_a_connection_that_breaks_leaves_the_machine_as_it_was(
        self, machine: Machine, plan: GuestPlan
    ) -> None:
        before = machine.links()
        guest = attached.Kind().start(replace(plan, config=machine.config))
        guest.agent.api.ping()
        assert len(interfaces(plan.host)) == 2
        assert len(machine.links()) < len(before)
        guest.agent.process.kill()
        guest.stop()
        assert interfaces(plan.host) == {"lo"}
        for _ in range(1200):
            if machine.links() == before:
                break
            subprocess.run(["sleep", "0.05"], check=True)
        assert machine.links() == before

    def test_the_namespace_there_is_as_all_of_vtaxs(self, machine: Machine, plan: GuestPlan) -> None:
        before = {path.name for path in NAMED.iterdir()}
        guest = attached.Kind().start(replace(plan, config=machine.config))
        try:
            (name,) = {path.name for path in NAMED.iterdir()} - before
            there = Namespace(name).run(read_bridge_netfilter)
            assert there is None or not any(there.values())
        finally:
            guest.stop()

    def test_the_record_alone_gives_interfaces_back(self, machine: Machine, plan: GuestPlan) -> None:
        here = interfaces(OWN)
        guest = attached.Kind().start(replace(plan, config=machine.config))
        guest.agent.process.kill()
        plan.record.clean()
        assert not plan.record.failed
        assert interfaces(OWN) >= here
        guest.stop()

    @pytest.mark.usefixtures("_late_drain")
    def test_an_agent_that_arrives_damaged_is_not_started(
        self, machine: Machine, plan: GuestPlan, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = machine.links()
        monkeypatch.setattr(
            attached.kind, "agent_variables", lambda binary: {"bytes": "9", "sha256": "0" * 64}
        )
        with pytest.raises(AgentGone, match="received another agent than was sent"):
            attached.Kind().start(replace(plan, config=machine.config))
        assert machine.links() == before
        assert interfaces(plan.host) == {"lo"}


class TestRefusals:
    def test_a_host_key_that_changed_is_a_sentence(self, machine: Machine) -> None:
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", machine.directory / "other"], check=True
        )
        other = (machine.directory / "other.pub").read_text()
        (machine.directory / "known_hosts").write_text(f"machine {other}")
        with pytest.raises(PlatformUnusable, match="the SSH host key of machine has changed") as refused:
            attached.Kind().prepare(machine.config)
        assert "ssh-keygen -R machine" in refused.value.fix
        assert "\n" not in str(refused.value)

    def test_what_the_machine_lacks_is_named(self, machine: Machine) -> None:
        here = machine.wires.partition("=")[0]
        with pytest.raises(PlatformUnusable, match="machine has no interface ens9"):
            attached.Kind().prepare(attached.Config(host="machine", wires=f"{here}=ens9"))
        with pytest.raises(PlatformUnusable, match="interface nosuch of this machine is not there"):
            attached.Kind().prepare(attached.Config(host="machine", wires="nosuch=ens4"))

    def test_interfaces_in_use_are_left_alone(self, machine: Machine) -> None:
        command = [
            "nsenter",
            f"--net={machine.namespace.path}",
            "ip",
            "addr",
            "add",
            "192.0.2.1/24",
            "dev",
            "ens5",
        ]
        subprocess.run(command, check=True)
        with pytest.raises(PlatformUnusable, match="machine has addresses on ens5"):
            attached.Kind().prepare(machine.config)

    def test_too_few_wires_are_named(self, machine: Machine, plan: GuestPlan) -> None:
        nics = [*plan.nics] * 3
        with pytest.raises(PlatformUnusable, match="machine has 2 wires, and this takes 3"):
            attached.Kind().start(replace(plan, config=machine.config, nics=nics))
