"""What guests share: goodput, efficiency, fairness and CPU time against numbers computed by hand."""

import math
from pathlib import Path

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.bulk import MadeBulk, bulk_blocks
from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.model.streams import StreamLevels, link_goodput_mbps, stream_levels
from vtax.views.summary import summarise

T_1 = 12.706204736432095  # Student's t, 97.5%, one degree of freedom
T_2 = 4.302652729911275  # two degrees
STEP = 1e-3  # of goodput
RATIO_STEP = math.exp(STEP)
TCP = Setting(StreamLevels("sending", "tcp"))
LINK = {"link_mbps": 1000.0, "mtu": 1500}


def interval(estimate: Estimate | None) -> tuple[float, float | None, float | None, int]:
    assert estimate is not None
    return estimate.value, estimate.low, estimate.high, estimate.n


def test_aggregate_share_and_each_guest(tmp_path: Path) -> None:
    result = make(tmp_path / "r", bulk_blocks([(400, 500), (420, 480), (380, 460)]))
    (row,) = summarise(result).streams.sharing.goodput
    half_width = T_2 * math.sqrt((20**2 + 20**2 + 40**2) / 2) / math.sqrt(3)
    mean = (900 + 900 + 840) / 3
    deviation = math.sqrt(sum((value - mean) ** 2 for value in (900, 900, 840)) / 2)
    half_width = T_2 * deviation / math.sqrt(3) + STEP * mean
    assert interval(row.aggregate_mbps) == pytest.approx((mean, mean - half_width, mean + half_width, 3))
    assert interval(row.fair_share_mbps) == pytest.approx(
        (mean / 2, (mean - half_width) / 2, (mean + half_width) / 2, 3)
    )
    assert {guest: found.value for guest, found in row.by_guest_mbps.items()} == pytest.approx(
        {0: 400, 1: 480}
    )
    assert row.link_mbps == pytest.approx(1000 * 1448 / 1538)
    assert row.of_link is not None
    assert row.of_link.value == pytest.approx(mean / (1000 * 1448 / 1538))


def test_streams_of_a_guest_are_summed(tmp_path: Path) -> None:
    made = MadeBulk((450.0,))
    record = made.record(0)
    record.flows.append({**record.flows[0], "stream": 1, "goodput_mbps": 300.0})

    class TwoStreams(MadeBulk):
        def record(self, trial_id: int):  # type: ignore[no-untyped-def]
            return record

    (row,) = summarise(make(tmp_path / "r", [TwoStreams()])).streams.sharing.goodput
    assert row.aggregate_mbps.value == 750
    assert row.by_guest_mbps[0].value == 750


