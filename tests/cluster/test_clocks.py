"""One-way delay between machines whose clocks differ: what a time namespace adds is found, and bounded."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.helpers.footprint import footprint, settles
from tests.helpers.paths import VTAX
from tests.helpers.rack import CONTROL, Rack, rack
from tests.helpers.rack_campaigns import SCENARIO, assert_gone_on
from vtax.machine.chrony import read_tracking
from vtax.platforms.userland import fetch_userland
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.cluster]

ELSEWHERE = """#!/bin/sh
exec unshare --time --fork --kill-child --monotonic 86400 -- {vtax} "$@"
"""
"""A vtax whose CLOCK_MONOTONIC is a day ahead."""
SLOW_S = 0.02
SLOW = """#!{python}
import subprocess, sys, time
served = subprocess.Popen(["{vtax}", *sys.argv[1:]], stdout=subprocess.PIPE)
for line in served.stdout:
    time.sleep({slow_s})  # the way back takes longer than the way there, which no exchange can see
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""
UNPACKED = """#!/bin/sh
export LD_LIBRARY_PATH={root}/usr/lib/x86_64-linux-gnu
exec {root}/usr/{program} "$@"
"""
SERVER = f"local stratum 5\nallow\nbindaddress {CONTROL}.100\ncmdport 0\n"
CLIENT = f"server {CONTROL}.100 minpoll -5 maxpoll -5\ncmdport 0\n"
FOLLOWING_S = 30.0
FLOWS = "SELECT latency_min_ns, pdv_p99_ns, clock_error_ns FROM flows"
LONGEST_NS = 1e6
"""More than the quickest of a trial's probes takes, whatever else these CPUs do."""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    before = footprint()
    with rack(tmp_path_factory.mktemp("rack")) as made:
        yield made
    assert settles(before)


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def flows_by(
    machines: Rack, programs: dict[str, Path], tmp_path: Path
) -> tuple[list[dict[str, float | None]], str]:
    """What is told of delay where machines have a vtax of their own, and what the campaign says meanwhile."""
    file, scenario, out = tmp_path / "rack.yaml", tmp_path / "scenario.yaml", tmp_path / "out"
    text = machines.testbed.read_text()
    for name, vtax in programs.items():
        assert f"{name}, vtax: {VTAX}" in text
        text = text.replace(f"{name}, vtax: {VTAX}", f"{name}, vtax: {vtax}")
    file.write_text(text)
    scenario.write_text(SCENARIO.replace("[raw, container]", "[raw]").replace("[1, 5]", "[1]"))
    done = machines.vtax("run", scenario, "--testbed", file, "--repetitions", "1", "--out", out)
    assert_gone_on(done)
    assert machines.settles()
    return Result.open(out).query(FLOWS).to_pylist(), done.stderr


@pytest.mark.parametrize("machine", ["gen", "rec"])
def test_a_clock_that_is_a_day_ahead_costs_some_certainty(
    machine: str, machines: Rack, tmp_path: Path
) -> None:
    there = executable(tmp_path / "vtax", ELSEWHERE.format(vtax=VTAX))
    flows, said = flows_by(machines, {machine: there}, tmp_path)
    assert "source and sink have clocks of their own, compared by exchange" in said
    assert all(0 < flow["clock_error_ns"] < 1e9 for flow in flows)
    told = [flow for flow in flows if flow["latency_min_ns"] is not None]
    assert all(0 < flow["latency_min_ns"] < flow["clock_error_ns"] + LONGEST_NS for flow in told)
    assert all(flow["pdv_p99_ns"] is None for flow in flows)


def test_a_clock_that_both_have_is_one_wherever_it_stands(machines: Rack, tmp_path: Path) -> None:
    there = executable(tmp_path / "vtax", ELSEWHERE.format(vtax=VTAX))
    flows, said = flows_by(machines, {"gen": there, "rec": there}, tmp_path)
    assert "clocks of their own" not in said
    told = [flow for flow in flows if flow["latency_min_ns"] is not None]
    assert told
    assert all(0 < flow["latency_min_ns"] < LONGEST_NS for flow in told)
    assert {flow["clock_error_ns"] for flow in flows} == {0}


@pytest.fixture
def chronyc(machines: Rack, tmp_path: Path) -> Iterator[Path]:
    """A directory with a chronyc, while the clocks of source and sink follow the controller's by chrony."""
    root = fetch_userland(("chrony",)).root
    there = tmp_path / "bin"
    there.mkdir()
    for program in ("sbin/chronyd", "bin/chronyc"):
        executable(there / Path(program).name, UNPACKED.format(root=root, program=program))
    with ExitStack() as ending:
        for name, text in (("controller", SERVER), ("gen", CLIENT), ("rec", CLIENT)):
            configuration = tmp_path / f"{name}.conf"
            configuration.write_text(text)
            # -x: the clock is everybody's here, and stays as it is.
            words = [str(there / "chronyd"), "-d", "-x", "-u", "root", "-f", str(configuration)]
            command = machines.command(*words) if name == "controller" else machines.inside(name, *words)
            with (tmp_path / f"{name}.log").open("w") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log)
            ending.callback(process.wait, 10)
            ending.callback(process.terminate)
        deadline = time.monotonic() + FOLLOWING_S
        while any(not follows(machines, name, there) for name in ("gen", "rec")):
            assert time.monotonic() < deadline, (tmp_path / "gen.log").read_text()
            time.sleep(0.2)
        yield there


def follows(machines: Rack, name: str, programs: Path) -> bool:
    tracking = [str(programs / "chronyc"), "-n", "-c", "tracking"]
    done = subprocess.run(machines.inside(name, *tracking), check=False, capture_output=True, text=True)
    return read_tracking(done.stdout) is not None


def test_chrony_bounds_what_an_exchange_does_not(machines: Rack, chronyc: Path, tmp_path: Path) -> None:
    slow = executable(tmp_path / "slow", SLOW.format(python=sys.executable, vtax=VTAX, slow_s=SLOW_S))
    with_chrony = f'#!/bin/sh\nPATH={chronyc}:$PATH exec {{program}} "$@"\n'
    sink = executable(tmp_path / "sink", with_chrony.format(program=VTAX))
    elsewhere = executable(tmp_path / "elsewhere", ELSEWHERE.format(vtax=slow))
    source = executable(tmp_path / "source", with_chrony.format(program=elsewhere))
    flows, said = flows_by(machines, {"gen": source, "rec": sink}, tmp_path)
    assert "source and sink have clocks of their own, compared by chrony" in said
    assert all(0 < flow["clock_error_ns"] < SLOW_S / 2 * 1e9 for flow in flows)
    told = [flow for flow in flows if flow["latency_min_ns"] is not None]
    assert told
    assert all(0 < flow["latency_min_ns"] < LONGEST_NS for flow in told)
    checked = machines.vtax("testbed", "check", tmp_path / "rack.yaml")
    assert checked.stdout.count("by chrony within") == 2
