"""What files need beyond plain traffic: what each key declares, what was typed, and who is asked for the rest."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

import vtax.campaign
from tests.helpers.paths import ROOT
from vtax import campaign
from vtax.campaign.needs import needs_of
from vtax.cli import main
from vtax.cluster import block
from vtax.cluster.collect import begin, order_of
from vtax.cluster.testbeds import TestbedsFile as SeveralTestbeds
from vtax.cluster.testbeds import read_testbeds
from vtax.cluster.work import Order, _carry_out
from vtax.inputs import InputError
from vtax.inputs.needs import NEED_KINDS, Need, Request, read_kinds, require
from vtax.machine import ssh
from vtax.platforms import presets
from vtax.platforms.preset import kinds, load_kind
from vtax.scenario import Scenario, list_scenarios, load_scenario
from vtax.testbed.machines import OneMachine
from vtax.testbed.remote import SeveralMachines, read_testbed

TESTBEDS = Path(vtax.__file__).parent / "data/testbeds"
WIRES = "eth1=ens4 eth2=ens5"
ATTACKED = {"platform": {"wires": WIRES}, "factors": {"platform": ["raw", "attached:root@victim"]}}
TYPED = ["--platform", "raw,attached:root@victim", "--set", f"platform.wires={WIRES}"]
PROGRAM: dict[str, Any] = {
    "kind": "program",
    "server": ["sh", "-c", "echo\nready"],
    "ready": "ready",
    "client": ["./client.sh"],
    "files": ["client.sh"],
    "packages": ["dash"],
}
JOBS = "system: slurm, testbeds: 2, walltime: '1:00:00', shared_directory: /s"
ASKED = [
    ("hosts", "root@victim over SSH, where vtax works as root"),
    ("interfaces", "eth1 of this machine, joined to ens4 of root@victim"),
    ("interfaces", "eth2 of this machine, joined to ens5 of root@victim"),
]


def written(directory: Path, **changes: Any) -> str:
    """A scenario of somebody else's."""
    keys: dict[str, Any] = {
        "name": "foreign/scenario",
        "title": "A",
        "question": "B?",
        "workload": {"kind": "forwarding", "warmup_s": 0, "duration_s": 1, "frame_bytes": 64},
        "factors": {"platform": ["raw"]},
        "repetitions": 1,
    }
    path = directory / "foreign.yaml"
    path.write_text(yaml.safe_dump({**keys, **changes}, sort_keys=False))
    (directory / "client.sh").write_text("#!/bin/sh\n")
    return str(path)


def kinds_of(needs: list[Need]) -> list[tuple[str, str]]:
    return [(need.kind, need.detail) for need in needs]


