"""Streams between end hosts on this machine: real connections over one link that guests share."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.campaigns import DISTURBED
from tests.helpers.disturb import Act
from tests.helpers.guest_fault import with_fault
from tests.helpers.records import owned_processes
from vtax.cli import main
from vtax.platforms import GuestPlan, qemu
from vtax.platforms.emulator import Emulator
from vtax.platforms.kernel import Kernel
from vtax.platforms.launch import Started
from vtax.results import Result
from vtax.views.summary import summarise

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("leaves_nothing")]

LINK_MBPS = 100
TCP_SHARE, UDP_SHARE = 1448 / 1538, 1472 / 1538
"""Goodput of a full link: payload of full frames, of what they take at layer 1."""
SCENARIO = f"""
name: own/bulk
title: Streams
question: How fast?
workload: {{kind: bulk, warmup_s: 0.2, duration_s: 0.8}}
testbed: {{link_mbps: {LINK_MBPS}, flow_control: true, uplink: shared}}
factors:
  platform: [raw]
  guests: [1, 2]
repetitions: 1
"""


@pytest.fixture
def bulk(tmp_path: Path) -> Path:
    path = tmp_path / "bulk.yaml"
    path.write_text(SCENARIO.lstrip())
    return path


def is_disturbed(reason: str) -> bool:
    """Whether others kept a trial from its CPUs."""
    return any(words in reason for words in (*DISTURBED, "taken from the far guest"))


def assert_fills_the_link(result: Result, usable: int, link_mbps: float = LINK_MBPS) -> None:
    """Goodput of all guests together is the link's, and each has a share; a busy machine's trials are left out.

    So are its cells: of `usable` that shall have a trial those that others kept from their CPUs each time.
    """
    trials = result.query(
        "SELECT trial_id, transport, guests, count(*) AS flows, sum(goodput_mbps) AS mbps, min(goodput_mbps) AS least "
        "FROM trials JOIN flows USING (trial_id) WHERE verdict <> 'invalid' GROUP BY ALL"
    ).to_pylist()
    attempts = result.query("SELECT cell, verdict, reasons FROM trials").to_pylist()
    cells: dict[str, list[bool]] = {row["cell"]: [] for row in attempts}
    for row in attempts:
        cells[row["cell"]].append(row["verdict"] == "invalid" and is_disturbed(row["reasons"][0]))
    assert len(trials) >= usable - sum(all(each) for each in cells.values())
    for trial in trials:
        share = TCP_SHARE if trial["transport"] == "tcp" else UDP_SHARE
        assert trial["flows"] == trial["guests"]
        assert 0.95 * share * link_mbps < trial["mbps"] < 1.01 * share * link_mbps, trial
        assert trial["least"] > 0.1 * trial["mbps"] / trial["guests"], trial


@pytest.mark.measures
@pytest.mark.parametrize(
    ("direction", "guests", "usable"), [("sending", "1,2", 6), ("receiving", "2", 3), ("forwarding", "2", 3)]
)
def test_guests_of_the_hosts_kernel_fill_the_link_they_share(
    direction: str, guests: str, usable: int, bulk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    factors = [f"direction={direction}", f"guests={guests}", "transport=tcp,udp"]
    options = [word for factor in factors for word in ("--set", factor)]
    main(["run", str(bulk), "--platform", "raw,container", *options, "--out", str(out)])
    result = Result.open(out)
    assert_fills_the_link(result, usable)
    ledger = result.query(
        "SELECT sum(percent) AS percent FROM cpu WHERE samples IS NOT NULL GROUP BY trial_id"
    ).to_pylist()
    cpus = len({cpu for role in result.campaign["testbed"]["cpus"].values() for cpu in role})
    assert all(row["percent"] == pytest.approx(100 * cpus) for row in ledger)
    series = result.query("SELECT count(*) AS steps FROM series GROUP BY trial_id, guest, stream").to_pylist()
    assert all(8 <= row["steps"] <= 14 for row in series)


@pytest.mark.measures
def test_guests_on_one_cpu_begin_together(bulk: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fast = ["--set", "link_mbps=1000", "--duration", "0.2", "--repetitions", "3"]
    main(["run", str(bulk), *fast, "--set", "transport=udp", "--set", "guests=8", "--out", str(out)])
    spreads = Result.open(out).query("SELECT start_spread_ms FROM trials").to_pylist()
    # Behind seven slices of the scheduler it is 20 ms and more; who else has the CPU may take one or two.
    assert min(row["start_spread_ms"] for row in spreads) < 10


@pytest.mark.measures
@pytest.mark.parametrize("platform", ["uml", "qemu-virtio"])
def test_guests_with_a_kernel_of_their_own_fill_the_link_they_share(
    platform: str, bulk: Path, tmp_path: Path
) -> None:
    """A link so slow that two emulated guests fill it on any machine: on some they reach no more than 56 Mbit/s."""
    link_mbps, out = 20, tmp_path / "out"
    sets = ["--set", "guests=2", "--set", f"testbed.link_mbps={link_mbps}"]
    main(["run", str(bulk), "--platform", platform, *sets, "--out", str(out)])
    assert_fills_the_link(Result.open(out), usable=1, link_mbps=link_mbps)


BETWEEN = SCENARIO.replace("kind: bulk", "kind: bulk, placement: inter-host").replace(", uplink: shared", "")


@pytest.fixture
def between(tmp_path: Path) -> Path:
    path = tmp_path / "between.yaml"
    path.write_text(BETWEEN.replace("  guests: [1, 2]\n", "").lstrip())
    return path


def assert_undisturbed_is_usable(row: dict[str, Any]) -> None:
    """A trial that others kept from its CPUs may be invalid, and no other."""
    assert row["verdict"] != "invalid" or is_disturbed(row["reasons"][0]), row


@pytest.mark.measures
def test_two_ends_fill_the_link_that_is_theirs_with_the_buffers_they_ask_for(
    between: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    sets = ["--set", "buffer_bytes=default,262144", "--set", "message_bytes=64"]
    main(["run", str(between), "--platform", "raw,container", *sets, "--out", str(out)])
    result = Result.open(out)
    assert_fills_the_link(result, usable=0)
    rows = result.query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert len({row["cell"] for row in rows}) == 4
    assert {row["placement"] for row in rows} == {"inter-host"}
    usable = {row["cell"] for row in rows if row["verdict"] != "invalid"}
    assert len(summarise(result).streams.messages) == len(usable)
    for row in rows:
        assert_undisturbed_is_usable(row)
        held = row["send_buffer_bytes"], row["receive_buffer_bytes"]
        if row["buffer_bytes"] is None:
            assert min(held) >= 4096, row
        else:
            assert held == (2 * 262144, 2 * 262144), row


@pytest.mark.measures
def test_two_guests_of_one_host_stream_past_the_link(between: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    main(["run", str(between), "--platform", "container", "--set", "placement=intra-host", "--out", str(out)])
    rows = Result.open(out).query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert rows
    for row in rows:
        assert row["guests"] == 2
        assert row["goodput_mbps"] > 2 * LINK_MBPS, row


@pytest.mark.measures
def test_two_guests_with_a_kernel_of_their_own_stream_over_sctp(between: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sets = ["--set", "transport=sctp", "--set", "message_bytes=1024", "--set", "buffer_bytes=default,1048576"]
    main(["run", str(between), "--platform", "uml", *sets, "--out", str(out)])
    rows = Result.open(out).query("SELECT * FROM trials JOIN flows USING (trial_id)").to_pylist()
    assert len({row["cell"] for row in rows}) == 2
    for row in rows:
        assert_undisturbed_is_usable(row)
        assert row["retransmissions"] is not None, row
        # One message a packet: its header 16, SCTP's 12, IPv4's 20, and what Ethernet takes.
        full = LINK_MBPS * 1024 / (1024 + 16 + 12 + 20 + 38)
        least = 0 if row["verdict"] == "invalid" else 0.5 * full
        assert least < row["goodput_mbps"] < 1.01 * full, row
        asked = row["buffer_bytes"]
        assert row["send_buffer_bytes"] == 2 * asked if asked else row["send_buffer_bytes"] > 0


def kill_second_guest(run: str) -> None:
    owned = owned_processes(run)
    (guest,) = [detail.pid for detail in owned if detail.name == "guest1"]
    os.kill(guest, signal.SIGKILL)


def test_a_guest_that_ends_makes_the_trial_invalid_and_is_named(
    bulk: Path, tmp_path: Path, in_the_trial: Callable[[Act], None]
) -> None:
    out = tmp_path / "out"
    options = ["--platform", "container", "--set", "guests=2", "--duration", "3"]
    in_the_trial(kill_second_guest)
    main(["run", str(bulk), *options, "--out", str(out)])
    trials = Result.open(out).query("SELECT verdict, reasons FROM trials ORDER BY trial_id").to_pylist()
    assert trials[0]["verdict"] == "invalid"
    assert "guest1" in trials[0]["reasons"][0]


def test_a_guest_that_does_not_start_is_named_and_no_mean_is_over_the_others(
    bulk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words, heard = qemu.machine_words, qemu.await_hello

    def of_second_guest_at_fault(
        emulator: Emulator, kernel: Kernel, image: Path, accelerator: str, console: Path, config: qemu.Config
    ) -> list[str]:
        if console.name == "guest1.console":
            image = with_fault(image, "boot", tmp_path)
        return words(emulator, kernel, image, accelerator, console, config)

    def impatient_with_second_guest(guest: Started, plan: GuestPlan, begun_s: float, limit_s: float) -> None:
        heard(guest, plan, begun_s, 8.0 if plan.name.endswith("guest1") else limit_s)

    monkeypatch.setattr(qemu, "machine_words", of_second_guest_at_fault)
    monkeypatch.setattr(qemu, "await_hello", impatient_with_second_guest)
    options = ["--set", "guests=2", "--set", "platform.accelerator=emulated", "--out", str(tmp_path / "out")]
    assert main(["run", str(bulk), "--platform", "qemu-virtio", *options]) == 3
    assert "no usable trial: guest1: no hello within 8 s" in capsys.readouterr().err
    assert Result.open(tmp_path / "out").query("SELECT * FROM trials").num_rows == 0


@pytest.mark.parametrize("scenario", ["bulk", "between"])
def test_a_kernel_without_sctp_is_refused_before_anything_starts(
    scenario: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if Path("/proc/sys/net/sctp").exists():
        pytest.skip("this kernel has SCTP")
    path = str(request.getfixturevalue(scenario))
    status = main(["run", path, "--set", "transport=sctp", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert status == 3
    assert "is refused: this kernel has no sctp" in said
    assert Result.open(tmp_path / "out").query("SELECT * FROM trials").num_rows == 0
