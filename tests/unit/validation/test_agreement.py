"""What other tools print is read right, and a capture is counted as RFC 4737 and vtax's documents say."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from validation.agreement import capture, iperf3, passage, roundtrip
from validation.agreement.capture import Frame
from validation.agreement.checks import REFUTED, platform_checks
from validation.agreement.flow import Flow
from validation.agreement.iperf3 import Sent
from validation.agreement.passage import Parts
from validation.agreement.plant import Counts
from validation.agreement.process import ToolFailed
from validation.agreement.roundtrip import RoundTrip
from validation.agreement.samples import ROUNDS, RoundTrips, Samples
from validation.agreement.trials import OneWay
from validation.equivalence import median_interval
from validation.trials import cell

SOCKPERF = """\
sockperf: == version #3.7-no.git ==
sockperf: [Valid Duration] RunTime=0.548 sec; SentMessages=549; ReceivedMessages=549
sockperf: ====> avg-rtt=327.000 (std-dev=813.883)
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Round trip is 327.000 usec
sockperf: Total 549 observations; each percentile contains 5.49 observations
sockperf: ---> <MAX> observation = 5108.065
sockperf: ---> percentile 75.000 =   64.760
sockperf: ---> percentile 50.000 =   10.883
sockperf: ---> <MIN> observation =    4.730
"""
PING = """\
PING 198.18.0.1 (198.18.0.1) 86(114) bytes of data.
94 bytes from 198.18.0.1: icmp_seq=1 ttl=64 time=0.252 ms
94 bytes from 198.18.0.1: icmp_seq=2 ttl=64 time=0.007 ms
94 bytes from 198.18.0.1: icmp_seq=3 ttl=64 time=0.019 ms

--- 198.18.0.1 ping statistics ---
3 packets transmitted, 3 received, 0% packet loss, time 2ms
rtt min/avg/max/mdev = 0.007/0.092/0.252/0.112 ms
"""
PAYLOAD = "76746178000000070300000000050000000027100005" + 64 * "0"
"""Trial 7, measured phase, stream 0, sequence 5, departed at 10,000 ns, 5 ns late."""


def test_sockperf_prints_microseconds_of_a_round_trip() -> None:
    assert roundtrip.parse_sockperf(SOCKPERF) == 10_883


def test_half_a_round_trip_is_refused() -> None:
    with pytest.raises(ToolFailed, match="no median of round trips"):
        roundtrip.parse_sockperf(SOCKPERF.replace("Round trip is", "Latency is"))


def test_ping_prints_milliseconds_of_each_round_trip() -> None:
    assert roundtrip.parse_ping(PING, warmup=0) == 19_000
    with pytest.raises(ToolFailed):
        roundtrip.parse_ping(PING.replace("time=", "no answer"), warmup=0)


def test_pings_warm_up_is_left_out_by_number() -> None:
    told = "".join(f"64 bytes from x: icmp_seq={seq} ttl=64 time={seq} ms\n" for seq in (1, 3, 4, 6))
    assert roundtrip.parse_ping(told, warmup=3) == 5e6
    with pytest.raises(ToolFailed):
        roundtrip.parse_ping(told, warmup=6)


def test_iperf3_counts_what_was_received_by_packets() -> None:
    end = {"sum": {"packets": 5000, "lost_packets": 50}, "sum_received": {"seconds": 1.1, "bytes": 430_000}}
    sent = iperf3.parse(json.dumps({"end": end}), 126)
    assert (sent.frames_sent, sent.frames_lost) == (5000, 50)
    assert sent.received_mbps == pytest.approx(4500 * 150 * 8 / 1e6)


@pytest.mark.parametrize("told", ["", "{}", '{"error": "unable to connect", "end": {}}'])
def test_iperf3_without_a_result_is_a_failure(told: str) -> None:
    with pytest.raises(ToolFailed, match="no result"):
        iperf3.parse(told, 128)


def test_a_line_of_tshark_is_a_test_frame() -> None:
    (frame,) = capture.parse([["1795280706.000000123", "128", PAYLOAD]])
    assert frame == Frame(1_795_280_706_000_000_123, 128, 7, 3, False, 5, 10_000, 5)
    (probe,) = capture.parse([["1795280706.5", "128", PAYLOAD.replace("0703", "0783")]])
    assert (probe.at_ns % 10**9, probe.phase, probe.is_probe) == (500_000_000, 3, True)


def test_another_frame_on_the_way_is_a_failure() -> None:
    with pytest.raises(ToolFailed, match="no test frame"):
        capture.parse([["1795280706.0", "128", PAYLOAD.replace("76", "77", 1)]])


def frame(sequence: int, at_ns: int, phase: int = 3, trial: int = 1, is_probe: bool = True) -> Frame:
    return Frame(at_ns, 101, trial, phase, is_probe, sequence, 1_000_000 * sequence, 0)


@pytest.mark.parametrize(
    ("told", "late_ns"),
    [(0, 0), (4095, 4095), (4096, 4096), (4097, 4098), (6143, 8190), (6144, 8192), (0xFFFF, 4095 << 30)],
)
def test_lateness_is_a_floating_point_number(told: int, late_ns: int) -> None:
    assert capture.lateness_ns(told) == late_ns


def test_a_departure_lacks_the_first_bits_of_its_clock() -> None:
    """The source's clock is 5 * 2^48 ns and 3 ns; a frame departed 7 ns before, 2 ns after it was due."""
    left = Frame(5 * 2**48 + 3 + 1000, 128, 1, 3, False, 0, 2**48 - 4, 2)
    assert left.since_due_ns(1000) == 9
    assert replace(left, departed_ns=5, late_ns=0).since_due_ns(1000) == -2


