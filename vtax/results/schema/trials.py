"""Tables of whole trials: each trial, and the goals of a search that some of them ended."""

from typing import Final

from vtax.columns import Column
from vtax.results.schema.table import BOOL, DOUBLE, INSTANT, INT32, STRING, STRINGS, TRIAL_ID, Table

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
        Column("guests", INT32, "guests", "guests on the host"),
        Column(
            "trace",
            STRING,
            "",
            "stages where packets were followed, which takes time: such a trial is in no view but that of stages; "
            "else none",
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
        Column(
            "throttled_s",
            DOUBLE,
            "s",
            "longest that the CPU quota of a cgroup held threads of vtax or of guests back, on the UUT's machine",
        ),
        Column(
            "uut_paused_share",
            DOUBLE,
            "ratio",
            "share of the samples of the UUT's CPUs that were 0.1 ms late or more, or missed meanwhile: something "
            "below the kernel had the CPU, or nothing could interrupt it; null where its CPUs were not sampled",
        ),
        Column(
            "uut_longest_pause_ns",
            DOUBLE,
            "ns",
            "how late the latest of these samples was; null as uut_paused_share",
        ),
        Column("hello_s", DOUBLE, "s", "from the guest's start to its agent's hello"),
        Column(
            "ready_s", DOUBLE, "s", "from the guest's start to a path that carries frames on every stream"
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
