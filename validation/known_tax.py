"""Known tax in, measured tax out: what a guest's own kernel is told to do to frames, vtax has to find."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from validation.campaigns import carry_out
from validation.equivalence import CONFIDENCE, Bounds, Budget, median_interval
from validation.residence import REPEATS, Held, Load, NotStamped, stamped
from validation.section import Check, Section
from vtax.platforms.egress_qdisc import DEFAULT
from vtax.results import Result
from vtax.statistics.interval import Interval
from vtax.statistics.paired import ByBlock, paired_difference
from vtax.units import mbps

CHARGED = "hop = 'guest egress' AND starts_with(reason, 'dropped by ' || \"platform.egress_qdisc\")"
"""Drops that stand at the discipline's hop as its doing, in SQL."""
Stamped = Mapping[str, Mapping[int, Held]]
"""What was held behind each discipline, by repetition."""

REORDER = "netem delay 3ms reorder 10%"
LIMIT = "tbf rate 50mbit burst 8kb limit 64kb overhead 24"
SHORT, LONG = "netem delay 200us", "netem delay 1200us"
DELAYS = ("netem delay 1ms", "netem delay 1ms 200us", "netem loss 1% delay 1ms")
DELAYED = Load(frame_bytes=64, fps=1000 / 1.5, duration_s=1.5)
"""Frames that leave 1.5 ms apart: one is delayed at a time, and none comes when it is due."""
CAMPAIGNS: dict[str, list[str]] = {
    "small": ["workload.warmup_s=0"],
    "delayed": [
        f"platform.egress_qdisc=default,{','.join((*DELAYS, SHORT, LONG))}",
        f"intended_mbps={mbps(DELAYED.fps, DELAYED.frame_bytes)}",
    ],
    "spaced": [f"platform.egress_qdisc=default,{REORDER}", "intended_mbps=0.352"],
    "limited": [f"platform.egress_qdisc=default,{LIMIT}", "intended_mbps=80", "frame_bytes=1500"],
}
"""What each campaign changes in the scenario: spaced frames leave 2 ms apart.

Where the discipline's counts are the truth nothing is sent beforehand, which they would have too.
"""


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


REORDERING = Quantity("frames_reordered / frames_received", 100, "%", 2)
MEDIAN_DELAY = Quantity("latency_p50_ns", 1e-6, "ms", 3, bucket=1 / 128)
THROUGHPUT = Quantity("received_mbps", 1, "Mbit/s", 2)


@dataclass(frozen=True)
class Case:
    """What is planted: `truth` is its difference to the same guest without it, or with `reference`.

    `off` is how far vtax may be from it, either way.
    """

    campaign: str
    qdisc: str
    name: str
    quantity: Quantity
    truth: float
    off: float
    reference: str = DEFAULT

    @property
    def budget(self) -> Budget:
        """How far vtax may be off."""
        return Budget.either_way(self.off)


COUNTED_OFF = 0.0001
"""A frame of the 15,000 of a trial, or one and a half."""
DELAY_OFF_NS = 1e5
CASES = (
    Case("delayed", "netem delay 1ms", "median delay", MEDIAN_DELAY, 1e6, DELAY_OFF_NS),
    Case("delayed", LONG, "median delay", MEDIAN_DELAY, 1e6, DELAY_OFF_NS, SHORT),
    Case("delayed", "netem delay 1ms 200us", "median delay", MEDIAN_DELAY, 1e6, DELAY_OFF_NS),
    Case("delayed", "netem loss 1% delay 1ms", "median delay", MEDIAN_DELAY, 1e6, DELAY_OFF_NS),
    Case("spaced", REORDER, "reordering", REORDERING, 0.9 * 0.1, 0.018),
    Case("limited", LIMIT, "throughput", THROUGHPUT, 50.0 - 80.0, 1.0),
)


@dataclass(frozen=True)
class Counted:
    """Frames of a trial in SQL, over its hops: what vtax found, what the kernel counted, and the discipline's part."""

    name: str
    found: str
    counted: str
    planted: str


