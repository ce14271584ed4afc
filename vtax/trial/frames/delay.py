"""What a trial's probes tell of delay and its variation, and when they tell nothing.

A paced stream's probes wait at the source whenever its link is full or the source falls behind, and in the switch
whenever an uplink that streams share is full: their delay is then the source's or the switch's, and is not given. A
flood's probes pass by the source's queue, and are lost where the far ring is full: a lost probe's delay is beyond
every other, and quantiles count it so (RFC 7679, 5.1). Delay counts from when a probe was due; delay from its departure
and how late that was are of the probes that arrived; where the source was as late as frames took from there, the delay
is the source's more than the UUT's, and is not given. Variation is taken from the same probes: PDV is a probe's delay
less the least, IPDV less that of the probe before (RFC 5481, 4). A lost probe has no IPDV, nor has the one after it.

Between machines with clocks of their own a delay in one direction may be wrong by `clock_error_ns`. Where a probe seems
to have come before it left, nothing is told: the clocks are not known well enough for delays as short as these.
"""

import math
from dataclasses import replace

from vtax.agent_api import Durations
from vtax.results import Row
from vtax.statistics import decode, merge
from vtax.trial.frames.answers import StreamSent
from vtax.trial.frames.limits import OFFERED_TOLERANCE, at_link_rate, held_back, waits_for_uplink
from vtax.trial.frames.measured import Measured
from vtax.trial.untenable import counted

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
OF_VARIATION = ("p99", "p999")
OF_DELAY = (
    *(f"latency_{name}_ns" for name in ("min", "mean", *QUANTILES, "max")),
    *(f"since_departure_{name}_ns" for name in ("mean", *QUANTILES, "max")),
    *(f"{kind}_{name}_ns" for kind in ("pdv", "ipdv") for name in OF_VARIATION),
    "ipdv_count",
)
"""The columns that are null where delay cannot be told."""


def probes_lost(measured: Measured, stream: StreamSent) -> int:
    """Probes that never arrived."""
    return max(0, stream.phase().probes_sent - measured.sink.stream(stream.stream).latency.count)


def mean_delay_ns(measured: Measured, stream: StreamSent) -> float | None:
    """Return the mean delay of a stream's probes; None where it cannot be told, is late, or where any was lost."""
    if _is_untold(measured, stream) or probes_lost(measured, stream) or "mean" in _late(measured, stream):
        return None
    return measured.sink.stream(stream.stream).latency.mean_ns


def queued_before_uut(measured: Measured, stream: StreamSent) -> bool:
    """Whether the stream's probes waited in the switch, in the source's queue, or for a source that fell behind."""
    if waits_for_uplink(measured):
        return True
    load = measured.load
    if load.intended_fps is None or measured.probes_are_beside:
        return False
    offered = stream.phase().frames_sent / measured.window_s
    if offered < (1 - OFFERED_TOLERANCE) * load.intended_fps:
        return True
    return at_link_rate(measured, stream) or held_back(measured, stream)


def delay_columns(measured: Measured, stream: StreamSent) -> Row:
    """The columns of `flows` about delay; quantiles are over sent probes, null where too few arrived to tell."""
    latency, times = measured.sink.stream(stream.stream).latency, measured.times[stream.stream]
    clock_error_ns = measured.clock_error_ns.get(stream.stream, 0)
    columns: Row = {
        "probes_sent": stream.phase().probes_sent,
        "latency_count": latency.count,
        "clock_error_ns": clock_error_ns,
        **{f"lateness_{name}_ns": value for name, value in _statistics(times.lateness).items()},
    }
    if _is_untold(measured, stream) or not latency.count:
        return {**columns, **dict.fromkeys(OF_DELAY)}
    lost = probes_lost(measured, stream)
    distribution = replace(counted(latency.histogram, latency.count), lost=lost)
    late = _late(measured, stream)
    values = {name: None if name in late else distribution.quantile(q) for name, q in QUANTILES.items()}
    ipdv = merge([decode(sign.histogram) for sign in (times.ipdv_positive, times.ipdv_negative)])
    # Clocks drift apart from one probe to another that is far from it.
    least_ns = None if clock_error_ns else latency.min_ns
    return {
        **columns,
        "latency_min_ns": latency.min_ns,
        "latency_mean_ns": mean_delay_ns(measured, stream),
        **{f"latency_{name}_ns": value for name, value in values.items()},
        "latency_max_ns": None if lost or "max" in late else latency.max_ns,
        **{f"since_departure_{name}_ns": value for name, value in _statistics(times.since_departure).items()},
        **{f"pdv_{name}_ns": _beyond(least_ns, values[name]) for name in OF_VARIATION},
        "ipdv_count": ipdv.samples,
        **{f"ipdv_{name}_ns": ipdv.quantile(QUANTILES[name]) for name in OF_VARIATION},
    }


def _late(measured: Measured, stream: StreamSent) -> set[str]:
    """The statistics of delay at which the source was as late as frames took from their departure on."""
    times = measured.times[stream.stream]
    lateness, since_departure = _statistics(times.lateness), _statistics(times.since_departure)
    return {
        name for name, late_ns in lateness.items() if (late_ns or 0) >= (since_departure[name] or math.inf)
    }


def _statistics(times: Durations) -> dict[str, float | None]:
    """What `flows` has of a time."""
    return {
        "mean": times.mean_ns,
        "p50": times.p50_ns,
        "p90": times.p90_ns,
        "p99": times.p99_ns,
        "p999": times.p999_ns,
        "max": times.max_ns,
    }


def delay_histograms(measured: Measured, stream: StreamSent) -> list[Row]:
    """The rows of `latency` that a stream has; of its delays only where these are not the source's."""
    times = measured.times[stream.stream]
    rows: list[tuple[str, int | None, Durations]] = [("lateness", None, times.lateness)]
    if times.gap.count:
        rows.append(("gap", None, times.gap))
    if not _is_untold(measured, stream):
        rows += [
            ("one-way", probes_lost(measured, stream), measured.sink.stream(stream.stream).latency),
            ("since-departure", None, times.since_departure),
            ("ipdv-positive", None, times.ipdv_positive),
            ("ipdv-negative", None, times.ipdv_negative),
        ]
    return [
        {
            "trial_id": measured.trial,
            "stream": stream.stream,
            "kind": kind,
            "corrected": False,
            "lost": lost,
            "histogram": durations.histogram,
        }
        for kind, lost, durations in rows
    ]


def _is_untold(measured: Measured, stream: StreamSent) -> bool:
    """Whether a stream's probes say nothing of the UUT's delay."""
    latency = measured.sink.stream(stream.stream).latency
    if measured.clock_error_ns.get(stream.stream) and latency.min_ns == 0:
        return True
    return queued_before_uut(measured, stream)


def _beyond(least: float | None, value: float | None) -> float | None:
    return None if least is None or value is None else value - least
