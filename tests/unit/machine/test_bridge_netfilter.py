"""Netfilter in bridges: off unless a scenario asks for it, noticed in each trial, and named by the doctor."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.bridge_netfilter import OFF, ON, SCENARIO
from tests.helpers.noted_machines import NotedMachines
from tests.helpers.scenarios import CPUS, refusal_of, write_scenario
from tests.helpers.trials import make_cell, make_measured
from vtax.campaign.environment import environment_rows
from vtax.campaign.platform_set import PlatformSet, probe, resolve
from vtax.doctor.machine import bridge_netfilter
from vtax.doctor.testbed import _netfilter
from vtax.keys.cell import Cell
from vtax.machine import bridge_netfilter as sysctl
from vtax.machine.bridge_netfilter import BridgeNetfilter, read_bridge_netfilter, set_bridge_netfilter
from vtax.machine.environment import host_environment
from vtax.platforms import Probe
from vtax.scenario import load_scenario
from vtax.testbed.dedicated import dedicated
from vtax.testbed.machines import OneMachine
from vtax.testbed.neighbours import own_links
from vtax.testbed.settings import LocalSettings
from vtax.testbed.testbed import Testbed
from vtax.trial.guest import is_broken
from vtax.trial.interference import interference_findings
from vtax.trial.settings import settings_of
from vtax.trial.verdict import Verdict


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in place of the kernel's, still without br_netfilter's settings."""
    monkeypatch.setattr(sysctl, "SETTINGS", tmp_path / "bridge")
    return tmp_path / "bridge"


def load(kernel: Path, *values: int) -> None:
    """Have the kernel load br_netfilter, with these values for iptables, ip6tables and arptables."""
    kernel.mkdir()
    for table, value in zip(sysctl.TABLES, values, strict=True):
        (kernel / f"bridge-nf-call-{table}").write_text(f"{value}\n")


class TestSettings:
    def test_a_kernel_without_it_has_nothing_to_switch_off(self, kernel: Path) -> None:
        assert read_bridge_netfilter() is None
        set_bridge_netfilter(False)
        assert not kernel.exists()

    def test_a_kernel_without_it_cannot_switch_it_on(self, kernel: Path) -> None:
        with pytest.raises(OSError, match="cannot switch netfilter on for bridges, which pass no frame"):
            set_bridge_netfilter(True)

    @pytest.mark.parametrize("enabled", [False, True])
    def test_all_three_are_set(self, kernel: Path, enabled: bool) -> None:
        load(kernel, 0, 1, 1)
        set_bridge_netfilter(enabled)
        assert read_bridge_netfilter() == (ON if enabled else OFF)

    def test_a_setting_that_does_not_take_is_noticed(self, kernel: Path) -> None:
        load(kernel, 1, 1, 1)
        stuck = kernel / "bridge-nf-call-arptables"
        stuck.unlink()
        stuck.symlink_to("/dev/null")
        with pytest.raises(OSError, match=r"cannot switch netfilter off .* pass frames to arptables"):
            set_bridge_netfilter(False)


class TestKey:
    def test_it_is_off_unless_asked_for(self, tmp_path: Path) -> None:
        (cell,) = load_scenario(write_scenario(SCENARIO, tmp_path)).cells()
        assert cell.testbed.bridge_netfilter is False
        assert settings_of(cell, {}).bridge_netfilter is False
        on = write_scenario(SCENARIO, tmp_path, "flow_control: true", "bridge_netfilter: true")
        (cell,) = load_scenario(on).cells()
        assert settings_of(cell, {}).bridge_netfilter is True

    @pytest.mark.parametrize("name", ["bridge_netfilter", "testbed.bridge_netfilter"])
    def test_it_is_a_factor_whose_levels_have_testbeds_of_their_own(self, name: str, tmp_path: Path) -> None:
        scenario = load_scenario(write_scenario(SCENARIO, tmp_path)).override(sets=[f"{name}=false,true"])
        cells = scenario.cells()
        assert [cell.factors["bridge_netfilter"] for cell in cells] == [False, True]
        assert [cell.testbed.bridge_netfilter for cell in cells] == [False, True]
        assert len({cell.plot for cell in cells}) == 2

    def test_no_other_value_is_taken(self, tmp_path: Path) -> None:
        path = write_scenario(SCENARIO, tmp_path, "flow_control: true", "bridge_netfilter: iptables")
        assert '"iptables" is neither true nor false' in refusal_of(path)


@pytest.mark.parametrize("enabled", [False, True])
def test_every_host_of_a_testbed_is_made_with_it(enabled: bool) -> None:
    settings, machines = LocalSettings(None, False, 1500, CPUS, bridge_netfilter=enabled), NotedMachines()
    testbed = Testbed(dedicated(settings, "bridge", 1, machines.roles), machines)
    testbed.build()
    Testbed(own_links(settings, "bridge", 1), machines, around=testbed).build()
    created = [params for method, params in machines.acts if method == "host.create"]
    assert created == [
        {"host": host, "arguments": {"bridge_netfilter": enabled}}
        for host in ("source", "uut", "sink", "far")
    ]


