"""Campaigns on this machine: real frames through real platforms, and what is left when they end."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import assert_measured, interrupt, start, vtax, wait_for_line
from tests.helpers.footprint import footprint
from tests.helpers.records import owned_processes
from vtax.cli import main
from vtax.machine.fix import AS_ROOT, install
from vtax.machine.ownership import OwnershipRecord, Process
from vtax.platforms import PlatformUnusable, presets, qemu
from vtax.platforms.cpio import newc_archive
from vtax.results import Result

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

RAW_WAY = ("link", "UUT ingress", "UUT forwarding", "UUT egress", "sink")
GUEST_WAY = (
    *("link", "UUT ingress", "bridge port in", "tap queue", "guest ring", "guest forwarding", "guest egress"),
    *("bridge port out", "UUT egress", "sink"),
)


@pytest.fixture
def running(scenario: Path, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A campaign long enough to be disturbed, with a trial behind it."""
    process = start(
        "run", scenario, "--repetitions", "100", "--platform", "container", "--out", tmp_path / "out"
    )
    wait_for_line(process, r"^\[1/")
    try:
        yield process
    finally:
        interrupt(process)


@pytest.mark.measures
@pytest.mark.platform
@pytest.mark.parametrize("container", ["container", "container-crun", "lxc"])
def test_raw_and_container_end_to_end(container: str, scenario: Path, tmp_path: Path) -> None:
    options = ["--platform", f"raw,{container}", "--seed", "7"]
    done = vtax("run", scenario, *options, "--out", tmp_path / "out")
    assert_measured(done)
    result = Result.open(tmp_path / "out")
    assert result.campaign["status"] == "complete"
    assert result.campaign["seed"] == 7
    trials = result.query(
        "SELECT platform, intended_mbps, count(DISTINCT block) AS blocks, min(uut_context) AS context "
        "FROM trials GROUP BY ALL ORDER BY ALL"
    ).to_pylist()
    assert [(row["platform"], row["intended_mbps"], row["blocks"]) for row in trials] == [
        (container, 5.0, 2),
        (container, None, 2),
        ("raw", 5.0, 2),
        ("raw", None, 2),
    ]
    assert {row["context"] for row in trials} == {"own"}
    for flow in result.query("SELECT * FROM cells WHERE intended_mbps = 5").to_pylist():
        assert flow["frames_sent"] == pytest.approx(0.3 * 5e6 / (8 * 88), rel=0.02)
        assert (flow["frames_lost"], flow["frames_duplicated"], flow["frames_reordered"]) == (0, 0, 0)
        assert flow["latency_count"] >= 0.3 * 1000
        assert 500 < flow["latency_p50_ns"] < 1e6
    hops = result.query("SELECT DISTINCT platform, hop FROM hops JOIN trials USING (trial_id)").to_pylist()
    assert {row["hop"] for row in hops if row["platform"] == "raw"} == set(RAW_WAY)
    assert {row["hop"] for row in hops if row["platform"] == container} == set(GUEST_WAY) - {"tap queue"}
    if done.returncode == 0:  # with nothing usable there is nothing to draw
        assert (tmp_path / "out/report.html").stat().st_size > 1_000_000
        assert container in done.stdout


QEMU_PRESETS = [name for name, preset in presets().items() if preset.kind == "qemu"]


@pytest.mark.platform
@pytest.mark.parametrize("platform", QEMU_PRESETS)
def test_qemu_guests_forward_every_stream(platform: str, scenario: Path, tmp_path: Path) -> None:
    preset = presets()[platform]
    try:
        preset.platform().prepare(preset.resolve({}))
    except PlatformUnusable as unusable:
        pytest.skip(str(unusable))
    out = tmp_path / "out"
    # So few frames that each queue holds all: on a machine that others use, an emulated guest may not run for a while.
    options = ["--set", "streams=2", "--set", "intended_mbps=0.1", "--repetitions", "1"]
    done = vtax("run", scenario, "--platform", platform, *options, "--out", out)
    assert_measured(done)
    result = Result.open(out)
    facts = result.campaign["platforms"][platform]
    flows = result.query(
        "SELECT DISTINCT streams, stream, loss_ratio, emulated FROM trials JOIN flows USING (trial_id) ORDER BY ALL"
    ).to_pylist()
    assert [(flow["streams"], flow["stream"]) for flow in flows] == [(2, 0), (2, 1)]
    assert all(flow["loss_ratio"] == 0 for flow in flows)
    assert {flow["emulated"] for flow in flows} == {facts["accelerator"] == "emulated"}
    threads = result.query("SELECT DISTINCT component FROM cpu WHERE domain = 'guest'").to_pylist()
    expected = {"vcpu 0", "emulator"} | ({"switch"} if facts["facts"]["backend"] == "vhost-user" else set())
    assert {thread["component"] for thread in threads} >= expected
    assert result.query("SELECT min(hello_s) AS s FROM trials").to_pylist()[0]["s"] > 0


