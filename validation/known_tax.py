"""Known tax in, measured tax out: what a guest's own kernel is told to do to frames, vtax has to find."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from validation.campaigns import carry_out
from validation.residence import REPEATS, Held, Load, NotStamped, stamped
from validation.section import Check, Section
from vtax.platforms.egress_qdisc import DEFAULT
from vtax.results import Result
from vtax.statistics.interval import Interval
from vtax.statistics.paired import ByBlock, paired_difference
from vtax.units import mbps

CONFIDENCE = 0.999
Stamped = Mapping[str, Mapping[int, Held]]
"""What was held behind each discipline, by repetition."""

REORDER = "netem delay 3ms reorder 10%"
LIMIT = "tbf rate 50mbit burst 8kb limit 64kb overhead 24"
SHORT, LONG = "netem delay 200us", "netem delay 1200us"
DELAYS = ("netem delay 1ms", "netem delay 1ms 200us", "netem loss 1% delay 1ms")
DELAYED = Load(frame_bytes=64, fps=1000 / 1.5, duration_s=1.5)
"""Frames that leave 1.5 ms apart: one is delayed at a time, and none comes when it is due."""
CAMPAIGNS: dict[str, list[str]] = {
    "small": [],
    "delayed": [
        f"platform.egress_qdisc=default,{','.join((*DELAYS, SHORT, LONG))}",
        f"intended_mbps={mbps(DELAYED.fps, DELAYED.frame_bytes)}",
    ],
    "spaced": [f"platform.egress_qdisc=default,{REORDER}", "intended_mbps=0.352"],
    "limited": [f"platform.egress_qdisc=default,{LIMIT}", "intended_mbps=80", "frame_bytes=1500"],
}
"""What each campaign changes in the scenario: spaced frames leave 2 ms apart."""


@dataclass(frozen=True)
class Quantity:
    """A column of `cells`, or an expression of them, and how it is printed."""

    expression: str
    scale: float
    unit: str
    digits: int
    bucket: float = 0.0
    """Width of the histogram's bucket that a value is the middle of, as a share of it."""

    def text(self, value: float) -> str:
        """A value in the quantity's unit."""
        return f"{value * self.scale:.{self.digits}f} {self.unit}"


LOSS = Quantity("loss_ratio", 100, "%", 4)
DUPLICATION = Quantity("frames_duplicated / frames_sent", 100, "%", 3)
REORDERING = Quantity("frames_reordered / frames_received", 100, "%", 2)
MEDIAN_DELAY = Quantity("latency_p50_ns", 1e-6, "ms", 3, bucket=1 / 128)
THROUGHPUT = Quantity("received_mbps", 1, "Mbit/s", 2)


@dataclass(frozen=True)
class Case:
    """What is planted: `truth` is its difference to the same guest without it, or with `reference`."""

    campaign: str
    qdisc: str
    name: str
    quantity: Quantity
    truth: float
    reference: str = DEFAULT


CASES = (
    Case("small", "netem loss 1%", "loss", LOSS, 0.01),
    Case("small", "netem loss 0.01%", "loss", LOSS, 0.0001),
    Case("delayed", "netem delay 1ms", "median delay", MEDIAN_DELAY, 1e6),
    Case("delayed", LONG, "median delay", MEDIAN_DELAY, 1e6, SHORT),
    Case("delayed", "netem delay 1ms 200us", "median delay", MEDIAN_DELAY, 1e6),
    Case("small", "netem duplicate 1%", "duplication", DUPLICATION, 0.01),
    Case("small", "netem loss 1% delay 1ms", "loss", LOSS, 0.01),
    Case("delayed", "netem loss 1% delay 1ms", "median delay", MEDIAN_DELAY, 1e6),
    Case("spaced", REORDER, "reordering", REORDERING, 0.9 * 0.1),
    Case("limited", LIMIT, "throughput", THROUGHPUT, 50.0 - 80.0),
)

