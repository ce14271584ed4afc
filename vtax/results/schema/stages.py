"""Tables of traced trials: delay by stage, and packets one by one."""

from typing import Final

from vtax.columns import Column
from vtax.results.schema.table import DOUBLE, INT32, INT64, STRING, TRIAL_ID, Table

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