LOST = Counted(
    "loss",
    "any_value(frames_lost)",
    "sum(dropped)",
    f"coalesce(sum(dropped) FILTER ({CHARGED}), 0)",
)
MORE = "sum(forwarded - received) FILTER (hop = 'guest forwarding')"
DUPLICATED = Counted("duplication", "any_value(frames_duplicated)", MORE, MORE)
COUNTED = (
    (LOST, "netem loss 1%"),
    (LOST, "netem loss 0.01%"),
    (LOST, "netem loss 1% delay 1ms"),
    (DUPLICATED, "netem duplicate 1%"),
)
"""Disciplines of the small campaign whose doing is counted."""

TEXT = f"""
The kernel of a guest (user-mode Linux, and emulated QEMU with virtio-net) puts what it forwards through a queueing
discipline of a known effect (`platform.egress_qdisc`, in the words of tc-netem and tc-tbf). In every block the same
guest is measured with it and without. Each row has an error budget, and the {CONFIDENCE:.0%} interval of the error has
to lie within it: an interval that only holds the truth may be as wide as one likes.

*Loss.* The discipline counts what it drops, and that is the truth; what other hops lost meanwhile, by the kernel's own
counters, is taken off. The error is the median over the trials.

*Duplication.* The guest's kernel counts what comes in at one NIC and what is given to the other one to send. What is
more there than here is what the discipline sent twice, and that is the truth. The error is the median over the trials.

*All else.* The error is the mean of the paired differences less what was planted.

*Reordering.* Frames leave the source every T = 2 ms. `delay 3ms reorder 10%` sends each frame at once with
probability p = 0.1 and every other one D = 3 ms later. A delayed frame is overtaken, and so reordered by RFC 4737, if
one of the next floor(D / T) = 1 frames is sent at once: (1 - p) (1 - (1 - p)^1) = p (1 - p) = 9%. With D = 1.5 T the
guest's timer may be a millisecond late before the next frame but one overtakes, too.

*Delay.* Medians, because they stand when some frames are lost: `delay 1ms 200us` is uniform from 0.8 to 1.2 ms, its
median 1 ms. netem's timer fires when a frame is due or later, so that the guest's kernel holds frames longer than it
was told to. How long it does is measured in the guest: its kernel stamps each frame when it comes off one NIC and when
it is handed to the driver of the other, in {REPEATS} trials of the same load behind each discipline, each in a guest
of its own as the campaign's are. What their medians differ by beyond the planted delay is the *lateness* that is added
to it; its own {CONFIDENCE:.0%} interval widens that of the error. Frames leave 1.5 ms apart: none comes when another is
due, which would send both. The interval is wider by half a bucket of the histogram, 1/256 of the delay.

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
        checks += [compare_counts(results["small"], platform, *each) for each in COUNTED]
        checks += [compare(results[case.campaign], platform, case, held) for case in CASES]
    checks += [charge(list(results.values()), platform) for platform in platforms]
    return Section("Known tax in, measured tax out", TEXT, tuple(checks))


def compare_counts(result: Result, platform: str, what: Counted, qdisc: str) -> Check:
    """Whether vtax finds as many frames lost, or twice, as the guest's kernel counts."""
    sent = "any_value(frames_sent)"
    rows = result.query(
        f"SELECT {what.found} / {sent} AS found, {what.counted} / {sent} AS counted, "  # noqa: S608 - constants
        f"{what.planted} / {sent} AS planted "
        "FROM trials JOIN flows USING (trial_id) JOIN hops USING (trial_id) "
        f"WHERE platform = '{platform}' AND \"platform.egress_qdisc\" = '{qdisc}' AND verdict <> 'invalid' "
        "GROUP BY trial_id"
    ).to_pylist()
    row_of = f"{platform}: {what.name} by `{qdisc}`"
    bound = f"within ±{_of_frames(COUNTED_OFF)}"
    if not rows:
        return Check(row_of, "no usable trials", bound, holds=False)
    errors = [row["found"] - row["counted"] for row in rows]
    low, high = median_interval(errors)
    found, planted = (median(row[name] for row in rows) for name in ("found", "planted"))
    return Check(
        row_of,
        f"{_of_frames(found)}, by the discipline {_of_frames(planted)}: {_of_frames(median(errors))} "
        f"[{_of_frames(low)}, {_of_frames(high)}], n = {len(rows)}",
        bound,
        Budget.either_way(COUNTED_OFF).holds((low, high)),
    )


