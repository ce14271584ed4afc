"""Tables of whole trials: each trial, and the goals of a search that some of them ended."""

from typing import Final

from vtax.results.schema.table import BOOL, DOUBLE, INSTANT, INT32, STRING, STRINGS, TRIAL_ID, Column, Table

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
        Column(
            "run", INT32, "", "place among the runs of relays or programs in a row, from 0; null for all else"
        ),
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
            "what is handed to the kernel at once, a request's length, or a relayed message's; null for plain frames "
            "and for the transport's default",
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
            "the hosts themselves. Where relays are: one-guest or guest-each. Of a client program: "
            "inside (its server's guest), or as of requests",
        ),
        Column("loop", STRING, "", "of requests: closed or open"),
        Column("requests_per_s", DOUBLE, "requests/s", "rate of an open loop; null for all else"),
        Column("payload_bytes", INT32, "byte", "payload of an echo; null for all else"),
        Column(
            "interval_ms", DOUBLE, "ms", "from one echo, or round of relays, to the next; null for all else"
        ),
        Column("hops", INT32, "relays", "relays of a ring, the master among them; null for all else"),
        Column(
            "iterations",
            INT32,
            "rounds",
            "rounds that a run of relays was to make, or iterations of a client program; null for all else",
        ),
        Column(
            "load",
            STRING,
            "",
            "of relays, what is timed: network, nothing, output or lines; of programs: program",
        ),
        Column("connection", STRING, "", "of relays, how messages are carried: fresh or persistent"),
        Column("server", STRING, "", "of programs, the server's name; null for all else"),
        Column("others", STRING, "", "what the guests do that no echo goes through: idle or tcp"),
        Column(
            "trace",
            STRING,
            "",
            "stages where packets were followed, which takes time: such a trial is in no view but that of stages; "
            "else none",
        ),
        Column("frame_bytes", INT32, "byte", "Ethernet frame without FCS; null for a mix"),
        Column("frame_mix", STRING, "", "mix of frame lengths, as the scenario has it; null for one length"),
        Column(
            "intended_mbps",
            DOUBLE,
            "Mbit/s",
            "intended load of each stream, layer 1; null is `max`, the flood",
        ),
        Column("accelerator", STRING, "", "none, kvm, emulated, or another hypervisor: esxi, virtualbox"),
        Column(
            "emulated", BOOL, "", "the guest's CPU is emulated: absolute values only, never a tax against raw"
        ),
        Column(
            "uut_context", STRING, "", "whose CPU context forwards: own (the UUT's) or sender (the source's)"
        ),
        Column(
            "neighbour_maximum_mbps",
            DOUBLE,
            "Mbit/s",
            "what each neighbour that forwards can in the mean, with the guest idle, layer 1; null for all else",
        ),
        Column("mechanism", STRING, "", "how frames enter the link: raw, gso or af_xdp"),
        Column(
            "ceiling_fps",
            DOUBLE,
            "frames/s",
            "what the mechanism reached in its calibration, all streams together: it chose the mechanism and limits "
            "nothing",
        ),
        Column(
            "ceiling_share",
            DOUBLE,
            "ratio",
            "what all streams offered, as a share of ceiling_fps; above 1 the source did more than in its calibration",
        ),
        Column(
            "start_spread_ms",
            DOUBLE,
            "ms",
            "between the first frames of the first and last flow to start; null of several sources",
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
            "on a valid trial: generator-limited, link-limited, uplink-limited, backpressured, or limit-unknown (less "
            "was offered than intended although the source neither waited nor was busy: a lower bound); of streams "
            "far-end-busy; traced where packets were followed",
        ),
        Column("reasons", STRINGS, "", "why the trial is suspect or invalid, a sentence each"),
        Column("started_at", INSTANT, "UTC", "start of the trial"),
        Column(
            "row_counts", STRING, "", "its number of rows in each table, JSON: what shows that all are there"
        ),
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
            "what bounded it in the platform's stead: the largest load, generator-limited, link-limited, "
            "uplink-limited or limit-unknown",
        ),
    ),
)
