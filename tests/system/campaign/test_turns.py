"""`vtax ab` on this machine: a loss that the kernel of one level plants breaks a rule, and the other way round none."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers.campaigns import start, trials, vtax, wait_for_line
from tests.helpers.commands import command
from tests.helpers.footprint import footprint, settles
from tests.helpers.paths import ROOT, program
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

LITTLE, MUCH = "netem loss 0.1%", "netem loss 30%"
SCENARIO = """
name: test/turns
title: A test
question: Is B worse?
workload: {kind: forwarding, warmup_s: 0.1, duration_s: 0.3, frame_bytes: 1500, intended_mbps: 10}
testbed: {link_mbps: 1000, flow_control: true}
factors: {platform: [uml]}
repetitions: 2
"""
RULE = "loss>+5pp"


def typed(tmp_path: Path, a: str, b: str) -> list[str | Path]:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return ["ab", path, "--factor", f"platform.egress_qdisc={a},{b}", "--fail-on", RULE, "--budget", "10m"]


def levels(out: Path) -> list[str]:
    """The level of each usable trial, in the order of time."""
    rows = Result.open(out).query(
        "SELECT \"platform.egress_qdisc\" AS level FROM trials WHERE verdict <> 'invalid' ORDER BY trial_id"
    )
    return [str(row["level"]) for row in rows.to_pylist()]


def test_a_planted_loss_breaks_the_rule_from_wherever_it_was_killed(tmp_path: Path) -> None:
    clean, out, words = footprint(), tmp_path / "out", typed(tmp_path, LITTLE, MUCH)
    begun = start(*words, "--out", out)
    wait_for_line(begun, r"^\[5\]")
    begun.send_signal(signal.SIGKILL)
    begun.communicate()
    before = trials(out)
    vtax("clean")
    assert settles(clean)
    done = vtax(*words, "--resume", out)
    assert done.returncode == 4, done.stderr
    assert "1 broken, 0 undecided, 0 passed" in done.stdout
    after = trials(out)
    assert {number: after[number] for number in before} == before
    measured = levels(out)
    assert len(measured) % 4 == 0
    for first in range(0, len(measured), 4):
        a, b, again, last = measured[first : first + 4]
        assert a == last and b == again and a != b
    assert Result.open(out).campaign["status"] == "complete"


def gate(directory: Path, script: str, **asked: str) -> "subprocess.CompletedProcess[str]":
    """The step of the docs, whose `vtax` is a shell's line."""
    programs = directory / "bin"
    programs.mkdir()
    command(programs, "vtax", script)
    return subprocess.run(
        ["sh", ROOT / "docs/ab-gate.sh"],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "OUT": f"{directory / 'ab'}", **asked},
        capture_output=True,
        text=True,
        check=False,
        timeout=700,
    )


def test_less_loss_passes_the_gate_of_the_docs_and_ends_at_once(tmp_path: Path) -> None:
    _, scenario, _, factor, *_ = typed(tmp_path, MUCH, LITTLE)
    asked = {"SCENARIO": str(scenario), "FACTOR": str(factor), "RULES": RULE, "BUDGET": "10m"}
    done = gate(tmp_path, f'exec {program()} "$@"', **asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("**") and "no worse" in done.stdout
    assert (tmp_path / "ab/summary.md").read_text() in done.stdout
    assert "<testsuite" in (tmp_path / "ab/junit.xml").read_text()
    (result,) = (path for path in (tmp_path / "ab").iterdir() if path.is_dir())
    blocks = sorted(set(Result.open(result).tables["trials"]["block"].to_pylist()))
    assert blocks == list(range(len(blocks))) and 6 <= len(blocks) <= 20
    assert "3 quads: " in done.stderr


@pytest.mark.parametrize(
    ("undecided", "found", "status"), [("fail", 4, 4), ("fail", 5, 5), ("pass", 5, 0), ("pass", 3, 3)]
)
def test_the_gate_fails_a_build_by_what_was_found(
    undecided: str, found: int, status: int, tmp_path: Path
) -> None:
    asked = {"SCENARIO": "quick", "FACTOR": "platform=a,b", "RULES": RULE, "UNDECIDED": undecided}
    assert gate(tmp_path, f"echo table; exit {found}", **asked).returncode == status
    assert (tmp_path / "ab/summary.md").read_text() == "table\n"


@pytest.mark.parametrize(
    ("asked", "option"),
    [({}, "--budget 30m"), ({"BUDGET": "5m"}, "--budget 5m"), ({"FIXED": "7"}, "--fixed 7")],
)
def test_the_gate_takes_a_budget_or_a_number_of_quads(
    asked: dict[str, str], option: str, tmp_path: Path
) -> None:
    given = {"SCENARIO": "quick", "FACTOR": "platform=a,b", "RULES": RULE, **asked}
    assert option in gate(tmp_path, 'echo "$@"', **given).stdout