def test_counts_of_a_capture() -> None:
    left = [frame(sequence, 0) for sequence in range(6)]
    # 1 is lost, 2 comes twice, 3 after 4; the last is of another phase, and one is of another trial.
    order = [(0, 10), (2, 12), (2, 13), (4, 14), (3, 15), (5, 20)]
    came = [frame(sequence, 1000 + at * 1_000_000) for sequence, at in order]
    stray = [frame(9, 5, phase=2), frame(9, 5, trial=2)]
    seen = capture.seen(left, [*stray, *came], trial=1, clock_offset_ns=1000)
    assert (seen.sent, seen.received, seen.lost, seen.duplicated, seen.reordered) == (6, 5, 1, 1, 1)
    # Five frames are four gaps, in 10 ms: 400 a second of 125 bytes on the wire.
    assert seen.received_mbps == pytest.approx(0.4)
    # 10, 10, 10, 12, 15 ms and a lost one.
    assert seen.delay_p50_ns == 10_000_000


def test_a_lost_probes_delay_is_beyond_every_other() -> None:
    left = [frame(sequence, 0) for sequence in range(5)]
    came = [frame(sequence, sequence * 1_000_000 + 7) for sequence in (0, 4)]
    assert capture.seen(left, came, trial=1, clock_offset_ns=0).delay_p50_ns == math.inf


NEAR, FAR = "198.18.0.2", "198.19.0.2"
Packet = Callable[[float, str, int], list[str]]


def sockperf(at_s: float, source_ip: str, number: int) -> list[str]:
    return [f"{at_s:.9f}", source_ip, "", f"{number:016x}0001"]


def echo(at_s: float, source_ip: str, number: int) -> list[str]:
    return [f"{at_s:.9f}", source_ip, str(number), ""]


def trace(
    begun_s: Sequence[float], packet: Packet, stay_us: Callable[[int], float], way_us: Callable[[int], float]
) -> tuple[passage.Passages, passage.Passages]:
    """Captures at both ends of round trips begun so; what they stay at the far end, and take there, by number."""
    near, far = [], []
    for number, at_s in enumerate(begun_s):
        came_s = at_s + way_us(number) * 1e-6
        answered_s = came_s + stay_us(number) * 1e-6
        near += [packet(at_s, NEAR, number), packet(answered_s + 25e-6, FAR, number)]
        far += [packet(came_s, NEAR, number), packet(answered_s, FAR, number)]
    return passage.parse(near), passage.parse(far)


def every_ms(requests: int, begin_s: float = 0) -> list[float]:
    return [begin_s + at / 1000 for at in range(requests)]


def test_a_round_trip_has_its_parts_and_the_lost_ones_have_none() -> None:
    near, far = trace(every_ms(600), echo, lambda _: 5, lambda at: 90 if at < 400 else 10)
    del far["ping", "500", FAR]
    assert passage.parts("ping", near, far, NEAR, FAR, 1000) == Parts(10_000, 5_000, 25_000, 40_000, 10_000)


def test_only_what_sockperf_counts_of_its_second_is_taken() -> None:
    def outside(at: int) -> float:
        return 5 if 400 <= at < 950 else 90

    near, far = trace(every_ms(1000), sockperf, outside, lambda _: 10)
    found = passage.parts("sockperf", near, far, NEAR, FAR, 1000)
    assert found == Parts(10_000, 5_000, 25_000, 40_000, 10_000)


