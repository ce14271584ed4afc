"""What --resume does: nothing with a complete result, and with another's, or what was not typed, nothing unasked."""

import io
import json
import os
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import vtax.campaign
from tests.helpers.results.recorded import unpack
from vtax.campaign import Outcome, Resumed
from vtax.campaign.needs import require_grants
from vtax.campaign.state import state_of
from vtax.cli import main
from vtax.inputs import InputError, trust
from vtax.inputs.needs import Consent, NeedKind
from vtax.platforms import PlatformUnusable
from vtax.results import Result, ResultWriter, TrialRecord
from vtax.scenario import Scenario, load_scenario
from vtax.testbed.machines import Machines
from vtax.testbed.remote import read_testbed
from vtax.views import document_of

NOBODY = 65534
TESTBED = """
name: lab
machines:
  gen: {ssh: root@gen}
  uut: {ssh: root@uut}
roles: {source: gen, uut: uut}
links:
  - {from: gen/eth1, to: uut/eth1}
  - {from: uut/eth2, to: gen/eth2}
"""
Files = dict[Path, tuple[int, bytes]]


def everything(directory: Path) -> Files:
    """When each file was last written, and what it holds."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def result(directory: Path, scenario: Path, verdicts: Sequence[str] = ("valid",), **manifest: Any) -> Path:
    """A complete result of a scenario whose cells all had trials with these verdicts in each block."""
    asked = load_scenario(str(scenario))
    kept = {"name": asked.name, "scenario": asked.resolved(), "seed": 7, "status": "complete"}
    kept |= {
        "factors": list(asked.cells()[0].factors),
        "ceilings": [{"mechanism": "raw"}],
        "finished_at": "then",
    }
    number = 0
    with ResultWriter.create(directory, {**kept, **manifest}) as writer:
        for block in range(asked.repetitions):
            for cell in asked.cells():
                for verdict in verdicts:
                    number += 1
                    trial = {"trial_id": number, "block": block, "cell": cell.key, "verdict": verdict}
                    reasons = [f"for want of {cell.platform}"] if verdict == "invalid" else []
                    writer.commit(TrialRecord({**trial, "reasons": reasons}))
    return directory


def store(directory: Path, **changes: Any) -> None:
    """Have a result store something else."""
    path = directory / "campaign.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def scenario_with(directory: Path, *keys: str, **values: Any) -> dict[str, Any]:
    """The scenario that a result stores, with another value of a key."""
    stored: dict[str, Any] = json.loads((directory / "campaign.json").read_text())["scenario"]
    return {**stored, **{keys[0]: {**stored[keys[0]], **values}}} if keys else {**stored, **values}


@pytest.fixture
def out(tmp_path: Path, scenario: Path) -> Path:
    return result(tmp_path / "out", scenario)


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine is looked at, held or measured."""
    for name in ("probe", "workload_of", "_writer", "Campaign"):
        monkeypatch.setattr(vtax.campaign, name, lambda *_, name=name: pytest.fail(f"{name} was called"))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Resumed]:
    """The campaigns that go on."""
    went_on: list[Resumed] = []

    def run(
        scenario: Scenario,
        *,
        resume: Resumed,
        machines: Machines,
        allow: Collection[NeedKind],
        consent: Consent,
        **_: object,
    ) -> Outcome:
        require_grants(scenario, machines.needs, resume, allow, consent)
        went_on.append(resume)
        return Outcome(resume.directory, [], made=False)

    monkeypatch.setattr(vtax.campaign, "run", run)
    return went_on


class Terminal(io.StringIO):
    """Where somebody types."""

    def isatty(self) -> bool:
        return True


