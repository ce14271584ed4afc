"""View data against numbers computed by hand."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import Made, blocks, held
from vtax.model.bound import Bound, Limit
from vtax.model.estimate import Estimate
from vtax.model.frames import is_generator_limited
from vtax.views.metrics import read_measured
from vtax.views.summary import summarise
from vtax.views.tables import delay_table

T_2 = 4.302652729911275  # Student's t, 97.5%, two degrees of freedom
LIMITED = ("generator-limited",)
HELD = ("backpressured",)
STEP = 1e-3  # of throughput


def interval(estimate: Estimate | None) -> tuple[float, float | None, float | None, int]:
    assert estimate is not None
    return estimate.value, estimate.low, estimate.high, estimate.n


def test_throughput_is_summed_over_streams_and_averaged_over_blocks(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path / "r", blocks([90, 80, 100], offered_mbps=100, streams=2)))
    (row,) = summary.loads.throughput
    half_width = T_2 * 20 / math.sqrt(3) + STEP * 180
    assert interval(row.received_mbps) == pytest.approx((180, 180 - half_width, 180 + half_width, 3))
    assert interval(row.offered_mbps) == pytest.approx((200, 199.8, 200.2, 3))
    assert row.loss_ratio is not None
    assert row.loss_ratio.value == pytest.approx(0.1)
    assert {stream: each.value for stream, each in row.stream_received_mbps.items()} == pytest.approx(
        {0: 90, 1: 90}
    )


def test_invalid_trials_are_left_out_and_suspect_ones_are_not(tmp_path: Path) -> None:
    trials = [
        *blocks([100, 100, 100]),
        Made(block=1, received_mbps=1, verdict="invalid", reasons=("clock",)),
        Made(block=3, received_mbps=60, verdict="suspect", reasons=("late",)),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    (row,) = summary.loads.throughput
    assert (row.received_mbps.value, row.received_mbps.n) == pytest.approx((90, 4))
    assert row.received_mbps.left_out == pytest.approx(1 / 5)
    assert (row.recorded, row.invalid, row.suspect) == (5, 1, 1)
    assert summary.verdict_totals == {"valid": 3, "suspect": 1, "invalid": 1}
    assert {(count.verdict, count.reason, count.trials) for count in summary.verdicts} == {
        ("valid", "", 3),
        ("suspect", "late", 1),
        ("invalid", "clock", 1),
    }


def test_two_usable_attempts_of_a_block_count_as_one_repetition(tmp_path: Path) -> None:
    trials = [*blocks([100, 100]), Made(block=1, received_mbps=50, offered_mbps=100)]
    (row,) = summarise(make(tmp_path / "r", trials)).loads.throughput
    assert (row.received_mbps.value, row.received_mbps.n) == pytest.approx((87.5, 2))


def test_one_repetition_has_no_interval(tmp_path: Path) -> None:
    (row,) = summarise(make(tmp_path / "r", [Made()])).loads.throughput
    assert interval(row.received_mbps) == (100, None, None, 1)


def test_the_maximum_is_the_largest_mean_and_not_the_one_at_the_flood(tmp_path: Path) -> None:
    trials = [
        *blocks([300, 310], intended_mbps=400, offered_mbps=400),
        *blocks([200, 210], intended_mbps=None, offered_mbps=900, marks=LIMITED),
    ]
    (maximum,) = summarise(make(tmp_path / "r", trials)).loads.maxima
    assert (maximum.intended_mbps, maximum.received_mbps.value) == pytest.approx((400, 305))
    assert maximum.bound is Bound.EXACT


def test_a_generator_limited_maximum_is_a_lower_bound_unless_frames_are_lost(tmp_path: Path) -> None:
    trials = [
        *blocks([900, 900], intended_mbps=None, offered_mbps=900, marks=LIMITED),
        *blocks([400, 400], intended_mbps=None, offered_mbps=900, marks=LIMITED, platform="container"),
    ]
    raw, container = summarise(make(tmp_path / "r", trials)).loads.maxima
    assert (is_generator_limited(raw.cell), raw.bound) == (True, Bound.AT_LEAST)
    assert (is_generator_limited(container.cell), container.bound) == (True, Bound.EXACT)


@pytest.mark.parametrize(
    ("marks", "received", "limit"),
    [
        (LIMITED, 900, Limit.GENERATOR),
        (("link-limited",), 900, Limit.LINK),
        (("link-limited", "uplink-limited"), 450, Limit.LINK),
        ((), 900, Limit.OFFERED),
        ((), 896, Limit.OFFERED),
        ((), 894, None),
        (("backpressured",), 900, None),
        (("link-limited",), 800, None),
    ],
)
def test_a_maximum_is_exact_only_where_the_platform_showed_its_limit(
    tmp_path: Path, marks: tuple[str, ...], received: float, limit: Limit | None
) -> None:
    trials = blocks([received, received], intended_mbps=None, offered_mbps=900, marks=marks)
    (maximum,) = summarise(make(tmp_path / "r", trials)).loads.maxima
    assert (maximum.limit, maximum.bound) == (limit, Bound.AT_LEAST if limit else Bound.EXACT)


def test_a_load_carried_in_full_is_a_lower_bound_where_a_higher_one_lost_frames(tmp_path: Path) -> None:
    """Between the two the platform might carry more than either shows."""
    trials = [
        *blocks([400, 400], intended_mbps=400, offered_mbps=400),
        *blocks([390, 392], intended_mbps=800, offered_mbps=800),
    ]
    (maximum,) = summarise(make(tmp_path / "r", trials)).loads.maxima
    assert (maximum.intended_mbps, maximum.limit) == (400, Limit.OFFERED)
    assert (maximum.received_mbps.value, maximum.received_mbps.high) == (400, math.inf)


def test_a_load_as_high_as_the_flood_is_bounded_by_what_bounds_the_flood(tmp_path: Path) -> None:
    trials = [
        *blocks([990, 990], intended_mbps=990, offered_mbps=990),
        *blocks([989, 989], intended_mbps=None, offered_mbps=989, marks=("link-limited",)),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    assert (summary.loads.maxima[0].intended_mbps, summary.loads.maxima[0].limit) == (990, Limit.LINK)
    assert {row.intended_mbps: row.received_mbps.bound for row in summary.loads.throughput} == {
        990: Bound.EXACT,
        None: Bound.AT_LEAST,
    }


def test_lost_probes_raise_quantiles_until_they_are_unknown(tmp_path: Path) -> None:
    trials = [
        *(Made(block=block, probes_lost=lost) for block, lost in enumerate([None, 150, 149])),
        *(Made("container", block, probes_lost=lost) for block, lost in enumerate([0, 0, 1_000])),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    rows = {(row.platform, row.label): row for row in summary.loads.percentiles}
    assert (rows["raw", "p50"].samples, rows["raw", "p50"].lost) == (3_000, 299)
    assert rows["raw", "p90"].delay_ns is not None
    assert rows["raw", "p99"].delay_ns is None
    assert rows["container", "p50"].delay_ns is not None
    (cost,) = summary.loads.costs
    assert cost.added_delay_p50_ns is None


def test_guests_that_died_are_counted_once_and_blame_no_trial(tmp_path: Path) -> None:
    died = "the guest died; its losses are a result"
    trials = [
        Made("container", 0, reasons=(died,)),
        Made("container", 1, verdict="suspect", reasons=("late", died)),
        Made("container", 2, verdict="invalid", reasons=("clock", died)),
    ]
    found = {caveat.subject: caveat.text for caveat in summarise(make(tmp_path / "r", trials)).caveats}
    assert found["A guest died in 2 trials (platform container)"] == "The means include the resulting loss."
    assert found["The means include suspect trials"] == "1× late."


def test_the_change_of_the_throughput_is_paired_within_blocks(tmp_path: Path) -> None:
    trials = [
        *held([500, 600, 800]),
        *held([400, 540, 680], platform="container"),
    ]
    (change,) = summarise(make(tmp_path / "r", trials)).loads.changes
    logarithms = [math.log(0.8), math.log(0.9), math.log(0.85)]
    mean = sum(logarithms) / 3
    spread = math.sqrt(sum((each - mean) ** 2 for each in logarithms) / 2)
    reach = T_2 * spread / math.sqrt(3) + STEP
    bounds = [mean - reach, mean + reach]
    expected = tuple((math.exp(each) - 1) * 100 for each in (mean, *bounds))
    assert interval(change.change_percent) == pytest.approx((*expected, 3))
    assert (change.platform, change.reference) == ("container", "raw")
    assert change.change_percent is not None
    assert change.change_percent.bound is Bound.EXACT


@pytest.mark.parametrize(
    ("raw", "container", "bound"),
    [
        (900, 900, Bound.WITHHELD),
        (900, 400, Bound.AT_MOST),
        (500, 900, Bound.AT_LEAST),
        (500, 400, Bound.EXACT),
    ],
)
def test_what_the_ceiling_lets_a_change_say(
    tmp_path: Path, raw: float, container: float, bound: Bound
) -> None:
    trials = [
        made
        for platform, rate in (("raw", raw), ("container", container))
        for made in held([rate, rate], platform=platform, marks=LIMITED if rate == 900 else HELD)
    ]
    (change,) = summarise(make(tmp_path / "r", trials)).loads.changes
    found = change.change_percent
    assert found is not None
    assert found.bound is bound
    assert math.isnan(found.value) is (bound is Bound.WITHHELD)
    assert (found.low is None or math.isinf(found.low)) is (bound in (Bound.WITHHELD, Bound.AT_MOST))
    assert (found.high is None or math.isinf(found.high)) is (bound in (Bound.WITHHELD, Bound.AT_LEAST))


def test_delay_and_cpu_are_compared_at_the_same_load(tmp_path: Path) -> None:
    trials = [
        Made(
            platform=platform,
            block=block,
            intended_mbps=load,
            delay_ns=delay + 10 * block,
            host_percent=cpu + block,
        )
        for platform, load, delay, cpu in [
            ("raw", 100.0, 1000, 10.0),
            ("raw", 400.0, 1100, 20.0),
            ("container", 100.0, 1500, 14.0),
            ("container", 200.0, 1600, 15.0),
            ("container", 400.0, 1900, 30.0),
        ]
        for block in range(3)
    ]
    costs = summarise(make(tmp_path / "r", trials)).loads.costs
    assert [cost.intended_mbps for cost in costs] == [100, 400]
    assert interval(costs[0].added_delay_p50_ns) == pytest.approx(
        (500, 500 - 1510 / 128, 500 + 1510 / 128, 3), abs=1
    )
    assert interval(costs[1].added_delay_p50_ns) == pytest.approx(
        (800, 800 - 1910 / 128, 800 + 1910 / 128, 3), abs=1
    )
    assert interval(costs[1].added_host_percent) == pytest.approx((10, 9.9, 10.1, 3))  # a tick
    assert all(cost.carried_in_full for cost in costs)


def test_blocks_without_a_partner_are_not_paired(tmp_path: Path) -> None:
    trials = [*held([100, 100, 100]), *held([90, 90], platform="container")]
    (change,) = summarise(make(tmp_path / "r", trials)).loads.changes
    assert change.change_percent is not None
    assert change.change_percent.n == 2


def test_no_ratio_is_formed_across_contexts(tmp_path: Path) -> None:
    trials = [*blocks([100, 100], uut_context="sender"), *blocks([90, 90], platform="container")]
    summary = summarise(make(tmp_path / "r", trials))
    (change,) = summary.loads.changes
    assert change.change_percent is None
    assert "'own'" in str(change.problem)
    assert "'sender'" in str(change.problem)
    assert summary.loads.costs == []


def test_emulated_platforms_are_compared_only_with_the_first_of_their_group(tmp_path: Path) -> None:
    trials = [
        *blocks([100, 100]),
        *blocks([50, 50], platform="qemu-virtio", emulated=True),
        *blocks([20, 20], platform="qemu-e1000", emulated=True),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    assert [(change.platform, change.reference) for change in summary.loads.changes] == [
        ("qemu-e1000", "qemu-virtio")
    ]
    assert [(cost.platform, cost.reference) for cost in summary.loads.costs] == [
        ("qemu-e1000", "qemu-virtio")
    ]


def test_quantiles_take_enough_samples(tmp_path: Path) -> None:
    trials = [Made(block=block, samples=60) for block in range(3)]
    rows = summarise(make(tmp_path / "r", trials)).loads.percentiles
    assert [(row.label, row.samples) for row in rows] == [("p50", 180), ("p90", 180)]
    assert rows[0].delay_ns.value == pytest.approx(5000, rel=1e-3)


def test_cells_that_differ_in_a_further_factor_are_not_pooled(tmp_path: Path) -> None:
    trials = [
        *blocks([100, 100], further=(("cap_mbps", "100"),)),
        *blocks([50, 50], offered_mbps=50, further=(("cap_mbps", "50"),)),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    assert {row.setting.further: row.received_mbps.value for row in summary.loads.throughput} == {
        (("cap_mbps", "100"),): 100,
        (("cap_mbps", "50"),): 50,
    }
    assert summary.loads.throughput[0].setting.label == "64-byte frames, 1 stream, cap_mbps = 100"


def test_the_sinks_cost_is_named_as_the_sinks(tmp_path: Path) -> None:
    use = summarise(make(tmp_path / "r", [Made()])).loads.cpu
    assert [(each.domain, each.percent.value) for each in use] == [
        ("host", 20.0),
        ("host", 18.5),
        ("sink", 1.5),
    ]


def account(domain: str, component: str, percent: float) -> dict[str, Any]:
    return {
        "host": "local",
        "domain": domain,
        "component": component,
        "percent": percent,
        "samples": round(percent),
    }


def test_a_ledgers_accounts_are_apart_from_what_is_counted_and_add_up(tmp_path: Path) -> None:
    """An account that a trial does not have had nothing in it, and counts as that."""
    softirq, foreign = account("host", "softirq", 30), account("host", "foreign", 10)
    trials = [
        Made(cpu=(softirq, account("idle", "idle", 170))),
        Made(block=1, cpu=(softirq, foreign, account("idle", "idle", 160))),
        Made(block=2),
    ]
    summary = summarise(make(tmp_path / "r", trials))
    assert {(each.domain, each.component) for each in summary.loads.cpu} == {
        ("host", "total"),
        ("host", "without the sink"),
        ("sink", "calibrated"),
    }
    found = [
        (each.domain, each.component, each.percent.value, each.percent.n) for each in summary.loads.ledger
    ]
    assert found == [("host", "foreign", 5, 2), ("host", "softirq", 30, 2), ("idle", "idle", 165, 2)]


def test_a_cell_without_a_usable_trial_is_named_with_its_reason(tmp_path: Path) -> None:
    trials = [Made(), Made(platform="container", verdict="invalid", reasons=("the sink was detached",))]
    summary = summarise(make(tmp_path / "r", trials))
    assert [row.platform for row in summary.loads.throughput] == ["raw"]
    (caveat,) = [each for each in summary.caveats if "without a usable trial" in each.subject]
    assert "container, 64-byte frames, 1 stream, 100 Mbit/s" in caveat.text
    assert "the sink was detached" in caveat.text


def test_where_the_source_was_as_late_as_frames_took_delay_is_left_out_and_counted(tmp_path: Path) -> None:
    """Of raw's four repetitions one is late, of the container's all are."""
    trials = [
        Made(platform=platform, block=block, delay_ns=delay_ns, lateness_ns=late_ns)
        for platform, times in {
            "raw": [(5_000, 100), (5_000, 2_400), (5_000, 100), (90_000, 80_000)],
            "container": [(9_000, 4_500)] * 4,
        }.items()
        for block, (delay_ns, late_ns) in enumerate(times)
    ]
    summary = summarise(make(tmp_path / "r", trials))
    found = {(row.platform, row.label): row for row in summary.loads.percentiles}
    for label in ("p50", "p99"):
        raw, container = found["raw", label], found["container", label]
        assert raw.delay_ns is not None
        assert (raw.late, raw.delay_ns.n, raw.delay_ns.value) == (1, 3, pytest.approx(5_000, rel=0.01))
        assert (container.late, container.delay_ns) == (4, None)
    assert found["raw", "p90"].late == 0
    table = delay_table(summary)
    assert "10 repetitions are left out for that, of 4 quantiles" in table.note
    texts = [str(entry) for section in table.sections for row in section.rows for entry in row]
    assert sum("source late" in text for text in texts) == 2
    assert "quantiles of delay leave out repetitions" in " ".join(
        caveat.subject for caveat in summary.caveats
    )
    (cost,) = summary.loads.costs
    assert cost.added_delay_p50_ns is None


def test_one_repetition_by_clocks_of_their_own_says_nothing_of_what_is_added(tmp_path: Path) -> None:
    trials = [Made(platform=name, delay_ns=5_000, clock_error_ns=200) for name in ("raw", "container")]
    (cost,) = summarise(make(tmp_path / "r", trials)).loads.costs
    assert cost.added_delay_p50_ns is None


def test_clocks_of_their_own_widen_what_is_said_of_delay(tmp_path: Path) -> None:
    trials = [
        Made(platform=platform, block=block, delay_ns=delay + 10 * block, clock_error_ns=error)
        for platform, delay, error in [("raw", 5_000, 200), ("container", 5_500, 300)]
        for block in range(3)
    ]
    summary = summarise(make(tmp_path / "r", trials))
    (cost,) = summary.loads.costs
    assert interval(cost.added_delay_p50_ns) == pytest.approx((500, -43, 1043, 3), abs=10)  # and a bucket
    (raw,) = [row for row in summary.loads.percentiles if (row.platform, row.label) == ("raw", "p50")]
    assert raw.delay_ns is not None
    assert raw.delay_ns.low is not None
    assert raw.delay_ns.low < 5_010 - 200
    assert "all delays may share an error of up to 0.30 µs" in delay_table(summary).note
    (p50,) = {
        measured.values["latency_p50"] for measured in read_measured(make(tmp_path / "s", trials)).values()
    }
    assert p50 == (), "none to compare by"
