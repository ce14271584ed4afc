"""Ports: what this machine has of them, and what does not go together with them."""

from pathlib import Path

import pytest

from tests.helpers.scenarios import refusal_of, write_scenario
from vtax.platforms import PlatformUnusable
from vtax.testbed.ports import PORTS, macvtap, vf

SCENARIO = """
name: test/switch
title: A test
question: What is refused?
workload: {kind: forwarding, streams: 1}
testbed: {switch: bridge}
factors: {platform: [container]}
repetitions: 1
"""


def test_what_this_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PlatformUnusable, match="no ovsdb-server command found") as lacking:
        PORTS["ovs"].find()
    assert lacking.value.fix.endswith("openvswitch-switch")
    monkeypatch.setattr(macvtap, "DEVICES", tmp_path / "devices")
    (tmp_path / "devices").write_text("Character devices:\n  1 mem\n")
    with pytest.raises(PlatformUnusable, match=r"no macvtap.*modprobe macvtap"):
        PORTS["macvtap"].find()


def test_virtual_functions_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vf, "DEVICES", tmp_path)
    with pytest.raises(PlatformUnusable, match="no NIC of this machine has virtual functions"):
        PORTS["vf"].find()
    (tmp_path / "eth7/device").mkdir(parents=True)
    (tmp_path / "eth7/device/sriov_totalvfs").write_text("63\n")
    with pytest.raises(PlatformUnusable, match="eth7 can have 63 of them; links of the built-in testbed"):
        PORTS["vf"].find()


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("switch: routed}", "IPv4 alone"),
        ("switch: hub}", '"hub" is not allowed'),
    ],
)
def test_what_does_not_go_together_is_refused(keys: str, problem: str, tmp_path: Path) -> None:
    text = SCENARIO.replace("streams: 1", "streams: 1, ip_version: 6")
    assert problem in refusal_of(write_scenario(text, tmp_path, "switch: bridge}", keys))


@pytest.mark.parametrize(
    ("switch", "work", "problem"),
    [
        ("routed", "vlan: 7", "a VLAN ends at a router"),
        ("macvtap", "trace: stages", "no hook sees a frame enter a NIC"),
    ],
)
def test_frames_that_a_switch_cannot_have_are_refused(
    switch: str, work: str, problem: str, tmp_path: Path
) -> None:
    text = SCENARIO.replace("switch: bridge", f"switch: {switch}")
    assert problem in refusal_of(write_scenario(text, tmp_path, "streams: 1", f"streams: 1, {work}"))