TEXT = f"""
The kernel of a guest (user-mode Linux, and emulated QEMU with virtio-net) puts what it forwards through a queueing
discipline of a known effect (`platform.egress_qdisc`, in the words of tc-netem and tc-tbf). In every block the same
guest is measured with it and without; the mean of the paired differences, with its 99.9% interval, has to hold the
planted value.

*Reordering.* Frames leave the source every T = 2 ms. `delay 3ms reorder 10%` sends each frame at once with
probability p = 0.1 and every other one D = 3 ms later. A delayed frame is overtaken, and so reordered by RFC 4737, if
one of the next floor(D / T) = 1 frames is sent at once: (1 - p) (1 - (1 - p)^1) = p (1 - p) = 9%. With D = 1.5 T the
guest's timer may be a millisecond late before the next frame but one overtakes, too.

*Delay.* Medians, because they stand when some frames are lost: `delay 1ms 200us` is uniform from 0.8 to 1.2 ms, its
median 1 ms. netem's timer fires when a frame is due or later, so that the guest's kernel holds frames longer than it
was told to. How long it does is measured in the guest: its kernel stamps each frame when it comes off one NIC and when
it is handed to the driver of the other, in {REPEATS} trials of the same load behind each discipline, each in a guest
of its own as the campaign's are. What their medians differ by beyond the planted delay is the *lateness* that is added
to it; its own 99.9% interval widens that of the difference. Frames leave 1.5 ms apart: none comes when another is due,
which would send both. The interval is wider by half a bucket of the histogram, 1/256 of the delay.

A guest that waited for its timer may also take longer *outside* that kernel, on an emulated CPU above all, than one
that forwards at once. `{LONG}` against `{SHORT}` plants the same millisecond without either: behind both, one
frame waits at a time, and leaves by the timer. Where a comparison with no discipline misses, the stamped trials say
how much longer frames took outside the guest's kernel; if that is what is missed, it is said below the table.

*Limit.* 50 Mbit/s at layer 1 (24 bytes of overhead a frame) of an offered 80. The warm-up fills the bucket's queue
within 17 ms; it is as full at the end of the window as at its beginning, so that what drains afterwards adds nothing.
"""


def run(directory: Path) -> Section:
    """Carry out the campaigns and compare."""
    results = {name: carry_out("known_tax", directory / name, changes) for name, changes in CAMPAIGNS.items()}
    platforms = list(results["small"].stored["platforms"] or ())
    checks: list[Check] = []
    for platform in platforms:
        try:
            held = stamped(platform, (DEFAULT, *DELAYS), DELAYED)
        except NotStamped as failure:
            held = {}
            what = f"{platform}: frames stamped by the guest's kernel"
            checks.append(Check(what, f"not measured: {failure}", "measured", holds=False))
        checks += [compare(results[case.campaign], platform, case, held) for case in CASES]
    checks += [charge(list(results.values()), platform) for platform in platforms]
    return Section("Known tax in, measured tax out", TEXT, tuple(checks))


def compare(result: Result, platform: str, case: Case, held: Stamped) -> Check:
    """Whether the interval of the difference holds the planted value, with the lateness of a delay's timer."""
    found = _difference(result, platform, case)
    against = "" if case.reference == DEFAULT else f" against `{case.reference}`"
    late = lateness(held, case)
    planted = case.quantity.text(case.truth)
    longer = outside(held, case)
    if late is not None:
        planted += f" and a lateness of {_interval_text(late, MEDIAN_DELAY)}"
    return Check(
        f"{platform}: {case.name} by `{case.qdisc}`{against}",
        _interval_text(found, case.quantity),
        f"{planted} within the interval",
        holds(found, case.truth, late),
        _explained(found, case, late, longer),
    )


def _explained(
    found: Interval | None, case: Case, late: Interval | None, longer: Interval | None
) -> str | None:
    """That a delay misses by what frames took longer outside the guest's kernel."""
    if longer is None or holds(found, case.truth, late) or not holds(found, case.truth, late, longer):
        return None
    return (
        "In the trials that the guest's kernel stamped, frames took longer outside it behind the discipline than "
        f"without, by {_interval_text(longer, MEDIAN_DELAY)}. With this the interval holds the planted delay."
    )