def test_requests_that_make_up_for_lateness_are_no_measure_of_a_path_at_rest() -> None:
    late = [0.5 + at * 50e-6 for at in range(400)]
    begun_s = [*every_ms(450), *late, *every_ms(60, begin_s=0.55)]

    def way_us(at: int) -> float:
        return 10 if 450 <= at < 850 else 30

    near, far = trace(begun_s, echo, lambda _: 1, way_us)
    found = passage.parts("ping", near, far, NEAR, FAR, 1000)
    assert (found.there_ns, found.rested_ns) == (10_000, 30_000)
    near, far = trace([*every_ms(1), *late], echo, lambda _: 1, way_us)
    with pytest.raises(ToolFailed, match="of 400 requests only 0 came at the rate asked for"):
        passage.parts("ping", near, far, NEAR, FAR, 1000)


def test_a_number_used_again_is_the_later_frames() -> None:
    assert passage.parse([echo(1, NEAR, 1), echo(5, NEAR, 1)]) == {("ping", "1", NEAR): 5_000_000_000}


def test_requests_without_an_answer_are_a_failure() -> None:
    near = passage.parse([["1.0", NEAR, "1", ""]])
    with pytest.raises(ToolFailed, match="of 1 requests that were captured none was answered"):
        passage.parts("ping", near, {}, NEAR, FAR, 1000)


def trips(there_us: float, whole_us: float = 40) -> RoundTrips:
    """What vtax finds to be 5 µs behind its capture, as both tools have it."""
    tool = RoundTrip(whole_us * 1e3, Parts(there_us * 1e3, 5e3, 21e3, 38e3, there_us * 1e3))
    return RoundTrips([OneWay(7e3, 2e3)] * ROUNDS, [{"sockperf": tool, "ping": tool}] * ROUNDS)


AGREED = Samples(
    flow=Flow(10_000, 9_900, 100, 105, 93, 6.0192, 5_000),
    seen=Flow(10_000, 9_900, 100, 105, 93, 6.0190, 4_000),
    planted=Counts(lost=100, twice=105, late=93),
    loads=[(Flow(10_000, 9_905, 95, 0, 0, 6.02, 5_000), Sent(9_992, 104, 6.01))] * 3,
    there=trips(6),
    back=trips(6),
)


def missed(samples: Samples) -> list[str]:
    return [check.what for check in platform_checks("raw", samples) if not check.holds]


def test_all_holds_where_all_agree() -> None:
    assert missed(AGREED) == []


@pytest.mark.parametrize("quantity", ["sent", "received", "lost", "duplicated", "reordered"])
def test_one_frame_more_is_missed(quantity: str) -> None:
    seen = replace(AGREED.seen, **{quantity: getattr(AGREED.seen, quantity) + 1})
    assert missed(replace(AGREED, seen=seen)) == [f"raw: frames {quantity}, tshark"]


@pytest.mark.parametrize("kind", ["lost", "twice", "late"])
def test_one_frame_more_than_was_planted_is_missed(kind: str) -> None:
    planted = structs.replace(AGREED.planted, **{kind: getattr(AGREED.planted, kind) - 1})
    quantity = {"lost": "lost", "twice": "duplicated", "late": "reordered"}[kind]
    assert missed(replace(AGREED, planted=planted)) == [f"raw: frames {quantity}, as planted"]


def test_rates_and_delays_beyond_their_bounds_are_missed() -> None:
    assert missed(replace(AGREED, seen=replace(AGREED.seen, received_mbps=6.03))) == [
        "raw: throughput, tshark"
    ]
    # Nothing is seen after it was received.
    assert missed(replace(AGREED, seen=replace(AGREED.seen, delay_p50_ns=5_100))) == [
        "raw: delay p50, tshark"
    ]
    assert missed(replace(AGREED, flow=replace(AGREED.flow, delay_p50_ns=math.nan))) == [
        "raw: delay p50, tshark"
    ]


def test_iperf3_that_loses_more_than_chance_is_missed() -> None:
    loads = [(flow, replace(other, frames_lost=180, received_mbps=5.9)) for flow, other in AGREED.loads]
    assert missed(replace(AGREED, loads=loads)) == ["raw: throughput, iperf3", "raw: loss, iperf3"]