def _of_frames(share: float) -> str:
    return f"{100 * share:.4f} %"


def compare(result: Result, platform: str, case: Case, held: Stamped) -> Check:
    """Whether the difference is what was planted, with the lateness of a delay's timer, to within the budget."""
    measured, reference = (
        _by_block(result, platform, qdisc, case.quantity) for qdisc in (case.qdisc, case.reference)
    )
    found = _difference(measured, reference, case.quantity)
    late, longer = lateness(held, case), outside(held, case)
    against = "" if case.reference == DEFAULT else f" against `{case.reference}`"
    planted = case.quantity.text(case.truth)
    if late is not None:
        planted += f" and a lateness of {_interval_text(late, MEDIAN_DELAY)}"
    error = error_of(found, case.truth, late)
    is_within = error is not None and case.budget.holds(error)
    return Check(
        f"{platform}: {case.name} by `{case.qdisc}`{against}",
        _interval_text(found, case.quantity),
        f"{planted}: within ±{case.quantity.text(case.off)}",
        is_within,
        None
        if is_within
        else _explained(error_of(found, case.truth, late, longer), error, case, longer, reference),
    )


def _explained(
    inside: Bounds | None, error: Bounds | None, case: Case, longer: Interval | None, reference: ByBlock
) -> str | None:
    """That a delay misses by what frames took longer outside the guest's kernel, or that the guest was too uneven."""
    if longer is not None and inside is not None and case.budget.holds(inside):
        return (
            "In the trials that the guest's kernel stamped, frames took longer outside it behind the discipline than "
            f"without, by {_interval_text(longer, MEDIAN_DELAY)}. With this the interval lies within the budget."
        )
    if error is None or not case.budget.overlaps(error):
        return None
    own = [reference[block] for block in sorted(reference)]
    return case.budget.too_uneven(
        (("the same guest without the discipline", own),),
        lambda bounds: " to ".join(case.quantity.text(bound) for bound in bounds),
    )


def _difference(measured: ByBlock, reference: ByBlock, quantity: Quantity) -> Interval | None:
    """The interval of what was measured less its reference, wider by what a bucket hides."""
    found = paired_difference(measured, reference, CONFIDENCE)
    if found is None or found.low is None or found.high is None:
        return found
    hidden = quantity.bucket / 2 * max(measured.values())
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
    query = (
        f"SELECT coalesce(sum(dropped), 0) AS dropped, coalesce(sum(dropped) FILTER ({CHARGED}), 0) AS charged "  # noqa: S608
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


def error_of(found: Interval | None, truth: float, *parts: Interval | None) -> Bounds | None:
    """The interval of what was found less the truth; measured `parts` add to it, as uncertain as they say."""
    if found is None or found.low is None or found.high is None:
        return None
    below, above = found.mean - found.low, found.high - found.mean
    for part in parts:
        if part is None:
            continue
        if part.low is None or part.high is None:
            return None
        truth += part.mean
        below = math.hypot(below, part.high - part.mean)
        above = math.hypot(above, part.mean - part.low)
    return found.mean - truth - below, found.mean - truth + above


def _interval_text(found: Interval | None, quantity: Quantity) -> str:
    if found is None:
        return "no usable trials"
    if found.low is None or found.high is None:
        return f"{quantity.text(found.mean)}, n = {found.n}: no interval"
    return f"{quantity.text(found.mean)} [{quantity.text(found.low)}, {quantity.text(found.high)}], n = {found.n}"