@pytest.mark.measures
def test_ctrl_c_ends_the_campaign_and_keeps_its_trials(
    running: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    begun = time.monotonic()
    interrupt(running)
    assert time.monotonic() - begun < 5
    assert running.returncode == 130
    result = Result.open(tmp_path / "out")
    assert result.campaign["status"] == "interrupted"
    assert result.query("SELECT count(*) AS n FROM trials").to_pylist()[0]["n"] >= 1
    assert vtax("show", tmp_path / "out").returncode == 0


def test_a_running_campaign_is_read(running: "subprocess.Popen[str]", tmp_path: Path) -> None:
    count = ("sql", tmp_path / "out", "SELECT count(*) AS n FROM trials", "--format", "json")
    first = json.loads(vtax(*count).stdout)[0]["n"]
    wait_for_line(running, rf"^\[{first + 1}/")
    assert 1 <= first < json.loads(vtax(*count).stdout)[0]["n"]


def test_the_second_campaign_is_told_who_holds_the_host(
    running: "subprocess.Popen[str]", scenario: Path, tmp_path: Path
) -> None:
    second = vtax("run", scenario, "--out", tmp_path / "second")
    assert second.returncode == 2
    assert f"in use by process {running.pid} (campaign test/forwarding)" in second.stderr
    assert not (tmp_path / "second").exists()


def test_a_guest_that_dies_is_said_and_replaced(running: "subprocess.Popen[str]", tmp_path: Path) -> None:
    assert running.stderr is not None
    kill_newest_guest()
    for line in running.stderr:
        if "the guest died" in line or "vtax broke" in line:
            said = line
            break
        if line.startswith("["):  # the one that was killed had been done with
            kill_newest_guest()
    assert re.search("container: .*the guest died.*; it is taken down", said)
    wait_for_line(running, r"^\[\d+/")
    wait_for_line(running, r"^\[\d+/")
    result = Result.open(tmp_path / "out")
    reasons = result.query("SELECT verdict, unnest(reasons) AS reason FROM trials").to_pylist()
    assert "between trials" in said or any("the guest died" in row["reason"] for row in reasons)


def kill_newest_guest() -> None:
    (record,) = Path("/run/vtax").glob("*.owned")
    owned = owned_processes(record.stem)
    with contextlib.suppress(ProcessLookupError):
        os.kill([detail.pid for detail in owned if detail.name == "guest"][-1], signal.SIGKILL)


def test_what_a_killed_campaign_left_is_removed_at_the_next_start(
    running: "subprocess.Popen[str]", scenario: Path, tmp_path: Path
) -> None:
    running.kill()
    running.wait(120)
    assert footprint()["namespaces"]
    assert_measured(vtax("run", scenario, "--repetitions", "1", "--out", tmp_path / "next"))


@pytest.mark.parametrize("platform", ["container", "container-crun", "lxc"])
def test_a_container_whose_runtime_died_with_the_campaign_is_removed(
    platform: str, scenario: Path, tmp_path: Path
) -> None:
    """Nobody is left who would delete it, but the record says how."""
    process = start(
        "run", scenario, "--repetitions", "100", "--platform", platform, "--out", tmp_path / "out"
    )
    wait_for_line(process, r"^\[\d+/")
    (record,) = Path("/run/vtax").glob("*.owned")
    owned = OwnershipRecord(record.stem).entries()
    (container,) = {entry for entry in owned if entry.kind.endswith("container")}
    name = container.name
    runtime = [entry for entry in owned if isinstance(entry, Process) and entry.name == "guest"][-1]
    process.send_signal(signal.SIGSTOP)  # or it would delete the container at once
    os.kill(runtime.pid, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=120)
    assert list(Path("/sys/fs/cgroup").glob(f"**/{name}"))
    cleaned = vtax("clean")
    assert f"removed {container}\n" in cleaned.stdout, cleaned.stderr
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{name}"))


def test_a_guest_that_never_says_hello_is_named_with_its_last_words(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real guest whose image has no init: its kernel panics, and the campaign measures the rest."""
    empty = tmp_path / "empty.cpio"
    empty.write_bytes(newc_archive(["dev"], {}))
    monkeypatch.setattr(qemu, "build_image", lambda *_, **__: empty)
    options = ["--platform", "raw,qemu-virtio", "--set", "intended_mbps=5", "--repetitions", "1"]
    options += ["--set", "platform.accelerator=emulated"]  # or a probe with this image would be remembered
    assert main(["run", str(scenario), *options, "--out", str(tmp_path / "out")]) == 3
    said = capsys.readouterr().err
    assert said.count("qemu-virtio did not become ready: guest: its stream ended before it said hello") == 2
    assert "Kernel panic - not syncing" in said
    measured = Result.open(tmp_path / "out").query("SELECT DISTINCT platform FROM trials").to_pylist()
    assert measured == [{"platform": "raw"}]


def test_without_a_kernel_package_qemu_is_skipped(
    scenario: Path, tmp_path: Path, without_tools: dict[str, str]
) -> None:
    tools = Path(without_tools["PATH"])
    (tools / "apt-cache").unlink()
    (tools / "apt-cache").write_text("#!/bin/sh\nexit 100\n")
    (tools / "apt-cache").chmod(0o755)
    (tools / "qemu-system-x86_64").symlink_to(shutil.which("qemu-system-x86_64") or "qemu-system-x86_64")
    environment = {**without_tools, "VTAX_CACHE": str(tmp_path / "cache")}
    options = ["--platform", "qemu-virtio", "--repetitions", "1"]
    done = vtax("run", scenario, *options, "--out", tmp_path / "out", env=environment)
    assert done.returncode == 3
    assert "no linux-image-amd64 package is known. To use it: apt-get update" in done.stderr


@pytest.fixture
def without_tools(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has everything but QEMU and runc."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in (
        "tc",
        "nsenter",
        "setpriv",
        "taskset",
        "apt-get",
        "apt-cache",
        "dpkg-deb",
        "modprobe",
        "depmod",
    ):
        (directory / name).symlink_to(shutil.which(name) or name)
    return {**os.environ, "PATH": str(directory)}


def test_missing_tools_skip_their_platforms_only(
    scenario: Path, tmp_path: Path, without_tools: dict[str, str]
) -> None:
    options = ["--platform", "raw,container,qemu-virtio", "--set", "intended_mbps=5", "--repetitions", "1"]
    done = vtax("run", scenario, *options, "--out", tmp_path / "out", env=without_tools)
    assert done.returncode == 3
    assert f"container is skipped: no runc command found. To use it: {install('runc')}" in done.stderr
    assert install("qemu-system-x86") in done.stderr
    measured = Result.open(tmp_path / "out").query("SELECT DISTINCT platform FROM trials").to_pylist()
    assert measured == [{"platform": "raw"}]


def test_without_root_nothing_runs_and_the_remedy_is_named(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["run", str(scenario), "--out", str(tmp_path / "out")]) == 3
    said = capsys.readouterr().err
    assert "raw is skipped: network namespaces, links and BPF programs need root" in said
    assert AS_ROOT in said


def test_json_is_all_that_stands_on_stdout(scenario: Path, tmp_path: Path) -> None:
    options = ["--platform", "raw", "--set", "intended_mbps=5", "--repetitions", "1", "--json"]
    done = vtax("run", scenario, *options, "--out", tmp_path / "out")
    assert_measured(done)
    assert json.loads(done.stdout)["directory"] == str(tmp_path / "out")