def test_the_cell_is_one_that_a_campaign_could_have() -> None:
    asked = cell("raw", 128, 6.08, 2)
    assert asked.frame_load.intended_mbps == pytest.approx(6.08)
    assert (asked.streams, asked.testbed.link_mbps) == (1, 1000)


def missed_by_both(what: str) -> list[str]:
    return [f"raw: {what}, {tool}" for tool in ("sockperf", "ping")]


def test_a_round_trip_shorter_than_what_was_captured_of_it_is_missed() -> None:
    assert missed(replace(AGREED, there=trips(6, whole_us=37))) == missed_by_both("round trip")
    assert missed(replace(AGREED, back=trips(6, whole_us=37))) == missed_by_both(
        "round trip from the sink's end"
    )


@pytest.mark.parametrize("beyond_us", [1.9, 16])
def test_a_way_that_vtax_finds_otherwise_is_missed(beyond_us: float) -> None:
    assert missed(replace(AGREED, there=trips(beyond_us))) == missed_by_both("way there")
    assert missed(replace(AGREED, back=trips(beyond_us))) == missed_by_both("way back")


def uneven(offsets_us: list[float], apart_us: float) -> Samples:
    """vtax's ways there, in turns so far apart, and the tools' as much longer as offsets say."""
    ours = [5e3 + apart_us * 1e3 * (at % 2) for at in range(ROUNDS)]
    tools = []
    for our_ns, offset_us in zip(ours, offsets_us, strict=True):
        tool = RoundTrip(80e3, Parts(6e3, 5e3, 21e3, 38e3, our_ns + offset_us * 1e3))
        tools.append({"sockperf": tool, "ping": tool})
    there = [OneWay(our_ns + 2e3, 2e3) for our_ns in ours]
    return replace(AGREED, there=RoundTrips(there, tools))


def test_rounds_are_compared_in_pairs() -> None:
    """A machine that is slow in every other round is so for both."""
    assert missed(uneven([1.0] * ROUNDS, apart_us=30)) == []


def test_two_of_eleven_rounds_apart_do_not_decide_and_three_do() -> None:
    assert missed(uneven([1.0] * (ROUNDS - 2) + [40] * 2, apart_us=0)) == []
    assert missed(uneven([1.0] * (ROUNDS - 3) + [40] * 3, apart_us=0)) == missed_by_both("way there")


def test_only_a_machine_too_uneven_to_tell_explains_a_miss() -> None:
    def explanations(samples: Samples) -> list[str | None]:
        return [check.explanation for check in platform_checks("raw", samples) if not check.holds]

    assert explanations(uneven([11.0, *[9.0, 11.0] * (ROUNDS // 2)], apart_us=0)) == [None, None]
    # Three within are a part of the interval at 90%; one, of the one that refutes.
    for within in (3, 1):
        found = explanations(uneven([20.0] * (ROUNDS - within) + [1.0] * within, apart_us=30))
        assert len(found) == 2
        for explained in found:
            assert explained is not None
            assert explained.endswith("beyond the same budget: this machine was too uneven to tell.")
    # All rounds beyond the budget are a miss, however uneven the machine was.
    assert explanations(uneven([60] * ROUNDS, apart_us=30)) == [None, None]


def test_what_holds_needs_no_explanation() -> None:
    """A machine that is uneven from round to round, and for both alike."""
    assert [check for check in platform_checks("raw", uneven([1.0] * ROUNDS, 30)) if check.explanation] == []


def test_the_interval_of_a_median_leaves_out_what_a_fair_coin_allows() -> None:
    assert median_interval([3, 1, 2]) == (-math.inf, math.inf)
    assert median_interval([5, 1, 2, 3, 4]) == (1, 5)
    assert median_interval(list(range(11))) == (2, 8)
    assert median_interval(list(range(16))) == (4, 11)
    assert median_interval(list(range(16)), REFUTED) == (2, 13)


def test_what_lies_before_a_capture_is_the_measured_frames_own() -> None:
    stray = [frame(9, 9_900_000, phase=2), frame(9, 9_900_000, trial=2)]
    left = [frame(sequence, 1_000_000 * sequence + 1000 + late) for sequence, late in enumerate([5, 9, 7])]
    assert capture.before_capture_ns([*stray, *left], trial=1, clock_offset_ns=1000) == 7
    with pytest.raises(ToolFailed, match="no frame of trial 3 was captured"):
        capture.before_capture_ns(left, trial=3, clock_offset_ns=0)
