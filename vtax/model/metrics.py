"""Metrics that several kinds of workload have."""

from dataclasses import replace

from vtax.model import numbers
from vtax.model.late import late
from vtax.model.metric import BUCKET, HOST_CPU, ONE_IN_A_THOUSAND, SINK_CPU, Better, Metric

CARRIED_IN_FULL_LOSS_RATIO = 0.005
"""Most loss at which a load still counts as carried in full: the partial drop rate that FD.io CSIT uses."""


def _latency(name: str) -> Metric:
    """The quantile of a trial: of several flows the geometric mean; of flows by clocks that differ none.

    What clocks are wrong by is another each time. A quantile that some flow does not have is none of the trial.
    """
    column = f"latency_{name}_ns"
    return Metric(
        name=f"latency_{name}",
        column=column,
        sql=f"CASE WHEN count({column}) FILTER (exact) = count(*) THEN "
        f"CASE count(*) WHEN 1 THEN any_value({column}) ELSE exp(avg(ln({column}))) END END",
        unit="µs",
        better=Better.LOWER,
        form=numbers.microseconds,
        resolution=BUCKET,
        quantile=True,
        late_sql=f"bool_or({late(name)})",
    )


THROUGHPUT = Metric(
    name="throughput",
    column="received_mbps",
    sql="sum(received_mbps)",
    unit="Mbit/s",
    better=Better.HIGHER,
    form=numbers.mbps,
    is_bounded=True,
    resolution=ONE_IN_A_THOUSAND,
)
"""Layer 1, all streams together."""
PDR_THROUGHPUT = replace(THROUGHPUT, name="pdr")
"""Throughput at the best of several loads that lost at most 0.5%."""
NDR_THROUGHPUT = replace(THROUGHPUT, name="ndr")
"""Throughput at the best of several loads that lost no frame."""
MAXIMUM_THROUGHPUT = replace(THROUGHPUT, name="maximum")
"""Throughput at the best of several loads, whatever was lost."""
OF_LOADS = (PDR_THROUGHPUT, NDR_THROUGHPUT, MAXIMUM_THROUGHPUT)
GOODPUT = Metric(
    name="goodput",
    column="goodput_mbps",
    sql="sum(goodput_mbps)",
    unit="Mbit/s",
    better=Better.HIGHER,
    form=numbers.mbps,
    is_bounded=True,
    resolution=ONE_IN_A_THOUSAND,
)
"""Layer-4 payload, all guests together."""
TRANSACTIONS = Metric(
    name="transactions",
    column="transactions_per_s",
    sql="avg(transactions / duration_s)",
    unit="1/s",
    better=Better.HIGHER,
    form=numbers.whole,
    resolution=ONE_IN_A_THOUSAND,
)
LOSS = Metric(
    name="loss",
    column="loss_ratio",
    sql="coalesce(sum(frames_lost) / nullif(sum(frames_sent), 0), avg(loss_ratio))",
    unit="%",
    better=Better.LOWER,
    form=numbers.ratio_as_percent,
    points=True,
    is_total=True,
    tolerance=CARRIED_IN_FULL_LOSS_RATIO,
    resolution=ONE_IN_A_THOUSAND,
    step_sql="1.0 / nullif(sum(frames_sent), 0)",
)
"""In steps of one frame; of what is no frame, of one in a thousand."""
RESPONSE_TIME = Metric(
    name="response_time",
    column="latency_mean_ns",
    sql="avg(latency_mean_ns)",
    unit="µs",
    better=Better.LOWER,
    form=numbers.microseconds,
    is_bounded=True,
    resolution=ONE_IN_A_THOUSAND,
)
"""Of what was answered; of one microsecond at least, in steps of a nanosecond. See vtax.model.answers."""
LATENCY_P50, LATENCY_P90, LATENCY_P99 = map(_latency, ("p50", "p90", "p99"))
SINK = Metric(
    name="sink_cpu",
    column="sink_percent",
    sql="sum(percent)",
    unit="% CPU",
    better=Better.LOWER,
    form=numbers.percent,
    relation=SINK_CPU,
    is_total=True,
    resolution=ONE_IN_A_THOUSAND,
)
"""The calibrated time of the sink on the CPUs of host and guests; 100 = one CPU."""
WAITED = Metric(
    name="source_waited",
    column="waited_share",
    sql="avg(waited_share)",
    unit="%",
    better=Better.LOWER,
    form=numbers.ratio_as_percent,
    points=True,
    is_total=True,
    resolution=ONE_IN_A_THOUSAND,
)
"""Share of the window in which the sources found no room for a frame, the mean of the streams."""
CPU = Metric(
    name="cpu",
    column="host_percent",
    sql="sum(percent)",
    unit="% CPU",
    better=Better.LOWER,
    form=numbers.percent,
    relation=HOST_CPU,
    is_total=True,
    step_sql="sum(step)",
)
"""The busy time of the CPUs that host and guests run on, without the sink's; 100 = one CPU."""
