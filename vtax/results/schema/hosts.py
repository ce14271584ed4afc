"""Tables of the hosts: their CPU time, and what they are."""

from enum import StrEnum
from typing import Final

from vtax.columns import Column
from vtax.results.schema.table import DOUBLE, INT32, INT64, STRING, TRIAL_ID, Table

SINK: Final = "sink"


class SinkTime(StrEnum):
    """The component of `cpu` that has the sink's calibrated time."""

    IN_HOST_TOTAL = "calibrated"
    """The sink ran on the UUT's CPUs, whose total has it too."""
    ELSEWHERE = "calibrated elsewhere"


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
        Column(
            "component",
            STRING,
            "",
            f"part of the domain: total, softirq, a thread's name; of the sink {SinkTime.IN_HOST_TOTAL}, where the "
            f"total of `host` has its time too, or {SinkTime.ELSEWHERE}",
        ),
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

ENVIRONMENT: Final = Table(
    "environment",
    "a machine in a trial",
    (
        TRIAL_ID,
        Column("host", STRING, "", "the machine, as `hosts` of campaign.json has it"),
        Column(
            "roles",
            STRING,
            "",
            "what it does: uut, source and sink; of several sources and sinks with a number from the second on",
        ),
        Column("kernel", STRING, "", "kernel release"),
        Column("mitigations", STRING, "", "CPU vulnerabilities and their mitigations, JSON"),
        Column("clocksource", STRING, "", "the kernel's clock source"),
        Column("frequency_mhz", STRING, "MHz", "CPU frequencies, JSON"),
        Column("offloads", STRING, "", "offload settings of each interface, JSON"),
        Column(
            "bridge_netfilter",
            STRING,
            "",
            "whether bridges pass frames to netfilter, by host and table, JSON; null: not loaded",
        ),
        Column(
            "own_bridge_netfilter",
            STRING,
            "",
            "the same of the machine's own bridges, which vtax leaves as they are",
        ),
        Column("versions", STRING, "", "versions of the programs that took part, JSON"),
        Column(
            "hash",
            STRING,
            "",
            "digest of kernel, mitigations, clock source, CPU model and number of CPUs",
        ),
    ),
)

CANARY: Final = Table(
    "canary",
    "a CPU of a machine before a trial, or after it",
    (
        TRIAL_ID,
        Column("host", STRING, "", "the machine, as `hosts` of campaign.json has it"),
        Column("cpu", INT32, "", "the CPU, which has a role there"),
        Column("moment", STRING, "", "before the trial or after"),
        Column(
            "chain_ns",
            DOUBLE,
            "ns",
            "a multiplication that waits for the one before: longer at a lower clock rate",
        ),
        Column(
            "parallel_ns",
            DOUBLE,
            "ns",
            "eight additions that need nothing of each other: longer where another has part of the core",
        ),
        Column("load_ns", DOUBLE, "ns", "a load from memory that waits for the one before, past all caches"),
        Column("system_call_ns", DOUBLE, "ns", "a system call that does nothing"),
        Column(
            "frame_ns", DOUBLE, "ns", "a datagram through a loopback interface of its own, sent and received"
        ),
    ),
)
"""Fixed work, medians of some twenty pieces of each kind."""