def _difference(result: Result, platform: str, case: Case) -> Interval | None:
    """The interval of what the case measured less its reference, wider by what a bucket hides."""
    measured, reference = (
        _by_block(result, platform, qdisc, case.quantity) for qdisc in (case.qdisc, case.reference)
    )
    found = paired_difference(measured, reference, CONFIDENCE)
    if found is None or found.low is None or found.high is None:
        return found
    hidden = case.quantity.bucket / 2 * max(measured.values())
    return replace(found, low=found.low - hidden, high=found.high + hidden)


def lateness(held: Stamped, case: Case) -> Interval | None:
    """How much longer than planted the guest's kernel itself says that it held frames; None where nobody asked."""
    longer = _longer(held, case, lambda each: each.residence_ns)
    if longer is None:
        return None
    return paired_difference(longer, dict.fromkeys(longer, case.truth), CONFIDENCE)


def outside(held: Stamped, case: Case) -> Interval | None:
    """How much longer frames took outside the guest's kernel; None where nobody asked."""
    longer = _longer(held, case, lambda each: each.delay_ns - each.residence_ns)
    if longer is None:
        return None
    return paired_difference(longer, dict.fromkeys(longer, 0.0), CONFIDENCE)


def _longer(held: Stamped, case: Case, time_ns: Callable[[Held], float]) -> ByBlock | None:
    """By repetition, what a time of the case's discipline is longer than its reference's."""
    if case.quantity is not MEDIAN_DELAY or not {case.qdisc, case.reference} <= held.keys():
        return None
    reference = held[case.reference]
    return {number: time_ns(each) - time_ns(reference[number]) for number, each in held[case.qdisc].items()}


def charge(results: list[Result], platform: str) -> Check:
    """Whether frames dropped under a planted discipline are charged to the hop that it stands at, and to its doing."""
    charged = "hop = 'guest egress' AND starts_with(reason, 'dropped by ' || \"platform.egress_qdisc\")"
    query = (
        f"SELECT coalesce(sum(dropped), 0) AS dropped, coalesce(sum(dropped) FILTER ({charged}), 0) AS charged "  # noqa: S608
        f"FROM hops JOIN trials USING (trial_id) WHERE platform = '{platform}' AND verdict <> 'invalid' "
        "AND \"platform.egress_qdisc\" <> 'default'"
    )
    rows = [row for result in results for row in result.query(query).to_pylist()]
    dropped, theirs = (int(sum(row[key] for row in rows)) for key in ("dropped", "charged"))
    return Check(
        f"{platform}: dropped frames charged to `guest egress`, with the discipline as the reason",
        f"{theirs} of {dropped}",
        "all",
        0 < theirs == dropped,
    )


def _by_block(result: Result, platform: str, qdisc: str, quantity: Quantity) -> dict[int, float]:
    rows = result.query(
        f"SELECT block, {quantity.expression} AS value FROM cells "  # noqa: S608 - every part is written above
        f"WHERE platform = '{platform}' AND \"platform.egress_qdisc\" = '{qdisc}'"
    )
    return {row["block"]: float(row["value"]) for row in rows.to_pylist() if row["value"] is not None}


def holds(found: Interval | None, truth: float, *parts: Interval | None) -> bool:
    """Whether the interval has the truth within; measured `parts` of the truth add to it, as uncertain as they say."""
    if found is None or found.low is None or found.high is None:
        return False
    below, above = found.mean - found.low, found.high - found.mean
    for part in parts:
        if part is None:
            continue
        if part.low is None or part.high is None:
            return False
        truth += part.mean
        below = math.hypot(below, part.high - part.mean)
        above = math.hypot(above, part.mean - part.low)
    return found.mean - below <= truth <= found.mean + above


def _interval_text(found: Interval | None, quantity: Quantity) -> str:
    if found is None:
        return "no usable trials"
    if found.low is None or found.high is None:
        return f"{quantity.text(found.mean)}, n = {found.n}: no interval"
    return f"{quantity.text(found.mean)} [{quantity.text(found.low)}, {quantity.text(found.high)}], n = {found.n}"
