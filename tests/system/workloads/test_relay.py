"""Rings of relays on this machine: within the bare host and containers, and from container to container."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.campaigns import DISTURBED
from tests.helpers.disturb import Act
from tests.helpers.records import owned_processes
from vtax.cli import main
from vtax.results import Result
from vtax.views.summary import summarise

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

SCENARIO = """
name: own/relay
title: Relays
question: How long?
workload: {kind: relay, runs: 2, iterations: 300}
factors:
  platform: [raw]
repetitions: 1
figures: [rounds-mesh, rounds-surface, rounds-histogram, null-ladder]
"""


def measured(directory: Path, platforms: str, *sets: str) -> Result:
    path = directory / "relay.yaml"
    path.write_text(SCENARIO.lstrip())
    options = [word for each in sets for word in ("--set", each)]
    main(["run", str(path), "--platform", platforms, *options, "--out", str(directory / "out")])
    return Result.open(directory / "out")


def assert_went_round(result: Result, cells: int) -> None:
    """Every round of every run is there, and none failed, unless others kept the machine busy."""
    rows = result.query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert len({row["cell"] for row in rows}) == cells
    samples = result.query(
        "SELECT trial_id, count(*) AS rounds, count(*) FILTER (status = 'done') AS done, sum(ns) AS ns, "
        "max(iteration) AS last FROM samples GROUP BY trial_id"
    ).to_pylist()
    by_trial = {row["trial_id"]: row for row in samples}
    for row in rows:
        invalid = row["verdict"] == "invalid"
        assert not invalid or any(words in row["reasons"][0] for words in DISTURBED), row
        found = by_trial[row["trial_id"]]
        assert (found["rounds"], found["done"], found["last"]) == (300, 300, 299)
        # Of the run's wall time its rounds are a part.
        assert 0 < found["ns"] <= 1e9 * row["duration_s"]
    runs = result.query("SELECT DISTINCT cell, run FROM trials WHERE verdict <> 'invalid'").to_pylist()
    if not any(row["verdict"] == "invalid" for row in rows):
        assert len(runs) == 2 * cells


def test_messages_go_round_within_the_host_and_a_container(tmp_path: Path) -> None:
    result = measured(tmp_path, "raw,container", "hops=1,8", "workload.pinned=true")
    assert_went_round(result, cells=4)
    shortest = result.query(
        "SELECT platform, min(ns) FILTER (hops = 1) AS one, min(ns) FILTER (hops = 8) AS eight "
        "FROM samples JOIN trials USING (trial_id) GROUP BY platform"
    ).to_pylist()
    assert {row["platform"] for row in shortest} == {"raw", "container"}
    assert all(0 < row["one"] < row["eight"] for row in shortest)
    summary = summarise(result)
    assert all(0 < row.timed_ratio.value < 1 for row in summary.runs.rounds if row.timed_ratio)
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("plot-rounds-surface-0" in page) is summary.has_usable


def test_messages_go_from_container_to_container(tmp_path: Path) -> None:
    sets = ("placement=guest-each", "hops=3", "connection=fresh,persistent", "transport=tcp,udp")
    assert_went_round(measured(tmp_path, "container", *sets), cells=4)


def test_the_ladder_grows_with_what_is_in_the_loop(tmp_path: Path) -> None:
    sets = ("load=nothing,output,lines,network", "message_bytes=64")
    result = measured(tmp_path, "raw", *sets)
    assert_went_round(result, cells=4)
    rows = result.query(
        "SELECT load, min(ns) AS shortest FROM samples JOIN trials USING (trial_id) GROUP BY load"
    ).to_pylist()
    shortest = {row["load"]: row["shortest"] for row in rows}
    rungs = [shortest[load] for load in ("nothing", "output", "lines", "network")]
    assert rungs == sorted(rungs)


def children(pid: int) -> list[int]:
    """Those that any thread of a process has started: runtimes start containers from whichever runs."""
    told = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted(int(child) for threads in told for child in threads.read_text().split())


def kill_a_relay(run: str) -> None:
    """The last of those that the host's own agent has started."""
    owned = owned_processes(run)
    (agent,) = [detail.pid for detail in owned if detail.name == "guest"]
    os.kill(children(agent)[-1], signal.SIGKILL)


def test_a_relay_that_dies_is_told_of_and_started_anew(
    tmp_path: Path, in_the_trial: Callable[[Act], None]
) -> None:
    in_the_trial(kill_a_relay)
    result = measured(tmp_path, "raw", "hops=2", "runs=1")
    died, *later = result.query("SELECT trial_id, verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    assert died["verdict"] == "invalid"
    assert "a relay has ended (signal: 9" in died["reasons"][0]
    done = "SELECT trial_id, count(*) AS rounds FROM samples WHERE status = 'done' GROUP BY trial_id"
    rounds = {row["trial_id"]: row["rounds"] for row in result.query(done).to_pylist()}
    assert rounds == {row["trial_id"]: 300 for row in later}
    assert later


def kill_the_other_guest(run: str) -> None:
    """The agent of the second container, with all that runs there: a child of the runtime's process."""
    owned = owned_processes(run)
    (runtime,) = [detail.pid for detail in owned if detail.name == "guest1"]
    os.kill(children(runtime)[0], signal.SIGKILL)


def kill_the_other_relay(run: str) -> None:
    """The relay of the second container."""
    owned = owned_processes(run)
    (runtime,) = [detail.pid for detail in owned if detail.name == "guest1"]
    (relay,) = children(children(runtime)[0])
    os.kill(relay, signal.SIGKILL)


@pytest.mark.parametrize(
    ("act", "said"),
    [(kill_the_other_guest, "guest1 died"), (kill_the_other_relay, "a relay has ended (signal: 9")],
)
def test_what_dies_in_another_guest_is_told_of_and_started_anew(
    tmp_path: Path, in_the_trial: Callable[[Act], None], act: Act, said: str
) -> None:
    in_the_trial(act)
    result = measured(tmp_path, "container", "hops=2", "placement=guest-each", "runs=1")
    died, *later = result.query("SELECT trial_id, verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    assert died["verdict"] == "invalid"
    assert said in died["reasons"][0]
    samples = result.query(
        "SELECT trial_id, count(*) FILTER (status = 'done') AS done FROM samples GROUP BY trial_id"
    ).to_pylist()
    done = {row["trial_id"]: row["done"] for row in samples}
    assert later
    assert all(done[row["trial_id"]] == 300 for row in later)
