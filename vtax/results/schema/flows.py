"""Tables of what goes through the platforms: flows, their goodput over time, their times, their way."""

from typing import Final

from vtax.columns import Column
from vtax.results.schema.table import BOOL, DOUBLE, INT32, INT64, STRING, TRIAL_ID, Table

STATISTICS: Final = {
    "mean": "mean",
    "p50": "median, null below 20 samples",
    "p90": "90% quantile, null below 100 samples",
    "p99": "99% quantile, null below 1,000 samples",
    "p999": "99.9% quantile, null below 10,000 samples",
    "max": "greatest",
}
"""What `flows` has of a time, in words."""


def _of_probes(name: str, meaning: str) -> tuple[Column, ...]:
    """Columns of a time of probes that arrived."""
    return tuple(
        Column(f"{name}_{statistic}_ns", DOUBLE, "ns", f"{words}: {meaning}; null for all but frames")
        for statistic, words in STATISTICS.items()
    )


FLOWS: Final = Table(
    "flows",
    "a flow of a guest in a trial",
    (
        TRIAL_ID,
        Column("role", STRING, "", "victim (the measured guest's) or neighbour"),
        Column("guest", INT32, "", "number of the guest, from 0"),
        Column("stream", INT32, "", "number of the stream, from 0; of bulk streams, among the guest's"),
        Column("intended_mbps", DOUBLE, "Mbit/s", "load the source was asked for, layer 1; null at `max`"),
        Column("offered_mbps", DOUBLE, "Mbit/s", "load the source sent, layer 1"),
        Column("received_mbps", DOUBLE, "Mbit/s", "load the sink received, layer 1"),
        Column("intended_fps", DOUBLE, "frames/s", "frame rate the source was asked for; null at `max`"),
        Column("offered_fps", DOUBLE, "frames/s", "frame rate the source sent"),
        Column("received_fps", DOUBLE, "frames/s", "frame rate the sink received"),
        Column("goodput_mbps", DOUBLE, "Mbit/s", "layer-4 payload received"),
        Column("offered_goodput_mbps", DOUBLE, "Mbit/s", "layer-4 payload that the sender's kernel took"),
        Column("messages_sent", INT64, "messages", "handed to the sender's kernel; null for plain frames"),
        Column(
            "messages_received", INT64, "messages", "came whole, each counted once; null for plain frames"
        ),
        Column("frames_sent", INT64, "frames", "sent in the measurement"),
        Column("frames_received", INT64, "frames", "of them received, each counted once"),
        Column("frames_lost", INT64, "frames", "sent and never received"),
        Column("frames_duplicated", INT64, "frames", "received again"),
        Column("frames_reordered", INT64, "frames", "received after a frame with a higher sequence number"),
        Column(
            "frames_displaced", INT64, "frames", "of them, overtaken by at least the three frames before them"
        ),
        Column(
            "reordering_extent_mean_frames",
            DOUBLE,
            "frames",
            "mean extent of the reordered frames; null where there are none",
        ),
        Column(
            "reordering_extent_max_frames",
            INT64,
            "frames",
            "greatest extent of a reordered frame; null where there are none",
        ),
        Column("reordering_extents_cut", INT64, "frames", "extents of 1,024 or more, counted as 1,024"),
        Column("loss_ratio", DOUBLE, "ratio", "frames lost of frames sent (RFC 1242 3.6, as a ratio of 1)"),
        Column("loss_periods", INT64, "periods", "runs of lost frames (RFC 3357)"),
        Column(
            "longest_loss_frames",
            INT64,
            "frames",
            "frames of the longest such run; null where frames were reordered",
        ),
        Column(
            "send_errors",
            INT64,
            "frames",
            "refused by the source's interface and not sent again; null where the mechanism cannot tell (gso)",
        ),
        Column(
            "blocked", INT64, "times", "the source's socket had no room: its link or the far ring was full"
        ),
        Column(
            "waited_share",
            DOUBLE,
            "ratio",
            "share of the window in which the source waited for room; null where the mechanism cannot tell (pktgen)",
        ),
        Column(
            "source_cpu_share",
            DOUBLE,
            "ratio",
            "share of the window in which the source's thread used its CPU, of several that sent the stream the "
            "mean; it polls at a paced load; null where its kernel does not account for it",
        ),
        Column(
            "source_cpus",
            STRING,
            "",
            "CPUs of the threads that sent the stream, one of each of its strands: of n each has every n-th frame, and "
            "order, periods of loss and IPDV are taken within it; null of bulk streams, echoes and requests",
        ),
        Column(
            "frames_unsent",
            INT64,
            "frames",
            "that the link had time for and a flood's source did not send: it waited for room, or was late; null of "
            "paced loads, unlimited links and bulk streams",
        ),
        Column("burst_frames", INT64, "frames", "most frames that the source sent at once"),
        Column(
            "retransmissions",
            INT64,
            "segments",
            "sent again by TCP, or chunks by SCTP, of requests by who asks; null for all else",
        ),
        Column("rtt_ns", DOUBLE, "ns", "TCP's smoothed round trip at the end; null for all else"),
        Column(
            "send_buffer_bytes",
            INT64,
            "byte",
            "what the sending socket of a bulk stream may hold at the end, with the kernel's own bookkeeping: twice "
            "what was asked for; null for all else",
        ),
        Column(
            "receive_buffer_bytes",
            INT64,
            "byte",
            "the same of the receiving socket; null also where its connection did not end",
        ),
        Column(
            "transactions",
            INT64,
            "transactions",
            "request-response pairs completed; null for one-way traffic",
        ),
        Column(
            "failed", INT64, "transactions", "request-response pairs not completed; null for one-way traffic"
        ),
        Column("probes_sent", INT64, "probes", "frames, echoes or requests whose delay was to be taken"),
        Column(
            "latency_count",
            INT64,
            "samples",
            "samples of delay: one way of frames, round trip of echoes and requests",
        ),
        Column(
            "clock_error_ns",
            DOUBLE,
            "ns",
            "most that one-way delays may be wrong by; above 0 where source and sink have clocks of their own",
        ),
        Column("latency_min_ns", DOUBLE, "ns", "least delay"),
        Column(
            "latency_mean_ns", DOUBLE, "ns", "mean delay; of echoes and requests, of those that were answered"
        ),
        Column(
            "latency_deviation_ns",
            DOUBLE,
            "ns",
            "standard deviation of the delay of requests that were answered; null for all else",
        ),
        Column("latency_p50_ns", DOUBLE, "ns", "median delay; null below 20 samples"),
        Column("latency_p90_ns", DOUBLE, "ns", "90% quantile of delay; null below 100 samples"),
        Column("latency_p99_ns", DOUBLE, "ns", "99% quantile of delay; null below 1,000 samples"),
        Column("latency_p999_ns", DOUBLE, "ns", "99.9% quantile of delay; null below 10,000 samples"),
        Column(
            "latency_max_ns",
            DOUBLE,
            "ns",
            "greatest delay; of echoes and requests, of those that were answered",
        ),
        *_of_probes("since_departure", "one-way delay of the same frames, from when they left the source"),
        *_of_probes("lateness", "how long after they were due these frames left the source; 0 at `max`"),
        Column("pdv_p99_ns", DOUBLE, "ns", "99% quantile of delay beyond the least; null as latency_p99_ns"),
        Column(
            "pdv_p999_ns", DOUBLE, "ns", "99.9% quantile of delay beyond the least; null as latency_p999_ns"
        ),
        Column(
            "ipdv_count", INT64, "samples", "pairs of probes, one sent next after the other, that arrived"
        ),
        Column(
            "ipdv_p99_ns",
            DOUBLE,
            "ns",
            "99% quantile of such a pair's difference in delay, without its sign; null below 1,000 pairs",
        ),
        Column("ipdv_p999_ns", DOUBLE, "ns", "99.9% quantile of it; null below 10,000 pairs"),
        Column("gap_p50_ns", DOUBLE, "ns", "median gap between arrivals; null below 20 gaps, and of a flood"),
        Column("gap_p99_ns", DOUBLE, "ns", "99% quantile of the gaps; null below 1,000 gaps, and of a flood"),
        Column(
            "gap_max_ns", DOUBLE, "ns", "greatest gap: the longest time that nothing arrived; null of a flood"
        ),
        Column(
            "duration_s",
            DOUBLE,
            "s",
            "window the flow's rates are taken over, common to all flows of the trial",
        ),
    ),
)

