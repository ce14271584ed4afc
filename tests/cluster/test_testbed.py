"""Testbeds of several machines: three namespaces with sshd, cables and a control network of their own."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import wait_for_line
from tests.helpers.cluster_campaigns import committed
from tests.helpers.footprint import footprint, settles
from tests.helpers.paths import VTAX
from tests.helpers.rack import Rack, rack
from tests.helpers.rack_campaigns import SCENARIO, assert_gone_on, ended, ssh_of
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.cluster]


SLOW = """
import subprocess, sys, time
served = subprocess.Popen(["{vtax}", *sys.argv[1:]], stdout=subprocess.PIPE)
for line in served.stdout:
    time.sleep(0.1)  # each answer is late, as of a machine that is far or busy
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    before = footprint()
    with rack(tmp_path_factory.mktemp("rack")) as made:
        yield made
    assert settles(before)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def running(machines: Rack, scenario: Path, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A campaign with a trial behind it."""
    process = machines.start("run", scenario, "--testbed", machines.testbed, "--out", tmp_path / "out")
    wait_for_line(process, r"^\[")
    yield process
    process.kill()
    process.communicate()


def assert_once(out: Path, before: dict[int, tuple[object, ...]] | None = None) -> int:
    """No usable trial is there twice, and what was committed `before` is as it was; how many there are in all."""
    assert (before or {}).items() <= committed(out).items()
    rows = Result.open(out).query(
        "SELECT count(*) AS n, max(usable) AS most FROM "
        "(SELECT count(*) FILTER (verdict <> 'invalid') AS usable, count(*) AS n FROM trials GROUP BY block, cell)"
    )
    (row,) = rows.to_pylist()
    assert row["most"] <= 1
    return int(row["n"])


class TestMeasuring:
    def test_frames_cross_three_machines(self, machines: Rack, scenario: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        options = ("--testbed", machines.testbed, "--repetitions", "1", "--out", out)
        sent, came = machines.frames("gen", "cable0")
        back = machines.frames("rec", "cable0")[0]
        assert_gone_on(machines.vtax("run", scenario, *options))
        assert assert_once(out) == 4
        assert machines.frames("gen", "cable0")[0] > sent
        one_way = (machines.frames("gen", "cable0")[1], machines.frames("rec", "cable0")[0])
        assert one_way == (came, back), "a connection would be answered; measured frames go one way"
        result = Result.open(out)
        flows = result.query(
            "SELECT sum(frames_received) AS n, sum(frames_lost) AS lost FROM flows"
        ).to_pylist()
        assert flows[0]["n"] > 0
        assert flows[0]["lost"] == 0
        assert result.campaign["testbed"]["name"] == "rack"
        told = {name: facts["roles"] for name, facts in result.campaign["hosts"].items()}
        assert told == {"uut": "uut", "gen": "source", "rec": "sink"}
        for row in result.query("SELECT host, bridge_netfilter FROM environment").to_pylist():
            bridges = json.loads(row["bridge_netfilter"])
            assert bridges.keys() == {told[row["host"]]}
            assert not any(any((found or {}).values()) for found in bridges.values())
        cpu = result.query(
            "SELECT count(*) AS n FROM cpu WHERE domain = 'host' AND component LIKE 'ingress%'"
        )
        assert cpu["n"][0].as_py() > 0, "sampled where the unit under test is"
        looks = result.rows(
            "SELECT host, moment, count(DISTINCT trial_id) AS trials FROM canary GROUP BY ALL"
        )
        assert {(row["host"], row["moment"]): row["trials"] for row in looks} == {
            (name, moment): 4 for name in told for moment in ("before", "after")
        }
        assert machines.settles()

    def test_a_first_look_at_three_machines(self, machines: Rack, tmp_path: Path) -> None:
        """`quick` as anybody would run it, with the platforms that these CPUs can bear beside the rack."""
        out = tmp_path / "out"
        options = ("--platform", "raw,container", "--repetitions", "1", "--testbed", machines.testbed)
        assert_gone_on(machines.vtax("run", "quick", *options, "--out", out))
        assert assert_once(out) == 12
        carried = Result.open(out).query(
            "SELECT cell, max(frames_received) AS n FROM trials JOIN flows USING (trial_id) GROUP BY cell"
        )
        assert [row["n"] > 0 for row in carried.to_pylist()] == [True] * 12
        assert (out / "report.html").exists()
        assert machines.settles()

    def test_ends_on_two_machines_ask_each_other(self, machines: Rack, tmp_path: Path) -> None:
        out = tmp_path / "out"
        options = ["--set", "placement=inter-host", "--set", "message_bytes=64", "--set", "transport=tcp"]
        options += ["--platform", "raw,container", "--repetitions", "1", "--duration", "0.5"]
        done = machines.vtax(
            "run", "oljira2016/response-time", *options, "--testbed", machines.testbed, "--out", out
        )
        assert_gone_on(done)
        rows = Result.open(out).query("SELECT platform, transactions FROM trials JOIN flows USING (trial_id)")
        assert {row["platform"] for row in rows.to_pylist() if row["transactions"]} == {"raw", "container"}
        assert machines.settles()

    def test_a_scenario_beyond_the_cables_is_refused(
        self, machines: Rack, scenario: Path, tmp_path: Path
    ) -> None:
        more = ("--set", "streams=2", "--testbed", machines.testbed, "--out", tmp_path / "out")
        done = machines.vtax("run", scenario, *more)
        assert done.returncode == 2
        assert "1 links between gen and uut are too few" in done.stderr
        assert machines.settles()


class TestCheck:
    def test_all_is_well(self, machines: Rack) -> None:
        links = {name: machines.on(name, "ip", "-br", "link") for name in machines.processes}
        done = machines.vtax("testbed", "check", machines.testbed)
        assert done.returncode == 0, done.stdout
        assert done.stdout.count("arrive both ways") == 2
        assert done.stdout.count("control network at control") == 3
        assert machines.settles()
        assert links == {name: machines.on(name, "ip", "-br", "link") for name in machines.processes}

    def test_what_is_not_is_named(self, machines: Rack, tmp_path: Path) -> None:
        file = tmp_path / "wrong.yaml"
        text = machines.testbed.read_text()
        file.write_text(text.replace("to: rec/cable0", "to: rec/cable9").replace("ssh: gen", "ssh: nobody"))
        done = machines.vtax("testbed", "check", file)
        assert done.returncode == 3
        assert "gen cannot be reached" in done.stdout
        assert "cable9 is not there" in done.stdout

    def test_a_control_network_elsewhere_is_named(
        self, machines: Rack, scenario: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / "elsewhere.yaml"
        file.write_text(machines.testbed.read_text().replace("control: control", "control: lo", 1))
        problem = "gen: ssh comes in by control, and its control network is at lo"
        checked = machines.vtax("testbed", "check", file)
        assert checked.returncode == 3
        assert problem in " ".join(checked.stdout.split())
        refused = machines.vtax("run", scenario, "--testbed", file, "--out", tmp_path / "out")
        assert refused.returncode == 2
        assert problem in refused.stderr
        assert not (tmp_path / "out").exists()
        assert machines.settles()


class TestFaults:
    def test_an_ssh_that_is_killed_costs_a_trial(
        self, machines: Rack, running: "subprocess.Popen[str]", tmp_path: Path
    ) -> None:
        before = committed(tmp_path / "out")
        os.kill(ssh_of("uut", running.pid), signal.SIGKILL)
        assert_gone_on(ended(running))
        assert assert_once(tmp_path / "out", before) == 12
        assert machines.settles()

    def test_a_second_without_the_link_costs_nothing(
        self, machines: Rack, running: "subprocess.Popen[str]", tmp_path: Path
    ) -> None:
        before = committed(tmp_path / "out")
        machines.cut("uut", joined=False)
        try:
            subprocess.run(["sleep", "1"], check=True)
        finally:
            machines.cut("uut", joined=True)
        assert_gone_on(ended(running))
        assert assert_once(tmp_path / "out", before) == 12
        assert machines.settles()

    def test_a_link_that_is_gone_ends_the_campaign_with_the_reason(
        self, machines: Rack, running: "subprocess.Popen[str]", scenario: Path, tmp_path: Path
    ) -> None:
        machines.cut("uut", joined=False)
        try:
            done = ended(running)
            assert done.returncode == 2
            assert "uut cannot be reached" in done.stderr
            assert machines.settles(90), "the machine itself notices that nobody is there"
        finally:
            machines.cut("uut", joined=True)
        before = committed(tmp_path / "out")
        assert before
        assert_gone_on(
            machines.vtax("run", scenario, "--testbed", machines.testbed, "--resume", tmp_path / "out")
        )
        assert assert_once(tmp_path / "out", before) == 12
        assert machines.settles()

    def test_a_controller_that_is_killed_leaves_nothing(
        self, machines: Rack, running: "subprocess.Popen[str]", scenario: Path, tmp_path: Path
    ) -> None:
        running.kill()
        running.communicate()
        assert machines.settles()
        before = committed(tmp_path / "out")
        assert_gone_on(
            machines.vtax("run", scenario, "--testbed", machines.testbed, "--resume", tmp_path / "out")
        )
        assert assert_once(tmp_path / "out", before) == 12
        assert machines.settles()

    def test_a_slow_machine_costs_nothing(self, machines: Rack, scenario: Path, tmp_path: Path) -> None:
        slow = tmp_path / "vtax"
        slow.write_text(f"#!{VTAX.parent}/python\n{SLOW.format(vtax=VTAX)}")
        slow.chmod(0o755)
        file = tmp_path / "rack.yaml"
        file.write_text(machines.testbed.read_text().replace(f"uut, vtax: {VTAX}", f"uut, vtax: {slow}"))
        options = ("--testbed", file, "--repetitions", "1", "--out", tmp_path / "out")
        assert_gone_on(machines.vtax("run", scenario, *options))
        assert assert_once(tmp_path / "out") == 4
        assert machines.settles()

    def test_a_full_disk_ends_the_campaign_and_keeps_what_is_there(
        self, machines: Rack, scenario: Path, tmp_path: Path
    ) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "vtax", disk], check=True)
        try:
            out = disk / "out"
            options = ("--testbed", machines.testbed, "--repetitions", "100", "--out", out)
            done = machines.vtax("run", scenario, *options)
            assert done.returncode == 1
            assert "No space left" in done.stderr
            assert assert_once(out) > 0
            assert machines.settles()
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_another_version_is_refused(self, machines: Rack, tmp_path: Path) -> None:
        other = tmp_path / "vtax"
        code = "import sys, vtax; vtax.__version__ = '0.0.1'; from vtax.cli import main; sys.exit(main())"
        other.write_text(f'#!/bin/sh\nexec {VTAX.parent}/python -c "{code}" "$@"\n')
        other.chmod(0o755)
        file = tmp_path / "rack.yaml"
        file.write_text(machines.testbed.read_text().replace(f"gen, vtax: {VTAX}", f"gen, vtax: {other}"))
        done = machines.vtax("run", "quick", "--testbed", file)
        assert done.returncode == 2
        assert "gen has vtax 0.0.1" in done.stderr
        assert machines.settles()
