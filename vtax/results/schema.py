"""The tables of a result: every column with its type, unit and meaning, in one place.

The Arrow schemas that files are written with and the tables of docs/results.md both come from here. Unit and
meaning also travel in each Parquet file as Arrow field metadata, so that a file found alone explains itself.
Terms follow RFC 1242, RFC 2544 and RFC 5481. `mbps` is layer 1: preamble, gap and FCS included, 24 bytes a
frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

FORMAT_VERSION: Final = 1

INT32, INT64, DOUBLE, STRING, BOOL = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()
STRINGS: Final = pa.list_(pa.string())
INSTANT: Final = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Column:
    """One column: `unit` is empty for names, labels and structured text."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str

    @property
    def field(self) -> pa.Field:
        """The Arrow field, with unit and meaning as its metadata."""
        return pa.field(self.name, self.type, metadata={"unit": self.unit, "meaning": self.meaning})


@dataclass(frozen=True)
class Table:
    """One table: what a row is, and its columns in order. Values that are unknown or missing are null."""

    name: str
    row: str
    columns: tuple[Column, ...]

    def schema(self, further: Sequence[str] = ()) -> pa.Schema:
        """The Arrow schema, with a string column for each of the `further` factors of a campaign."""
        factors = (Column(name, STRING, "", "level of this factor, as text") for name in further)
        return pa.schema([column.field for column in (*self.columns, *factors)])


TRIAL_ID: Final = Column("trial_id", INT64, "", "number of the trial, unique in the campaign")

TRIALS: Final = Table(
    "trials",
    "a trial",
    (
        TRIAL_ID,
        Column("cell", STRING, "", "the cell's key: every factor and its level, in factor order"),
        Column("block", INT32, "", "block of the plan, from 0: one repetition of every cell"),
        Column("position", INT32, "", "place in the block's random order, from 0"),
        Column("repetition", INT32, "", "repetition of the cell, from 0"),
        Column("search", STRING, "", "key of the search that the trial is of: the cell's without the load"),
        Column("step", INT32, "", "place in its search, from 0"),
        Column("attempt", INT32, "", "attempt at this repetition, from 0; more follow an invalid one"),
        Column("platform", STRING, "", "platform preset"),
        Column("streams", INT32, "streams", "parallel streams, each over its own pair of links"),
        Column("guests", INT32, "guests", "guests on the host"),
        Column("transport", STRING, "", "tcp, udp or sctp; null for plain frames"),
        Column(
            "direction", STRING, "", "what the guests of bulk streams do: sending, receiving or forwarding"
        ),
        Column(
            "message_bytes",
            INT32,
            "byte",
            "what is handed to the kernel at once, or a request's length; null for plain frames and for the "
            "transport's default",
        ),
        Column(
            "buffer_bytes",
            INT32,
            "byte",
            "what sockets of bulk streams ask for as send and receive buffer; null for the kernels' choice, and for "
            "all else",
        ),
        Column(
            "response_bytes",
            INT32,
            "byte",
            "length of the answer to a request; null for as long as the request, and for all else",
        ),
        Column(
            "placement",
            STRING,
            "",
            "who asks a guest, or sends to it or receives from it: guest-to-peer, inter-host or intra-host; of raw, "
            "the hosts themselves",
        ),
        Column("loop", STRING, "", "of requests: closed or open"),
        Column("requests_per_s", DOUBLE, "requests/s", "rate of an open loop; null for all else"),
        Column("payload_bytes", INT32, "byte", "payload of an echo; null for all else"),
        Column("interval_ms", DOUBLE, "ms", "from one echo to the next; null for all else"),
        Column("others", STRING, "", "what the guests do that no echo goes through: idle or tcp"),
        Column(
            "trace",
            STRING,
            "",
            "stages where packets were followed: it takes time, and such a trial is in no view but that of stages; else "
            "none",
        ),
        Column("frame_bytes", INT32, "byte", "Ethernet frame without FCS; null for a mix"),
        Column("frame_mix", STRING, "", "mix of frame lengths, as the scenario has it; null for one length"),
        Column(
            "intended_mbps",
            DOUBLE,
            "Mbit/s",
            "intended load of each stream, layer 1; null is `max`, the flood",
        ),
        Column("accelerator", STRING, "", "none, kvm or emulated"),
        Column(
            "emulated", BOOL, "", "the guest's CPU is emulated: absolute values only, never a tax against raw"
        ),
        Column(
            "uut_context", STRING, "", "whose CPU context forwards: own (the UUT's) or sender (the source's)"
        ),
        Column("mechanism", STRING, "", "how frames enter the link: raw, gso or af_xdp"),
        Column("ceiling_fps", DOUBLE, "frames/s", "calibrated limit of the mechanism, all streams together"),
        Column(
            "start_spread_ms", DOUBLE, "ms", "between the first frames of the first and last flow to start"
        ),
        Column("warmup_s", DOUBLE, "s", "traffic before the measurement, discarded"),
        Column("duration_s", DOUBLE, "s", "length of the measurement"),
        Column("wall_s", DOUBLE, "s", "wall time of the whole trial"),
        Column("overhead_s", DOUBLE, "s", "of it, neither warm-up, measurement nor drain"),
        Column("hello_s", DOUBLE, "s", "from the guest's start to its agent's hello"),
        Column(
            "ready_s", DOUBLE, "s", "from the guest's start to a path that carries frames on every stream"
        ),
        Column("sink_mode", STRING, "", "where the sink counts: xdp-native, xdp-generic or tc"),
        Column(
            "sink_fallback",
            STRING,
            "",
            "why not in a way before it in that list, with the kernel's words; null for the first",
        ),
        Column("verdict", STRING, "", "valid, suspect or invalid; see docs/verdicts.md"),
        Column(
            "marks",
            STRINGS,
            "",
            "on a valid trial: generator-limited, link-limited, uplink-limited, backpressured; of streams far-end-busy; "
            "traced where packets were followed",
        ),
        Column("reasons", STRINGS, "", "why the trial is suspect or invalid, a sentence each"),
        Column("started_at", INSTANT, "UTC", "start of the trial"),
        Column(
            "row_counts", STRING, "", "its number of rows in each table, JSON: what shows that all are there"
        ),
    ),
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
        Column("gap_p50_ns", DOUBLE, "ns", "median gap between arrivals; null below 20 gaps"),
        Column("gap_p99_ns", DOUBLE, "ns", "99% quantile of the gaps; null below 1,000 gaps"),
        Column("gap_max_ns", DOUBLE, "ns", "greatest gap: the longest time that nothing arrived"),
        Column(
            "duration_s",
            DOUBLE,
            "s",
            "window the flow's rates are taken over, common to all flows of the trial",
        ),
    ),
)

