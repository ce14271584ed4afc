"""Programs of one's own: what a scenario may ask, whose leave that takes, and what is made of a run."""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scenarios import CPUS, refusal_of, write_scenario
from vtax import campaign
from vtax.agent_api import ClientCollectAnswer, ProgramFileParams, ProgramStatus
from vtax.campaign import Resumed
from vtax.campaign.workload import workload_of
from vtax.cli import main
from vtax.inputs import InputError
from vtax.keys.cell import Cell
from vtax.keys.testbed import TestbedSettings
from vtax.platforms import PlatformUnusable, qemu
from vtax.platforms.userland import Userland
from vtax.results import FILES, ResultWriter
from vtax.scenario import list_scenarios, load_scenario
from vtax.trial.endpoints.path import End
from vtax.trial.observed import Observed
from vtax.trial.verdict import Verdict
from vtax.workloads.program.keys import Program
from vtax.workloads.program.measure import available
from vtax.workloads.program.measure.available import needed
from vtax.workloads.program.measure.path import PIECE_BYTES, give_files
from vtax.workloads.program.measure.trial import ProgramTrial, command

SCENARIO = """
name: own/programs
title: Programs
question: How long?
workload:
  kind: program
  server: [sh, -c, "echo {port} on {address}; sleep 60"]
  ready: " on "
  client: [./client.sh, "{iterations}"]
  files: [client.sh]
  packages: [dash]
  iterations: 100
factors:
  platform: [raw]
repetitions: 1
"""
PLACE = {"block": 0, "attempt": 0, "search": None, "step": None, "run": 2}
RUNNING: dict[str, Any] = {
    "ended": None,
    "succeeded": False,
    "stopped": None,
    "said": ["ready"],
    "output_bytes": 6,
}
DONE: dict[str, Any] = {
    "ended": "exit status 0",
    "succeeded": True,
    "stopped": None,
    "said": [],
    "output_bytes": 400,
}
written = partial(write_scenario, SCENARIO)


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    (tmp_path / "client.sh").write_text("#!/bin/sh\necho 1\n")
    return written(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[./client.sh, ", "[./other.sh, ", '"./other.sh" is not among the files; allowed: client.sh'),
        ("[./client.sh, ", "[bin/client.sh, ", "allowed: a name, /PATH, or ./NAME of `files`"),
        ("[sh, -c", "['', -c", "is no program; allowed"),
        ("files: [client.sh]", "files: [../client.sh]", '"../client.sh" is not such a name'),
        ("files: [client.sh]", "files: [.client]", '".client" is not such a name'),
        ("packages: [dash]", "packages: [dash; reboot]", '"dash; reboot" is not such a name'),
        ("iterations: 100", "iterations: 0", "0 is too small; allowed: 1 to 1000000"),
        ("iterations: 100", "port: 80", "80 is too small; allowed: 1024 to 65535"),
        ("iterations: 100", "placement: outside", '"outside" is not allowed'),
        ('ready: " on "', 'ready: ""', "ready"),
        ("server: [sh, -c", "server: [1, -c", "server"),
        ("repetitions: 1", "repetitions: 1\ntestbed: {uplink: shared}", "have a link of their own"),
        ("repetitions: 1", "repetitions: 1\ntestbed: {neighbours: idle}", "have no neighbours"),
        (
            "repetitions: 1",
            "repetitions: 5\nprecision: {relative_width: 0.1}",
            "precision is of what is carried, and program workloads are timed",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal_of(written(tmp_path, old, new))


def test_two_guests_are_only_where_there_are_guests(scenario: str) -> None:
    asked = load_scenario(scenario).override(None, ["placement=intra-host"])
    with pytest.raises(InputError, match="raw is the host itself and has no two guests"):
        workload_of(asked, CPUS).check(asked.cells())


def test_a_platform_without_programs_is_refused(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu.Kind, "programs_of", None)
    asked = load_scenario(scenario).override(["qemu-virtio"], [])
    with pytest.raises(
        InputError, match="no programs can be started in guests of qemu-virtio; allowed: container, "
    ):
        workload_of(asked, CPUS).check(asked.cells())


@pytest.mark.parametrize(
    ("program", "content", "needs"),
    [
        ("sh", b"", ["sh"]),
        ("./own", b"\x7fELF", []),
        ("./own", b"no script", []),
        ("./own", b"#!/bin/sh -e\nexit\n", ["/bin/sh"]),
        ("./own", b"#!/usr/bin/env python3\n", ["/usr/bin/env", "python3"]),
        ("./own", b"#! /usr/bin/env -S A=1 perl -w", ["/usr/bin/env", "perl"]),
        ("./own", b"#!/usr/bin/env", ["/usr/bin/env"]),
        ("./own", b"#!\n", []),
    ],
)
def test_a_script_needs_who_reads_it(program: str, content: bytes, needs: list[str]) -> None:
    assert needed(program, {"own": content}) == needs


def made_userland(root: Path, *programs: str) -> Userland:
    for program in programs:
        path = root / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o755)
    return Userland(root)


def test_a_guest_s_programs_are_those_of_its_packages(
    tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = load_scenario(scenario).override(["qemu-virtio"], [])
    kind = workload_of(asked, CPUS)
    empty, whole = made_userland(tmp_path / "empty"), made_userland(tmp_path / "whole", "bin/sh")
    monkeypatch.setattr(available, "fetch_userland", lambda packages: {("dash",): empty}[tuple(packages)])
    with pytest.raises(
        InputError, match='"sh" is not in the guest\'s image; name its Debian package under packages'
    ):
        kind.check(asked.cells())
    monkeypatch.setattr(available, "fetch_userland", lambda _packages: whole)
    kind.check(asked.cells())
    (tmp_path / "client.sh").write_text("#!/usr/bin/env vtax-no-such-shell\n")
    again = load_scenario(scenario).override(["qemu-virtio"], [])
    with pytest.raises(InputError, match='"/usr/bin/env" is not in the guest\'s image'):
        workload_of(again, CPUS).check(again.cells())


def test_a_client_on_a_bare_host_is_that_host_s(
    tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_only = made_userland(tmp_path / "guest", "bin/sh")
    monkeypatch.setattr(available, "fetch_userland", lambda _packages: server_only)
    (tmp_path / "client.sh").write_text("#!/usr/bin/env vtax-no-such-shell\n")
    asked = load_scenario(scenario).override(["qemu-virtio"], ["placement=guest-to-peer"])
    with pytest.raises(InputError, match=r'no program "vtax-no-such-shell" found; .*install'):
        workload_of(asked, CPUS).check(asked.cells())


def test_packages_that_cannot_be_had_are_the_platform_s_matter(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left out with the reason, and the others are measured."""

    def unreachable(_packages: Sequence[str]) -> Userland:
        raise PlatformUnusable("no programs for guests can be had", "apt-get update")

    monkeypatch.setattr(available, "fetch_userland", unreachable)
    asked = load_scenario(scenario).override(["raw", "qemu-virtio"], [])
    workload_of(asked, CPUS).check(asked.cells())


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("vtax-no-such-program", 'no program "vtax-no-such-program" found; .*apt-get install .* dash'),
        ("/etc/passwd", '"/etc/passwd" is not executable'),
        ("/nowhere/at/all", 'no program "/nowhere/at/all" found'),
    ],
)
def test_a_program_that_is_not_there_is_named_with_its_package(
    tmp_path: Path, scenario: str, program: str, said: str
) -> None:
    asked = load_scenario(written(tmp_path, "[sh, -c", f"[{program}, -c"))
    with pytest.raises(InputError, match=said):
        workload_of(asked, CPUS).check(asked.cells())


def test_files_are_read_before_anything_starts(tmp_path: Path) -> None:
    asked = load_scenario(written(tmp_path))
    with pytest.raises(
        InputError, match=r"own.yaml:\d+: workload.files: .*client.sh: cannot be read: No such file"
    ):
        workload_of(asked, CPUS)
    (tmp_path / "client.sh").mkdir()
    with pytest.raises(InputError, match="it is no regular file"):
        workload_of(asked, CPUS)


def test_nothing_is_started_without_leave(
    scenario: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(campaign, "probe", lambda *_: pytest.fail("it went on"))
    assert main(["run", scenario, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "own/programs needs more than was typed:",
        f"  programs: server sh -c 'echo {{port}} on {{address}}; sleep 60', as nobody ({scenario}:6)",
        f"  programs: client ./client.sh '{{iterations}}', as nobody ({scenario}:8)",
        f"  programs: files client.sh, which are kept in the result ({scenario}:9)",
        f"  programs: Debian packages dash ({scenario}:10)",
        "to grant this, add --allow programs",
    ]
    assert not (tmp_path / "out").exists()


def test_a_link_beside_a_scenario_gives_no_secret_away(
    scenario: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Root would read what it leads to, and keep it where everybody may read."""
    secret, link = tmp_path / "secret", tmp_path / "client.sh"
    secret.write_text("root alone")
    secret.chmod(0o600)
    link.unlink()
    link.symlink_to(secret)
    monkeypatch.setattr(campaign, "probe", lambda *_: pytest.fail("it went on"))
    assert main(["run", scenario, "--allow", "programs", "--out", str(tmp_path / "out")]) == 2
    refused = (
        f"{scenario}:9: workload.files: {link}: cannot be read: it is a link, or leads out of its directory"
    )
    assert refused in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_resumed_campaign_has_the_files_that_it_began_with(tmp_path: Path, scenario: str) -> None:
    asked = load_scenario(scenario)
    directory = tmp_path / "result"
    manifest = {"name": asked.name, "scenario": asked.resolved(), "factors": ["platform"], "seed": 1}
    with ResultWriter.create(directory, manifest) as writer:
        writer.keep_files(asked.files())
    (tmp_path / "client.sh").write_text("something else")
    stored = Resumed.read(directory)
    again = stored.scenario
    assert stored.differences(asked) == ["files.client.sh: other content"]
    assert again.files() == {"client.sh": b"#!/bin/sh\necho 1\n"}
    assert again.beside == directory / FILES


def test_commands_are_told_where_and_how_often() -> None:
    work = Program.model_validate(
        {"kind": "program", "server": ["a"], "client": ["b"], "ready": "c", "port": 9000, "iterations": 7}
    )
    told = command(["a", "{address}:{port}", "{iterations}{port}", "{other} {}"], work, "198.18.0.1")
    assert told.argv == ["a", "198.18.0.1:9000", "79000", "{other} {}"]
    expected = {"VTAX_ADDRESS": "198.18.0.1", "VTAX_PORT": "9000", "VTAX_ITERATIONS": "7"}
    assert told.environment == expected


def test_files_are_given_in_pieces() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.pieces: list[ProgramFileParams] = []

        def api(self, agent: str) -> Any:
            assert agent == "guest"
            return self

        def program_file(self, params: ProgramFileParams) -> None:
            self.pieces.append(params)

    recorder: Any = Recorder()
    content = b"\x7fELF" + bytes(range(256)) * 300
    give_files(End(recorder, "guest", "eth0", "198.18.0.1", 0, True), {"tool": content, "empty": b""})
    *tool, empty = recorder.pieces
    assert b"".join(base64.b64decode(piece.base64) for piece in tool) == content
    assert [(piece.first, piece.executable) for piece in tool] == [
        (True, True),
        (False, True),
        (False, True),
    ]
    assert all(len(base64.b64decode(piece.base64)) <= PIECE_BYTES for piece in tool)
    assert (empty.name, empty.first, empty.executable, empty.base64) == ("empty", True, False, "")


def ran(client: dict[str, Any] | None = None, server: dict[str, Any] | None = None) -> ProgramTrial:
    """A whole run of a hundred iterations, of 1 to 100 µs."""
    workload = Program.model_validate(
        {
            "kind": "program",
            "server": ["/usr/sbin/own-server"],
            "client": ["own"],
            "ready": "r",
            "iterations": 100,
        }
    )
    cell = Cell(
        key="platform=raw",
        factors={"platform": "raw"},
        workload=workload,
        testbed=TestbedSettings(),
        platform="raw",
        platform_overrides={},
        plot="platform=raw",
        run=2,
    )
    measured = ProgramTrial(Observed(1, cell, datetime.now(UTC)))
    measured.times_ns = 1_000, 10_001_000
    measured.ns = [1000 * number for number in range(1, 101)]
    told = {"samples": 100, "excess": 0, "garbage": 0, "first_garbage": None}
    measured.client = ClientCollectAnswer(**{**DONE, **told, **(client or {})})
    measured.server = ProgramStatus(**{**RUNNING, **(server or {})})
    measured.observed.wall_s = 0.5
    return measured


def test_every_iteration_is_a_row() -> None:
    measured = ran()
    measured.ns[49] = None
    measured.undone = {49: "failed"}
    rows = measured.record(measured.judgement(), PLACE, "local")
    trial = rows.trial
    assert (trial["run"], trial["server"], trial["load"], trial["placement"]) == (
        2,
        "own-server",
        "program",
        "inside",
    )
    assert (trial["verdict"], trial["reasons"], trial["duration_s"]) == ("valid", [], 0.01)
    (flow,) = rows.flows
    assert (flow["transactions"], flow["failed"], flow["loss_ratio"]) == (99, 1, 0.01)
    assert (flow["latency_min_ns"], flow["latency_max_ns"]) == (1000, 100_000)
    assert rows.samples[49] == {"run": 2, "iteration": 49, "ns": None, "status": "failed"}
    assert measured.headline() == "an iteration takes 50.51 µs on average (n = 99), at most 100 µs, 1 failed"


@pytest.mark.parametrize(
    ("client", "server", "verdict", "reason"),
    [
        (
            {},
            {"ended": "signal SIGSEGV", "said": ["a", "b", "c", "d"]},
            Verdict.INVALID,
            "the server /usr/sbin/own-server ended: signal SIGSEGV; its last output: b / c / d",
        ),
        (
            {"ended": "exit status 2", "succeeded": False, "said": ["cannot connect"]},
            {},
            Verdict.INVALID,
            "the client own ended: exit status 2; its last output: cannot connect",
        ),
        (
            {"ended": "signal SIGKILL", "succeeded": False, "stopped": "it took longer than 60000 ms"},
            {},
            Verdict.INVALID,
            "the client own ended: it took longer than 60000 ms; signal SIGKILL",
        ),
        (
            {"excess": 5},
            {},
            Verdict.SUSPECT,
            "the client reported 105 iterations instead of 100",
        ),
        (
            {"garbage": 3, "first_garbage": "hello"},
            {},
            Verdict.VALID,
            "output lines of the client that are no samples: 3, the first: hello",
        ),
    ],
)
def test_what_programs_do_wrong_is_told(
    client: dict[str, Any], server: dict[str, Any], verdict: Verdict, reason: str
) -> None:
    judgement = ran(client, server).judgement()
    assert (judgement.verdict, judgement.reasons) == (verdict, (reason,))


def test_a_client_without_samples_is_no_measurement() -> None:
    measured = ran({"samples": 0, "said": ["usage: own ADDRESS"]})
    measured.ns = []
    judgement = measured.judgement()
    assert judgement.reasons == ("the client own reported no iteration; its last output: usage: own ADDRESS",)
    (flow,) = measured.record(judgement, PLACE, "local").flows
    assert (flow["transactions"], flow["loss_ratio"], flow["latency_p50_ns"]) == (0, None, None)


def test_what_comes_with_vtax_is_whole() -> None:
    """Section 5: 1000 GETs on one host, between two, and between two guests of one host."""
    found = [load_scenario(summary.name) for summary in list_scenarios()]
    own = {
        scenario.name: scenario for scenario in found if scenario.file.workload.program_packages is not None
    }
    assert set(own) == {"examples/redis", "matthews2009/http", "matthews2009/http-across"}
    for scenario in own.values():
        assert set(scenario.files()) == set(scenario.file.workload.own_files())
    page = own["matthews2009/http"].files()["index.html"]
    assert len(page) == 44
    placements = [
        cell.of(Program).placement
        for name in ("http", "http-across")
        for cell in own[f"matthews2009/{name}"].cells()
    ]
    assert set(placements) == {"inside", "inter-host", "intra-host"}
    assert {cell.of(Program).iterations for cell in own["matthews2009/http"].cells()} == {1000}
