"""A campaign over testbeds as tests run it, and what must hold after whatever befell it."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from tests.helpers.campaigns import wait_for_line
from tests.helpers.testbeds import Ground, Testbed, wait_for
from vtax.cluster.collect import ARRIVED as UNPACKED
from vtax.results import Result

SCENARIO = """
name: test/cluster
title: A test
question: Does every block come home?
workload: {{kind: forwarding, warmup_s: 0, duration_s: 0.1, streams: 1, frame_bytes: 64}}
testbed: {{link_mbps: 1000, flow_control: true}}
factors: {{platform: [raw], intended_mbps: [2, 5]}}
repetitions: {blocks}
figures: [throughput-by-load]
"""

ARRIVED = r": block \d+ \("
"""The line of a trial whose block was committed."""


def scenario_of(blocks: int, directory: Path) -> Path:
    path = directory / "scenario.yaml"
    path.write_text(SCENARIO.format(blocks=blocks))
    return path


def start(ground: Ground, scenario: Path, out: Path, *more: str | Path) -> "subprocess.Popen[str]":
    return ground.vtax("run", scenario, "--testbeds", ground.file, "--out", out, *more)


def finish(process: "subprocess.Popen[str]") -> str:
    """Wait for a campaign's end; a machine as busy as this one may leave cells without a usable trial."""
    _, errors = process.communicate(timeout=400)
    assert process.returncode in (0, 3), errors
    return errors


def assert_whole(
    ground: Ground, out: Path, blocks: int, before: dict[int, tuple[object, ...]] | None = None
) -> None:
    """All blocks are there, of one testbed each and with each trial once, and hosts are as they were.

    What was committed `before` is as it was.
    """
    result = Result.open(out)
    assert (result.damaged, result.campaign["status"]) == ([], "complete")
    rows = result.query(
        "SELECT block, count(DISTINCT testbed) AS testbeds, count(DISTINCT cell) AS cells, count(*) AS trials, "
        "count(DISTINCT (cell, attempt)) AS distinct_trials FROM trials GROUP BY block ORDER BY block"
    ).to_pylist()
    assert [row["block"] for row in rows] == list(range(blocks))
    for row in rows:
        assert (row["testbeds"], row["cells"]) == (1, 2), row
        assert row["trials"] == row["distinct_trials"], row
    assert (before or {}).items() <= committed(out).items()
    assert not list(out.glob(f"{UNPACKED}*"))
    for testbed in ground.testbeds.values():
        wait_for(
            f"nothing is left on {testbed.name}: {testbed.leftovers() + testbed.kept}",
            lambda bed=testbed: not bed.leftovers() and not bed.kept,
        )


def committed(out: Path) -> dict[int, tuple[object, ...]]:
    rows = Result.open(out).query("SELECT trial_id, cell, started_at, verdict FROM trials").to_pylist()
    return {row["trial_id"]: tuple(row.values()) for row in rows}


def amid_a_block(
    ground: Ground, blocks: int, out: Path
) -> tuple["subprocess.Popen[str]", dict[int, tuple[object, ...]], Testbed, int]:
    """A campaign that has committed a block and is stopped amid another: its process, what was committed, and where."""
    process = start(ground, scenario_of(blocks, out.parent), out)
    wait_for_line(process, ARRIVED)
    return process, committed(out), *stop_a_block(*ground.testbeds.values())


def stop_a_block(*testbeds: Testbed) -> tuple[Testbed, int]:
    """Stop the process that measures a block on one of them, amid it: its host's namespaces are there."""
    stopped: list[tuple[Testbed, int]] = []

    def try_all() -> bool:
        for testbed in testbeds:
            block = testbed.block
            with contextlib.suppress(ProcessLookupError):
                if block is not None and testbed.below("vtax-agent"):
                    os.kill(block, signal.SIGSTOP)
                    if testbed.below("vtax-agent"):
                        stopped.append((testbed, block))
                        return True
                    os.kill(block, signal.SIGCONT)  # at its end
        return False

    wait_for("a block", try_all)
    return stopped[0]