CPU: Final = Table(
    "cpu",
    "a domain and component of a host in a trial",
    (
        TRIAL_ID,
        Column("host", STRING, "", "the host"),
        Column(
            "domain",
            STRING,
            "",
            "whose time it is: guest, neighbour, peer, server, source, sink, switch, instrument, controller, host, "
            "idle, steal",
        ),
        Column(
            "guest", INT32, "", "number of the guest whose time it is, from 0; null for what is no guest's"
        ),
        Column("component", STRING, "", "part of the domain: total, calibrated, softirq, or a thread's name"),
        Column("percent", DOUBLE, "%", "CPU time of the measurement; 100 is one CPU"),
        Column("low", DOUBLE, "%", "lower bound of its 95% interval; null where it is counted, not sampled"),
        Column("high", DOUBLE, "%", "upper bound of its 95% interval; null where it is counted, not sampled"),
        Column("wait_percent", DOUBLE, "%", "time its threads were ready and had no CPU; null where unknown"),
        Column(
            "samples",
            INT64,
            "",
            "samples of the CPUs' clocks that it had: such rows of a host add up to all its CPUs; null where counted",
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

LATENCY: Final = Table(
    "latency",
    "a histogram of times of a stream in a trial",
    (
        TRIAL_ID,
        Column("stream", INT32, "", "number of the stream, from 0"),
        Column(
            "kind", STRING, "", "what was timed: one-way, round-trip, ipdv-positive, ipdv-negative or gap"
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

STAGES: Final = Table(
    "stages",
    "a stage of a way of a traced trial's packets",
    (
        TRIAL_ID,
        Column("host", STRING, "", "the host that it is on; null for what is between hosts, and in no stage"),
        Column(
            "guest", INT32, "", "number of the guest whose packets they are, from 0; null for the host's own"
        ),
        Column("way", STRING, "", "name of the way: packets on it pass all of its stages, or count in none"),
        Column("direction", STRING, "", "rx (to a guest), tx (from one) or through"),
        Column(
            "stage",
            STRING,
            "",
            "see docs/stages.md; total is all of the way, unattributed what of the delay or response time no stage has",
        ),
        Column("position", INT32, "", "place on the way, from 0; null for total and unattributed"),
        Column("count", INT64, "packets", "followed packets that passed the whole way"),
        Column("min_ns", DOUBLE, "ns", "least delay"),
        Column("mean_ns", DOUBLE, "ns", "mean delay: those of a way's stages add up to its total's"),
        Column("p50_ns", DOUBLE, "ns", "median delay; null below 20 packets"),
        Column("p90_ns", DOUBLE, "ns", "90% quantile; null below 100 packets"),
        Column("p99_ns", DOUBLE, "ns", "99% quantile; null below 1,000 packets"),
        Column("max_ns", DOUBLE, "ns", "greatest delay"),
        Column("histogram", STRING, "ns", "HdrHistogram, V2 encoding, base64; null for unattributed"),
        Column(
            "strayed",
            INT64,
            "packets",
            "followed ones of the trial that passed no whole way: dropped, or gone elsewhere",
        ),
        Column("lost_events", INT64, "packets", "of the trial, whose marks another one's took the place of"),
        Column("hook_ns", DOUBLE, "ns", "what following takes at each hook, in the mean of the trial"),
    ),
)

PACKETS: Final = Table(
    "packets",
    "a followed packet at a hook of its way",
    (
        TRIAL_ID,
        Column("packet", INT32, "", "number of the packet in its trial, from 0; the same on every host"),
        Column("host", STRING, "", "the host that follows it; null for a way over several"),
        Column("guest", INT32, "", "number of the guest whose packet it is, from 0; null for the host's own"),
        Column("way", STRING, "", "name of the way"),
        Column("position", INT32, "", "place of the hook on the way, from 0"),
        Column("stage", STRING, "", "the stage that ends here, with its direction; null at the first hook"),
        Column("function", STRING, "", "the hook, by its name in docs/stages.md"),
        Column("interface", STRING, "", "the interface that the packet was at"),
        Column("at_ns", INT64, "ns", "the moment, by the kernel's monotonic clock"),
    ),
)

ENVIRONMENT: Final = Table(
    "environment",
    "a host in a trial",
    (
        TRIAL_ID,
        Column("host", STRING, "", "the host"),
        Column("kernel", STRING, "", "kernel release"),
        Column("mitigations", STRING, "", "CPU vulnerabilities and their mitigations, JSON"),
        Column("clocksource", STRING, "", "the kernel's clock source"),
        Column("frequency_mhz", STRING, "MHz", "CPU frequencies, JSON"),
        Column("offloads", STRING, "", "offload settings of each interface, JSON"),
        Column("versions", STRING, "", "versions of the programs that took part, JSON"),
        Column("hash", STRING, "", "digest of the other columns: equal where the environment is equal"),
    ),
)

SEARCHES: Final = Table(
    "searches",
    "a goal of a search, with the trial that ended it (terms of RFC 9971)",
    (
        TRIAL_ID,
        Column("search", STRING, "", "key of the search: the cell's without the load"),
        Column("goal", STRING, "", "name of the goal"),
        Column("loss_ratio", DOUBLE, "ratio", "goal loss ratio"),
        Column("exceed_ratio", DOUBLE, "ratio", "goal exceed ratio"),
        Column("relative_width", DOUBLE, "ratio", "goal width"),
        Column(
            "lower_mbps",
            DOUBLE,
            "Mbit/s",
            "relevant lower bound, load of each stream; null where the least load lost too much",
        ),
        Column(
            "upper_mbps",
            DOUBLE,
            "Mbit/s",
            "relevant upper bound, load of each stream; null where the largest load did not",
        ),
        Column("conditional_mbps", DOUBLE, "Mbit/s", "conditional throughput of each stream"),
        Column("trials", INT32, "trials", "usable trials of the search"),
        Column("trial_s", DOUBLE, "s", "their warm-up and measurement"),
        Column(
            "bounded_by",
            STRING,
            "",
            "what bounded it in the platform's stead: the largest load, generator-limited, link-limited or "
            "uplink-limited",
        ),
    ),
)

TABLES: Final = {
    table.name: table
    for table in (TRIALS, FLOWS, SERIES, CPU, HOPS, LATENCY, STAGES, PACKETS, ENVIRONMENT, SEARCHES)
}


def schemas(campaign: Mapping[str, Any]) -> dict[str, pa.Schema]:
    """The Arrow schema of each table of this campaign.

    `campaign` is campaign.json's content. Its `factors`, in want of these those of its scenario, name the
    factors' columns; those that `trials` does not have yet become string columns there.
    """
    factors = campaign.get("factors") or campaign.get("scenario", {}).get("factors", {})
    fixed = {column.name for column in TRIALS.columns}
    further = [name for name in factors if name not in fixed]
    return {table.name: table.schema(further if table is TRIALS else ()) for table in TABLES.values()}