SERIES: Final = Table(
    "series",
    "100 ms of a flow in a trial",
    (
        TRIAL_ID,
        Column("role", STRING, "", "victim (the measured guest's) or neighbour"),
        Column("guest", INT32, "", "number of the guest, from 0"),
        Column("stream", INT32, "", "number of the stream, from 0"),
        Column(
            "step", INT32, "", "number of the 100 ms, from 0 at the first measured arrival of the guest's"
        ),
        Column("goodput_mbps", DOUBLE, "Mbit/s", "layer-4 payload received in them"),
    ),
)

LATENCY: Final = Table(
    "latency",
    "a histogram of times of a stream in a trial",
    (
        TRIAL_ID,
        Column("stream", INT32, "", "number of the stream, from 0"),
        Column(
            "kind",
            STRING,
            "",
            "what was timed: one-way, since-departure, lateness, round-trip, ipdv-positive, ipdv-negative or gap",
        ),
        Column("corrected", BOOL, "", "corrected for coordinated omission"),
        Column(
            "lost",
            INT64,
            "probes",
            "sent and never received: their delay is beyond every other; null but for one-way and round-trip",
        ),
        Column("histogram", STRING, "ns", "HdrHistogram, V2 encoding, base64"),
    ),
)

HOPS: Final = Table(
    "hops",
    "a hop of the packets' way in a trial",
    (
        TRIAL_ID,
        Column("stream", INT32, "", "number of the stream, from 0"),
        Column("hop", STRING, "", "place on the way, in its order: link, UUT ingress ... sink"),
        Column("received", INT64, "frames", "came to the hop, all phases of the trial"),
        Column("forwarded", INT64, "frames", "came to the next one"),
        Column("dropped", INT64, "frames", "the difference, where it is a loss"),
        Column("held_back", INT64, "times", "its queue found the next hop full and waited"),
        Column(
            "reason",
            STRING,
            "",
            "the counter that saw the drops, or the kernel's own reason; null where neither",
        ),
    ),
)