class TestComplete:
    @pytest.mark.usefixtures("untouched")
    def test_nothing_is_done(self, out: Path, scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
        before = everything(out)
        assert main(["run", str(scenario), "--resume", str(out)]) == 0
        said = capsys.readouterr()
        sentence = f"{out}: the campaign is complete; to see it: vtax show {out}\n"
        assert (said.out, said.err) == ("", sentence)
        assert everything(out) == before

    @pytest.mark.usefixtures("untouched")
    def test_with_json_there_is_a_document(
        self,
        out: Path,
        scenario: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Its trials have no flows, so that another result's numbers stand for theirs."""
        unpack("forwarding", tmp_path / "other")
        numbers = document_of(Result.open(tmp_path / "other/forwarding"))
        monkeypatch.setattr("vtax.views.document_of", lambda _: numbers)
        before = everything(out)
        assert main(["run", str(scenario), "--resume", str(out), "--json"]) == 0
        said = capsys.readouterr()
        document = json.loads(said.out)
        assert (document["directory"], document["report"], document["unusable"]) == (str(out), None, [])
        assert "the campaign is complete" in said.err
        assert everything(out) == before

    @pytest.mark.usefixtures("untouched")
    def test_cells_that_stayed_without_a_usable_trial_are_named_again(
        self, tmp_path: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = result(tmp_path / "spoilt", scenario, ["invalid"] * 3)
        before = everything(out)
        assert main(["run", str(scenario), "--resume", str(out)]) == 3
        said = capsys.readouterr().err
        assert "no usable trial: for want of container\n  platform=container intended_mbps=5\n" in said
        assert everything(out) == before

    def test_a_platform_that_is_still_skipped_costs_it_nothing(
        self,
        tmp_path: Path,
        scenario: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Its cells are left to measure; whether they can be is asked of the machine, and of nothing else."""
        whole = load_scenario(str(scenario))
        scenario.write_text(scenario.read_text().replace("[raw, container]", "[raw]"))
        out = result(tmp_path / "half", scenario)
        store(out, scenario=whole.resolved())

        def probe(platforms: Any, cells: Any, machines: Any) -> None:
            platforms.probes["raw"] = None
            platforms.skipped["container"] = PlatformUnusable("no runc", "install it")

        monkeypatch.setattr(vtax.campaign, "probe", probe)
        for name in ("_writer", "Campaign"):
            monkeypatch.setattr(vtax.campaign, name, lambda *_, name=name: pytest.fail(f"{name} was called"))
        before = everything(out)
        assert main(["run", str(scenario), "--platform", "raw,container", "--resume", str(out)]) == 3
        said = capsys.readouterr().err
        assert "the campaign is complete" in said
        assert "no usable trial: no runc; install it\n  platform=container" in said
        assert everything(out) == before

    @pytest.mark.parametrize(
        "lose",
        [
            lambda out: store(out, status="interrupted"),
            lambda out: (out / "trials/block-0000.parquet").unlink(),
            lambda out: (out / "journal").unlink(),
            lambda out: store(out, scenario=scenario_with(out, repetitions=3)),
        ],
        ids=["interrupted", "damaged", "without its journal", "repetitions are left"],
    )
    def test_what_is_not_complete_goes_on(
        self, lose: Callable[[Path], object], out: Path, scenario: Path, begun: list[Resumed]
    ) -> None:
        lose(out)
        assert main(["run", str(scenario), "--resume", str(out), "--allow", "stored"]) == 0
        (resumed,) = begun
        assert not resumed.is_done


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a result to others")
@pytest.mark.usefixtures("untouched")
class TestHands:
    @pytest.mark.parametrize("name", ["", "campaign.json", "journal", "trials", "flows/block-0000.parquet"])
    def test_anothers_result_is_refused(
        self, name: str, out: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        place = out / name
        os.chown(place, NOBODY, NOBODY)
        before = everything(out)
        assert main(["run", str(scenario), "--resume", str(out), "--allow", "stored"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(
            f"{place} belongs to nobody (uid 65534), and resuming a result runs the programs it names"
        )
        assert said.endswith(f"take it over: chown -R 0 {out} && chmod -R go-w {out}\n")
        assert everything(out) == before

    def test_that_of_who_called_sudo_is_not(
        self, out: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for place in (out, *out.rglob("*")):
            os.chown(place, NOBODY, NOBODY)
        asked = ["run", str(scenario), "--resume", str(out)]
        for caller, status in ((None, 2), ("1", 2), ("x", 2), (str(NOBODY), 0)):
            monkeypatch.delenv("SUDO_UID", raising=False)
            if caller is not None:
                monkeypatch.setenv("SUDO_UID", caller)
            assert main(asked) == status, caller

    @pytest.mark.parametrize("name", ["", "campaign.json", "journal", "flows"])
    @pytest.mark.parametrize(("mode", "whom"), [(0o020, "its group"), (0o002, "everybody")])
    def test_one_that_others_may_write_is_refused(
        self, name: str, mode: int, whom: str, out: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (out / name).chmod((out / name).stat().st_mode | mode)
        assert main(["run", str(scenario), "--resume", str(out)]) == 2
        assert capsys.readouterr().err.startswith(f"{out / name} may be written by {whom}, and resuming")

    @pytest.mark.parametrize("make", [lambda path: path.symlink_to("/etc"), os.mkfifo])
    def test_what_is_no_file_is_in_no_result(
        self, make: Callable[[Path], object], out: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        make(out / "trials/block-0009.parquet")
        assert main(["run", str(scenario), "--resume", str(out)]) == 2
        assert "a result has only files and directories; remove it" in capsys.readouterr().err

    def test_frames_that_no_campaign_can_have_sent_are_refused(self, tmp_path: Path) -> None:
        unpack("forwarding", tmp_path)
        told = Result.open(tmp_path / "forwarding")
        flows = told.tables["flows"]
        place, most = flows.schema.get_field_index("frames_sent"), pa.array([2**63 - 1] * len(flows))
        flows = flows.set_column(place, flows.schema.field(place), most)
        forged = replace(told, tables={**told.tables, "flows": pa.concat_tables([flows, flows])})
        with pytest.raises(InputError, match=r"query: .* out of range"):
            state_of(forged)

    def test_a_link_to_a_result_is_followed_once(self, out: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(out)
        assert Resumed.read(tmp_path / "link").directory == out
        os.chown(tmp_path / "link", NOBODY, NOBODY, follow_symlinks=False)
        assert Resumed.read(tmp_path / "link").directory == out

    def test_a_testbeds_controller_vouches_for_its_own_user(self, out: Path) -> None:
        """It has the rights of root by a rule that lets it name a result; what others could change there is refused."""
        os.chown(out, NOBODY, NOBODY)
        assert Resumed.read(out, {0, NOBODY}).is_done
        with pytest.raises(vtax.inputs.InputError, match="belongs to daemon"):
            os.chown(out / "campaign.json", 1, 1)
            Resumed.read(out, {0, NOBODY})


def test_a_users_own_group_is_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Account:
        pw_name = gr_name = "me"
        pw_gid = gr_gid = tmp_path.stat().st_gid
        gr_mem: tuple[str, ...] = ()

    monkeypatch.setattr(trust.pwd, "getpwuid", lambda _: Account)
    monkeypatch.setattr(trust.grp, "getgrgid", lambda _: Account)
    monkeypatch.setattr(trust, "ROOT", -1)
    owners = {tmp_path.stat().st_uid}
    tmp_path.chmod(0o770)
    assert trust.distrust(tmp_path, owners) is None
    Account.gr_mem = ("me", "other")
    assert trust.distrust(tmp_path, owners) == f"{tmp_path} may be written by its group"
    monkeypatch.undo()
    assert trust.distrust(tmp_path, owners) is None or os.geteuid() == 0, "root's group has more accounts"


class TestConsent:
    """A result that its owner copied from somebody stores what that one wanted to be run."""

    @pytest.fixture
    def foreign(self, out: Path) -> Path:
        factors = {"platform": ["raw", "attached:root@victim"], "intended_mbps": [5, 10]}
        keys = {"factors": factors, "platform": {"wires": "eth1=eth2 eth3=eth4"}}
        store(out, status="interrupted", scenario=scenario_with(out, repetitions=9, **keys))
        return out

    @pytest.mark.usefixtures("untouched")
    def test_what_was_not_typed_is_shown_and_refused(
        self, foreign: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = everything(foreign)
        assert main(["run", str(scenario), "--resume", str(foreign)]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"{foreign} needs more than was typed:",
            f"  hosts: root@victim over SSH, where vtax works as root ({foreign}/campaign.json)",
            f"  interfaces: eth1 of this machine, joined to eth2 of root@victim ({foreign}/campaign.json)",
            f"  interfaces: eth3 of this machine, joined to eth4 of root@victim ({foreign}/campaign.json)",
            '  stored: platform.wires: nothing typed, "eth1=eth2 eth3=eth4" stored',
            '  stored: factors.platform: ["raw", "container"] typed, ["raw", "attached:root@victim"] stored',
            '  stored: factors.intended_mbps: [5, "max"] typed, [5, 10] stored',
            "  stored: repetitions: 2 typed, 9 stored",
            "to grant this, add --allow hosts,interfaces,stored",
        ]
        assert everything(foreign) == before

    def test_a_flag_agrees(
        self, foreign: Path, scenario: Path, begun: list[Resumed], capsys: pytest.CaptureFixture[str]
    ) -> None:
        asked = ["run", str(scenario), "--resume", str(foreign)]
        assert main([*asked, "--allow", "stored"]) == 2
        assert capsys.readouterr().err.endswith("to grant this, add --allow hosts,interfaces\n")
        assert main([*asked, "--allow", "stored", "--allow", "hosts,interfaces"]) == 0
        (resumed,) = begun
        assert resumed.scenario.repetitions == 9
        assert "  stored: repetitions: 2 typed, 9 stored\n" in capsys.readouterr().err

    @pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("n\n", False), ("\n", False)])
    def test_at_a_terminal_an_answer_does(
        self,
        answer: str,
        goes_on: bool,
        foreign: Path,
        scenario: Path,
        begun: list[Resumed],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        assert main(["run", str(scenario), "--resume", str(foreign)]) == (0 if goes_on else 2)
        said = capsys.readouterr()
        assert "  stored: repetitions: 2 typed, 9 stored\n" in said.err
        assert "Grant hosts and interfaces and stored? [y/N]" in said.err
        assert ("not granted" in said.err) is not goes_on
        assert len(begun) == goes_on

    def test_what_is_typed_needs_no_answer(self, foreign: Path, scenario: Path, begun: list[Resumed]) -> None:
        typed = [
            "--platform",
            "raw,attached:root@victim",
            "--set",
            "intended_mbps=5,10",
            "--set",
            "platform.wires=eth1=eth2 eth3=eth4",
            "--repetitions",
            "9",
        ]
        assert main(["run", str(scenario), *typed, "--resume", str(foreign)]) == 0
        assert begun

    def test_of_the_same_settings_nothing_is_asked(
        self, out: Path, scenario: Path, begun: list[Resumed], capsys: pytest.CaptureFixture[str]
    ) -> None:
        store(out, status="interrupted")
        assert main(["run", str(scenario), "--resume", str(out)]) == 0
        assert begun
        assert "typed" not in capsys.readouterr().err

    @pytest.mark.usefixtures("untouched")
    def test_stored_machines_are_reached_only_where_they_are_typed(
        self, out: Path, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "lab.yaml"
        file.write_text(TESTBED)
        lab = read_testbed(file)
        store(out, status="interrupted", testbed={"name": "lab", "file": lab.as_json()})
        assert main(["run", str(scenario), "--resume", str(out)]) == 2
        said = capsys.readouterr().err
        assert '  stored: testbed file.machines.uut.ssh: nothing typed, "root@uut" stored\n' in said
        assert "  hosts: uut is root@uut over SSH, where vtax works as root\n" in said
        assert said.endswith("to grant this, add --allow hosts,interfaces,stored\n")
        file.write_text(TESTBED.replace("root@uut", "me@uut"))
        typed = ["run", str(scenario), "--testbed", str(file), "--allow", "hosts,interfaces"]
        assert main([*typed, "--resume", str(out)]) == 2
        (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
        assert line == '  stored: testbed file.machines.uut.ssh: "me@uut" typed, "root@uut" stored'

    def test_the_same_file_of_machines_is_no_difference(
        self, out: Path, scenario: Path, tmp_path: Path, begun: list[Resumed]
    ) -> None:
        file = tmp_path / "lab.yaml"
        file.write_text(TESTBED)
        store(out, status="interrupted", testbed={"name": "lab", "file": read_testbed(file).as_json()})
        typed = ["run", str(scenario), "--testbed", str(file), "--allow", "hosts,interfaces"]
        assert main([*typed, "--resume", str(out)]) == 0
        assert begun[0].testbed == read_testbed(file)

    @pytest.mark.usefixtures("untouched")
    @pytest.mark.parametrize("file", [{"machines": {"uut": {"ssh": "-oProxyCommand=evil"}}}, "lab.yaml"])
    def test_a_stored_testbed_is_checked_as_a_file_is(
        self, file: object, out: Path, scenario: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store(out, status="interrupted", testbed={"file": file})
        assert main(["run", str(scenario), "--resume", str(out), "--allow", "stored"]) == 2
        assert f"{out}/campaign.json: " in capsys.readouterr().err

    def test_escapes_reach_no_terminal(
        self, out: Path, scenario: Path, begun: list[Resumed], capsys: pytest.CaptureFixture[str]
    ) -> None:
        store(out, status="interrupted", scenario=scenario_with(out, title="\x1b]52;c;bmM=\x07"))
        for more in ([], ["--allow", "stored"]):
            main(["run", str(scenario), "--resume", str(out), *more])
            said = capsys.readouterr().err
            assert "title: " in said
            assert "\x1b" not in said


def test_a_copy_is_as_good_as_the_result(out: Path, scenario: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(out, tmp_path / "copy")
    assert Resumed.read(copy).is_done
    assert replace(Resumed.read(out), testbed=None).differences(load_scenario(str(scenario))) == []