def untyped(scenario: Scenario) -> list[tuple[str, str]]:
    return kinds_of([need for need in needs_of(scenario) if not need.is_typed])


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is reached, looked at or written."""

    def fail(*_: object, **__: object) -> NoReturn:
        pytest.fail("it went on")

    for place, name in (
        (vtax.campaign, "probe"),
        (vtax.campaign, "workload_of"),
        (vtax.campaign, "_writer"),
        (OneMachine, "reach"),
        (SeveralMachines, "reach"),
        (SeveralMachines, "attempt"),
        (ssh, "ssh_to"),
    ):
        monkeypatch.setattr(place, name, fail)
    monkeypatch.setattr("vtax.cluster.run.opened", fail)


class TestDeclared:
    def test_plain_scenarios_need_nothing(self) -> None:
        needs = {summary.name: needs_of(load_scenario(summary.name)) for summary in list_scenarios()}
        programs = {name for name, found in needs.items() if found}
        assert programs == {"examples/redis", "matthews2009/http", "matthews2009/http-across"}
        assert {need.kind for found in needs.values() for need in found} == {"programs"}

    def test_no_preset_needs_anything_by_itself(self) -> None:
        assert {name: preset.needs({}) for name, preset in presets().items() if preset.needs({})} == {}

    def test_what_a_preset_names_was_not_typed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        directory = tmp_path / "presets"
        directory.mkdir()
        preset = directory / "theirs.yaml"
        preset.write_text("{title: theirs, kind: attached, config: {host: root@victim}}")
        monkeypatch.setattr("vtax.campaign.needs.presets", lambda: presets(directory))
        (need,) = needs_of(load_scenario(written(tmp_path)).override(["theirs"]))
        assert (need.detail, need.is_typed, need.where) == (ASKED[0][1], False, str(preset))
        mine = load_scenario(written(tmp_path)).override(["theirs"], ["platform.host=root@mine"])
        assert [need.is_typed for need in needs_of(mine)] == [True]

    def test_keys_that_name_a_host_or_a_file_declare_it(self) -> None:
        """A kind whose name takes an argument reaches for what that names."""
        named = [kind for kind in kinds() if hasattr(load_kind(kind), "ARGUMENT")]
        assert len(named) == 3
        for kind in named:
            argument = load_kind(kind).ARGUMENT
            (need,) = load_kind(kind).Config.needs({argument.key: "theirs"})
            assert need.keys[0] == argument.key
            assert "theirs" in need.detail

    def test_programs(self, tmp_path: Path) -> None:
        needs = needs_of(load_scenario(written(tmp_path, workload=PROGRAM)))
        assert kinds_of(needs) == [
            ("programs", "server sh -c 'echo\nready', as nobody"),
            ("programs", "client ./client.sh, as nobody"),
            ("programs", "files client.sh, which are kept in the result"),
            ("programs", "Debian packages dash"),
        ]
        assert (
            str(needs[0]) == rf"programs: server sh -c 'echo\nready', as nobody ({tmp_path}/foreign.yaml:6)"
        )

    def test_a_container_runtime_that_nobody_knows_is_a_program(self, tmp_path: Path) -> None:
        for runtime, found in (
            ("crun", []),
            ("reboot", [("programs", "reboot, started as root as an OCI runtime")]),
        ):
            factors = {"platform": ["raw", "container"]}
            path = written(tmp_path, factors=factors, platform={"runtime": runtime})
            assert untyped(load_scenario(path)) == found

    @pytest.mark.parametrize(
        ("changes", "needs"),
        [
            (ATTACKED, ASKED),
            (
                {"factors": {"platform": ["attached"], "platform.host": ["a", "b"]}},
                [
                    (kind, f"{name} over SSH, where vtax works as root")
                    for kind, name in (("hosts", "a"), ("hosts", "b"))
                ],
            ),
            (
                {"factors": {"platform": ["libvirt:web.xml"]}},
                [("domains", "web.xml, which libvirt starts")],
            ),
            (
                {"factors": {"platform": ["esxi-e1000:theirs"]}, "platform": {"credentials": "DATABASE"}},
                [("hosts", "theirs over HTTPS, with what DATABASE_USER and _PASSWORD hold")],
            ),
            ({"factors": {"platform": ["raw", "nosuch"]}}, []),
            ({"platform": {"wires": WIRES}}, []),
        ],
    )
    def test_platforms(self, changes: dict[str, Any], needs: list[tuple[str, str]], tmp_path: Path) -> None:
        assert untyped(load_scenario(written(tmp_path, **changes))) == needs

    def test_machines(self) -> None:
        found = {path.stem: kinds_of([*read_testbed(path).needs]) for path in TESTBEDS.glob("*.yaml")}
        assert found["emulated-xen"] == found["emulated-kvm"] == []
        assert found["two-machines"] == [
            ("hosts", "gen is gen over SSH, where vtax works as root"),
            ("interfaces", "ens1f0 ens1f1 of gen"),
            ("hosts", "uut is uut over SSH, where vtax works as root"),
            ("interfaces", "ens1f0 ens1f1 of uut"),
        ]
        assert OneMachine().needs == ()

    @pytest.mark.parametrize(
        ("text", "needs"),
        [
            (
                "scheduler: {address: 'tls://10.0.0.1:1', certificates: c}",
                [("hosts", "the scheduler at tls://10.0.0.1:1")],
            ),
            (
                "{control: 10.0.0.1, run_with: [sudo, -n], testbed: lab.yaml, machines: {a: {address: h, python: p}}}",
                [
                    ("hosts", "a is h over SSH, where p runs"),
                    ("programs", "sudo -n, before the command that measures a block"),
                    ("hosts", "those of the file lab.yaml of each testbed"),
                    ("interfaces", "those of the file lab.yaml of each testbed"),
                ],
            ),
            (
                f"{{control: 10.0.0.1, jobs: {{{JOBS}, directives: [--x], prologue: [rm -r /]}}}}",
                [
                    ("hosts", "2 of slurm"),
                    ("programs", "--x, in each job"),
                    ("programs", "rm -r /, in each job"),
                ],
            ),
        ],
    )
    def test_testbeds(self, text: str, needs: list[tuple[str, str]], tmp_path: Path) -> None:
        assert kinds_of([*file_of(text, tmp_path).needs]) == needs

    @pytest.mark.parametrize(
        "text",
        [
            "{control: c, machines: {a: {address: h, python: 'sh -c evil; python3'}}}",
            f'{{control: c, jobs: {{{JOBS}, queue: "q\\nevil"}}}}',
            f"{{control: c, jobs: {{{JOBS}, python: 'x;y'}}}}",
        ],
    )
    def test_a_testbeds_file_hides_no_command(self, text: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"python|queue"):
            file_of(text, tmp_path)


def file_of(text: str, directory: Path) -> SeveralTestbeds:
    path = directory / "testbeds.yaml"
    path.write_text(text)
    return read_testbeds(path)


class TestTyped:
    def test_what_is_typed_is_granted(self, tmp_path: Path) -> None:
        path = written(tmp_path)
        platforms = ["raw", "attached:root@victim"]
        typed = load_scenario(path).override(platforms, [f"platform.wires={WIRES}"])
        assert untyped(typed) == []
        assert kinds_of(needs_of(typed)) == ASKED
        assert (
            untyped(
                load_scenario(path).override(
                    None, [f"platform.wires={WIRES}", "platform=attached:root@victim"]
                )
            )
            == []
        )
        assert untyped(load_scenario(path).override(platforms)) == []

    def test_what_the_file_adds_to_it_is_not(self, tmp_path: Path) -> None:
        path = written(tmp_path, platform={"wires": WIRES})
        assert untyped(load_scenario(path).override(["attached:root@victim"])) == ASKED[1:]
        path = written(tmp_path, platform={"host": "root@victim"})
        (need,) = needs_of(load_scenario(path).override(["attached:root@mine"]))
        assert (need.is_typed, need.detail, need.where) == (False, ASKED[0][1], f"{path}:14")
        path = written(tmp_path, platform={"credentials": "DATABASE"})
        assert len(untyped(load_scenario(path).override(["esxi-e1000:mine"]))) == 1

    def test_a_file_cannot_say_that_it_was_typed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By its name, for one."""
        directory = tmp_path / "--set"
        directory.mkdir()
        monkeypatch.chdir(tmp_path)
        written(directory, **ATTACKED)
        assert untyped(load_scenario("--set/foreign.yaml")) == ASKED

    def test_a_replaced_value_is_nobodys(self, tmp_path: Path) -> None:
        assert untyped(load_scenario(written(tmp_path, **ATTACKED)).override(["raw"])) == []