def probed(found: BridgeNetfilter | None, tmp_path: Path, values: str) -> tuple[list[Cell], PlatformSet]:
    """The cells of these values, on machines of which the sink's alone has this to tell."""
    scenario = load_scenario(write_scenario(SCENARIO, tmp_path)).override(
        platforms=["raw", "container"], sets=[f"bridge_netfilter={values}"]
    )
    cells = list(scenario.cells())
    platforms = resolve(scenario, cells)

    def machine(host: str) -> SimpleNamespace:
        return SimpleNamespace(
            name=f"{host}'s machine",
            is_emulated=False,
            environment=lambda: SimpleNamespace(bridge_netfilter=found if host == "sink" else ON),
            prepare=lambda *_: Probe("none", {}),
            find_switch=lambda _: {},
            check_protocols=lambda *_: None,
            require_protocols=lambda _: None,
        )

    roles = {"source": ["source"], "uut": ["uut"], "sink": ["sink"]}
    probe(platforms, cells, SimpleNamespace(machine=machine, roles=roles))  # type: ignore[arg-type]
    return cells, platforms


class TestRefusal:
    def test_true_is_refused_where_a_machine_has_no_br_netfilter(self, tmp_path: Path) -> None:
        cells, platforms = probed(None, tmp_path, "false,true")
        assert set(platforms.refused) == {cell.key for cell in cells if cell.testbed.bridge_netfilter}
        assert {cell.platform for cell in cells if cell.key in platforms.refused} == {"raw", "container"}
        (why,) = {(refused.reason, refused.fix) for refused in platforms.refused.values()}
        assert why[0] == "the kernel of sink's machine has no br_netfilter loaded, and so no bridge_netfilter"
        assert "modprobe br_netfilter" in why[1]

    @pytest.mark.parametrize("found", [OFF, ON])
    def test_it_is_taken_where_all_have_it(self, found: BridgeNetfilter, tmp_path: Path) -> None:
        assert probed(found, tmp_path, "false,true")[1].refused == {}


class TestTrial:
    def found(
        self, wanted: bool, **by_host: BridgeNetfilter | None
    ) -> tuple[list[tuple[Verdict, str]], bool]:
        """What a trial is told that wanted this and ended so, and whether its path is of no more use."""
        cell = make_cell()
        cell = replace(cell, testbed=cell.testbed.model_copy(update={"bridge_netfilter": wanted}))
        measured = make_measured(cell)
        measured.bridge_netfilter = by_host
        return list(interference_findings(measured)), is_broken(measured)

    def test_it_is_valid_with_what_was_asked_for(self) -> None:
        assert self.found(False, uut=OFF, sink=None) == ([], False)
        assert self.found(True, uut=ON) == ([], False)

    @pytest.mark.parametrize(
        ("wanted", "ended", "did"),
        [
            (False, ON, "pass frames to iptables, ip6tables, arptables"),
            (False, {**OFF, "ip6tables": True}, "pass frames to ip6tables"),
            (True, OFF, "pass no frame to netfilter"),
            (True, None, "pass no frame to netfilter"),
        ],
    )
    def test_it_is_invalid_with_anything_else_and_hosts_are_made_anew(
        self, wanted: bool, ended: BridgeNetfilter | None, did: str
    ) -> None:
        ((verdict, reason),), broken = self.found(wanted, uut=ended, source=ON if wanted else OFF)
        assert verdict is Verdict.INVALID
        assert reason.startswith(f"bridges of uut {did}, against testbed.bridge_netfilter")
        assert broken

    def test_each_machine_has_a_row_with_its_hosts(self) -> None:
        def machine(host: str) -> SimpleNamespace:
            name = "gen" if host in ("source", "switch") else host
            return SimpleNamespace(name=name, environment_columns=lambda: {"own_bridge_netfilter": "null"})

        roles = {"source": ["source"], "uut": ["uut"], "sink": ["sink"]}
        machines: Any = SimpleNamespace(machine=machine, roles=roles)
        rows = environment_rows(machines, {"source": ON, "switch": OFF, "uut": None})
        assert {row["host"]: json.loads(row["bridge_netfilter"]) for row in rows} == {
            "uut": {"uut": None},
            "gen": {"source": ON, "switch": OFF},
            "sink": {},
        }

    def test_the_machines_own_is_a_fact_that_the_digest_leaves_out(self, kernel: Path) -> None:
        without = host_environment()
        load(kernel, 1, 1, 1)
        facts = host_environment()
        assert (without.bridge_netfilter, facts.bridge_netfilter) == (None, ON)
        assert without.hash == facts.hash == facts.stable_hash
        columns = OneMachine().machine("uut").environment_columns()
        assert json.loads(columns["own_bridge_netfilter"] or "") == ON


class TestDoctor:
    def test_a_machine_whose_bridges_pass_frames_is_warned_of_with_the_fix(
        self, kernel: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load(kernel, 1, 0, 1)
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        check = bridge_netfilter()
        assert (check.group, check.subject, check.usable) == ("machine", "bridge netfilter", False)
        assert (
            "own bridges pass frames to iptables, arptables, which takes time, and vtax's do not"
            in check.detail
        )
        assert check.fix == (
            "sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0 "
            "net.bridge.bridge-nf-call-arptables=0"
        )
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert (bridge_netfilter().fix or "").startswith("sudo sysctl")

    def test_all_is_well_where_none_do(self, kernel: Path) -> None:
        assert bridge_netfilter().usable
        load(kernel, 0, 0, 0)
        check = bridge_netfilter()
        assert (check.usable, check.fix) == (True, None)
        assert check.detail == "this machine's own bridges pass no frame to netfilter"

    def test_machines_of_a_testbed_are_told_of_likewise(self) -> None:
        assert _netfilter(None) == _netfilter(OFF) == ""
        told = _netfilter({**OFF, "iptables": True})
        assert told.startswith("; its own bridges pass frames to iptables, vtax's do not")
        assert "sysctl -w net.bridge.bridge-nf-call-iptables=0" in told