def test_invalid_trials_are_left_out_and_suspect_ones_are_counted(tmp_path: Path) -> None:
    trials = [
        *bulk_blocks([(900,), (900,), (900,)]),
        MadeBulk((1.0,), block=1, verdict="invalid", reasons=("clock",)),
        MadeBulk((600.0,), block=3, verdict="suspect", reasons=("late",)),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    (row,) = summary.streams.sharing.goodput
    assert (row.aggregate_mbps.value, row.aggregate_mbps.n) == (825, 4)
    assert row.aggregate_mbps.left_out == pytest.approx(1 / 5)
    assert (row.recorded, row.invalid, row.suspect) == (5, 1, 1)
    (cell,) = summary.cell_verdicts
    assert (cell.name, cell.label) == ("raw, sending TCP, 1 guest", "1")


def test_efficiency_is_against_raw_with_one_guest_of_the_same_block(tmp_path: Path) -> None:
    trials = [
        *bulk_blocks([(800,), (1000,)]),
        *bulk_blocks([(360, 360), (450, 450)], platform="container"),
    ]
    found = summarise(make(tmp_path / "r", trials)).streams.sharing.efficiency
    (row,) = found
    assert (row.platform, row.guests, row.reference, row.problem) == ("container", 2, "raw", None)
    assert interval(row.efficiency) == pytest.approx((0.9, 0.9 / RATIO_STEP, 0.9 * RATIO_STEP, 2))


def test_raw_is_its_own_reference_and_other_settings_are_not(tmp_path: Path) -> None:
    trials = [
        *bulk_blocks([(900,), (900,)]),
        *bulk_blocks([(450, 450), (495, 495)]),
        *bulk_blocks([(300,), (300,)], transport="udp", platform="container"),
    ]
    raw, container = summarise(make(tmp_path / "r", trials)).streams.sharing.efficiency
    assert (raw.platform, raw.guests) == ("raw", 2)
    mean, spread = math.log(1.1) / 2, T_1 * (math.log(1.1) / math.sqrt(2)) / math.sqrt(2) + STEP
    assert interval(raw.efficiency) == pytest.approx(
        (math.exp(mean), math.exp(mean - spread), math.exp(mean + spread), 2)
    )
    assert container.efficiency is None
    assert container.problem == "raw has no usable trial with one guest"


def test_an_emulated_platform_is_compared_with_itself_only(tmp_path: Path) -> None:
    trials = [
        *bulk_blocks([(900,), (900,)]),
        *bulk_blocks([(100,), (100,)], platform="uml", emulated=True),
        *bulk_blocks([(40, 40), (40, 40)], platform="uml", emulated=True),
    ]
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.efficiency
    assert (row.platform, row.guests, row.reference, row.emulated) == ("uml", 2, "uml", True)
    assert row.efficiency is not None
    assert row.efficiency.value == pytest.approx(0.8)


def test_blocks_without_a_pair_are_told_of(tmp_path: Path) -> None:
    trials = [MadeBulk((900.0,), block=0), MadeBulk((800.0,), platform="container", block=1)]
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.efficiency
    assert row.efficiency is None
    assert row.problem == "raw has no usable trial with one guest in its blocks"


def test_scaling_is_against_the_same_platform_with_one_guest(tmp_path: Path) -> None:
    trials = [
        *bulk_blocks([(800,), (900,)], platform="container", host_percent=50.0),
        *bulk_blocks([(200, 200), (225, 225)], platform="container", host_percent=65.0),
    ]
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.scaling
    assert interval(row.aggregate_ratio) == pytest.approx((0.5, 0.5 / RATIO_STEP, 0.5 * RATIO_STEP, 2))
    assert interval(row.host_percent) == pytest.approx((15, 14, 16, 2))  # a tick


def test_fairness_is_the_mean_of_the_trials_indices(tmp_path: Path) -> None:
    trials = bulk_blocks([(100, 100), (200, 0)], guest_percent=(30.0, 10.0))
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.fairness
    assert row.goodput is not None
    assert (row.goodput.value, row.goodput.n) == pytest.approx((0.75, 2))
    assert (row.goodput.low, row.goodput.high) == (0.5, 1)  # Student's would be beyond
    assert interval(row.cpu) == pytest.approx((0.8, 0.7992, 0.8008, 2))


def test_cpu_of_host_guests_and_machine(tmp_path: Path) -> None:
    trials = bulk_blocks([(450, 450), (450, 450)], guest_percent=(30.0, 10.0), host_percent=72.0)
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.cpu
    assert interval(row.host_percent) == (72, 71, 73, 2)
    assert interval(row.guest_percent) == (20, 19, 21, 2)  # a sample is a percent
    assert {guest: found.value for guest, found in row.by_guest_percent.items()} == {0: 30, 1: 10}
    assert interval(row.busy_percent) == pytest.approx((115, 114, 116, 2))
    assert {account: found.value for account, found in row.by_account.items()} == {
        ("guest", 0): 30,
        ("guest", 1): 10,
        ("host", None): 30,
        ("peer", None): 40,
        ("switch", None): 5,
    }


def test_an_account_that_a_trial_lacks_had_nothing_and_a_trial_without_samples_tells_nothing(
    tmp_path: Path,
) -> None:
    trials = [
        MadeBulk(block=0, guest_percent=(30.0,), others_percent=(("steal", 8.0),)),
        MadeBulk(block=1, guest_percent=(30.0,), others_percent=()),
        MadeBulk(block=2, guest_percent=()),
    ]
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.cpu
    assert interval(row.by_account["steal", None])[::3] == (4, 2)
    assert row.host_percent is not None
    assert row.host_percent.n == 3


def test_without_cpu_times_there_is_nothing_of_them(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", [MadeBulk((450.0, 450.0), host_percent=None)]))
    assert summary.streams.sharing.cpu == []
    (row,) = summary.streams.sharing.fairness
    assert (row.goodput is not None, row.cpu) == (True, None)


def test_round_trips_are_those_of_transports_that_tell_them(tmp_path: Path) -> None:
    trials = [MadeBulk(rtt_ns=200_000.0), MadeBulk(rtt_ns=None, transport="udp")]
    (row,) = summarise(make(tmp_path / "r", trials)).streams.sharing.round_trips
    assert stream_levels(row.setting).transport == "tcp"
    assert row.by_guest_ns[0].value == 200_000


def test_cells_come_by_platform_setting_and_guests(tmp_path: Path) -> None:
    trials = [
        MadeBulk((1.0, 1.0), transport="udp"),
        MadeBulk((1.0, 1.0), message_bytes=512),
        MadeBulk((1.0,) * 4),
        MadeBulk((1.0,)),
        MadeBulk((1.0,), platform="container"),
    ]
    rows = summarise(make(tmp_path / "r", trials)).streams.sharing.goodput
    assert [(row.platform, row.setting.label, row.guests) for row in rows] == [
        ("raw", "sending TCP, 512-byte messages", 2),
        ("raw", "sending TCP", 1),
        ("raw", "sending TCP", 4),
        ("raw", "sending UDP", 2),
        ("container", "sending TCP", 1),
    ]


@pytest.mark.parametrize(
    ("setting", "keys", "expected"),
    [
        (TCP, {}, 1000 * 1448 / 1538),
        (Setting(StreamLevels("sending", "udp")), {}, 1000 * 1472 / 1538),
        (Setting(StreamLevels("sending", "udp", 1000)), {}, 1000 * 1000 / 1066),
        (Setting(StreamLevels("sending", "udp", 65536)), {}, 1000 * 1472 / 1538),
        (TCP, {"mtu": 9000}, 1000 * 8948 / 9038),
        (Setting(StreamLevels("sending", "tcp"), (("link_mbps", "100"), ("mtu", "1500"))), {}, 144800 / 1538),
        (TCP, {"link_mbps": "unlimited"}, None),
        (TCP, {"link_mbps": None}, None),
        (Setting(StreamLevels("sending", "sctp")), {}, None),
    ],
)
def test_what_a_link_carries(setting: Setting, keys: dict[str, object], expected: float | None) -> None:
    assert link_goodput_mbps(setting, {**LINK, **keys}) == (expected and pytest.approx(expected))