@pytest.mark.usefixtures("untouched")
class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "typed", "missing"),
        [
            (ATTACKED, [], "hosts,interfaces"),
            (ATTACKED, ["--allow", "hosts"], "interfaces"),
            ({"workload": PROGRAM}, [], "programs"),
            ({"workload": PROGRAM}, ["--allow", "domains,hosts,interfaces,stored"], "programs"),
            ({}, ["--testbed", f"{TESTBEDS}/two-machines.yaml"], "hosts,interfaces"),
            ({}, ["--testbeds", "TESTBEDS"], "programs,hosts"),
            ({"workload": PROGRAM}, ["--testbeds", "TESTBEDS", "--allow", "hosts"], "programs"),
        ],
    )
    def test_the_option_that_grants_what_is_missing_is_named(
        self,
        changes: dict[str, Any],
        typed: list[str],
        missing: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        file = tmp_path / "testbeds.yaml"
        file.write_text(
            "{control: 127.0.0.1, run_with: [sudo], machines: {a: {address: h.invalid, python: p}}}"
        )
        typed = [str(file) if word == "TESTBEDS" else word for word in typed]
        out = tmp_path / "out"
        assert main(["run", written(tmp_path, **changes), *typed, "--out", str(out)]) == 2
        said = capsys.readouterr().err.splitlines()
        assert said[0] == "foreign/scenario needs more than was typed:"
        assert said[-1] == f"to grant this, add --allow {missing}"
        assert {line.split()[0] for line in said[1:-1]} == {f"{kind}:" for kind in missing.split(",")}
        assert not out.exists()

    def test_by_the_library_as_well(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        foreign = load_scenario(written(tmp_path, **ATTACKED))
        with pytest.raises(InputError, match="add --allow interfaces"):
            campaign.run(foreign, out=tmp_path / "out", allow={"hosts"}, progress=block.Notes())
        assert capsys.readouterr() == ("", "")

    def test_a_checked_testbed(self, capsys: pytest.CaptureFixture[str]) -> None:
        file = f"{TESTBEDS}/two-machines.yaml"
        assert main(["testbed", "check", file]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"{file} needs more than was typed:",
            "  hosts: gen is gen over SSH, where vtax works as root",
            "  hosts: uut is uut over SSH, where vtax works as root",
            "  interfaces: ens1f0 ens1f1 of gen",
            "  interfaces: ens1f0 ens1f1 of uut",
            "to grant this, add --allow hosts,interfaces",
        ]

    def test_bad_values_are_named_before_anybody_is_asked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        factors = {"platform": ["attached:-oProxyCommand=evil"]}
        assert main(["run", written(tmp_path, factors=factors, platform={"wires": WIRES})]) == 2
        said = capsys.readouterr().err
        assert 'factors.platform: "-oProxyCommand=evil": string should match pattern' in said
        assert "Grant" not in said

    def test_another_word_is_no_grant(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "quick", "--allow", "program"]) == 2
        assert '--allow: "program" cannot be granted; did you mean "programs"?' in capsys.readouterr().err


class Terminal(io.StringIO):
    """Where somebody types."""

    def isatty(self) -> bool:
        return True


class TestGranted:
    @pytest.fixture
    def reached(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What is reached after all is granted; it is the end of the campaign."""
        reached: list[str] = []

        def reach(machines: Any) -> NoReturn:
            reached.append(machines.name)
            raise InputError("reached")

        monkeypatch.setattr(OneMachine, "reach", reach)
        monkeypatch.setattr(SeveralMachines, "reach", reach)
        return reached

    @pytest.mark.parametrize(
        ("changes", "typed"),
        [
            (ATTACKED, ["--allow", "hosts,interfaces"]),
            (ATTACKED, ["--allow", "hosts", "--allow", "interfaces"]),
            (ATTACKED, TYPED),
            ({}, TYPED),
            ({"workload": PROGRAM}, ["--allow", "programs"]),
            ({}, ["--testbed", f"{TESTBEDS}/two-machines.yaml", "--allow", "interfaces,hosts"]),
            ({}, ["--testbed", f"{TESTBEDS}/emulated-kvm.yaml"]),
            ({}, []),
        ],
    )
    def test_by_name(
        self,
        changes: dict[str, Any],
        typed: list[str],
        tmp_path: Path,
        reached: list[str],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert main(["run", written(tmp_path, **changes), *typed, "--out", str(tmp_path / "out")]) == 2
        assert len(reached) == 1
        shown = capsys.readouterr().err.splitlines()
        assert shown[-1] == "reached"
        assert ("needs more than was typed" in shown[0]) is ("--allow" in typed)

    @pytest.mark.parametrize(("answer", "is_granted"), [("y\n", True), ("n\n", False), ("", False)])
    def test_by_an_answer_at_a_terminal(
        self,
        answer: str,
        is_granted: bool,
        tmp_path: Path,
        reached: list[str],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        assert main(["run", written(tmp_path, **ATTACKED), "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert said.endswith("reached\n" if is_granted else "hosts and interfaces not granted\n")
        assert "  hosts: root@victim over SSH, where vtax works as root" in said
        assert said.count("Grant hosts and interfaces? [y/N]") == 1
        assert len(reached) == is_granted

    def test_escapes_reach_no_terminal(
        self, tmp_path: Path, reached: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        program = {**PROGRAM, "server": ["\x1b]52;c;bmM=\x07", "\n  programs: nothing, really"]}
        for more in ([], ["--allow", "programs"]):
            main(["run", written(tmp_path, workload=program), "--out", str(tmp_path / "out"), *more])
            said = capsys.readouterr().err
            assert "\x1b" not in said
            assert "\n  programs: nothing" not in said

    def test_testbeds_are_told_what_is_granted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The controllers have no command line of the user's to go by."""
        scenario = load_scenario(written(tmp_path)).override(
            ["raw", "attached:root@victim"], [f"platform.wires={WIRES}"]
        )
        file = file_of("scheduler: {address: 'tls://10.0.0.1:1', certificates: c}", tmp_path)
        with begin(tmp_path / "out", scenario, 7) as writer:
            order = order_of(writer, scenario, file)
        assert order["allow"] == ["hosts", "interfaces"]
        assert command_for(order, monkeypatch)[-2:] == ["--allow", "hosts,interfaces"]
        with pytest.raises(InputError, match="cannot be granted"):
            read_kinds(["hosts", "all"])
        assert read_kinds(["hosts,interfaces", "programs"]) == {"hosts", "interfaces", "programs"}


def command_for(order: Order, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What measures a block of an order."""
    commands: list[list[str]] = []

    def start(command: list[str], **_: object) -> NoReturn:
        commands.append(command)
        raise FileNotFoundError

    monkeypatch.setattr("vtax.cluster.work.subprocess.Popen", start)
    with pytest.raises(FileNotFoundError):
        _carry_out(Path("result"), order)
    return commands[0]


def test_no_module_of_the_workers_directory_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `run_with: [sudo, -n]` its code would be root's: whoever may write that directory plants one."""
    file = file_of("scheduler: {address: 'tls://10.0.0.1:1', certificates: c}", tmp_path)
    with begin(tmp_path / "out", load_scenario("quick"), 7) as writer:
        order = order_of(writer, load_scenario("quick"), file)
    head = [sys.executable, "-P", "-m", "vtax.cluster.block"]
    command = command_for(order, monkeypatch)
    assert command[:4] == head
    with_rights: Order = {**order, "run_with": ["sudo", "-n"]}
    assert command_for(with_rights, monkeypatch)[:6] == ["sudo", "-n", *head]
    (tmp_path / "vtax.py").write_text("print('taken over')")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    monkeypatch.undo()  # what starts processes is as it was
    for words, said in ((command, ""), ([word for word in command if word != "-P"], "taken over\n")):
        done = subprocess.run(
            words,
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert done.stdout == said


def test_one_request_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    needs = [Need(kind, kind.upper()) for kind in reversed(NEED_KINDS)]
    require("it", [*needs, *needs], ["hosts"], requests.append)
    (request,) = requests
    assert [need.kind for need in request.needs] == [*NEED_KINDS]
    assert request.missing == [kind for kind in NEED_KINDS if kind != "hosts"]
    require("it", [], [], lambda _: pytest.fail("it was asked"))
