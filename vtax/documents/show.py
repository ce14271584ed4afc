"""The document of `vtax show`: every number that tables and figures have, by cell."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from vtax.documents.base import Bound, Count, Document, Estimate, Nanoseconds, Part, Seconds, Share
from vtax.documents.claims import Claim
from vtax.documents.diagnosis import DiagnosedCells

Setting = dict[str, str | int | float | dict[str, str] | None]
"""Levels that a table holds fixed, by the columns of `trials`; `further` has the other factors by name."""
Level = dict[str, int | float | None]
"""The level by which cells of one setting differ, by its column; empty where the setting says it all."""
Mbps = Annotated[float, Field(ge=0)]
Shape = dict[str, JsonValue]


class Platform(Part):
    """A platform of the campaign."""

    name: str
    """Platform preset."""
    title: str
    """Title of the preset."""
    kind: str
    """Kind of platform."""
    accelerator: str
    """Accelerator of its CPU: none, kvm, emulated and so on."""
    emulated: bool
    """True where its CPU is emulated, so that it is compared with other emulated platforms alone."""
    skipped_reason: str | None
    """Reason why it was not measured; null where it was."""
    skipped_remedy: str | None
    """Step that would make it usable; null where none is known."""
    facts: Shape
    """Facts of the platform: versions, NIC model, vCPUs and so on."""


class Provenance(Part):
    """Origin of the campaign, and how far it came."""

    name: str
    """Name of the scenario."""
    title: str
    """Title of the scenario."""
    question: str
    """Question of the scenario."""
    repeats: str
    """Published experiment that it repeats; empty where it repeats none."""
    status: str
    """Status of the campaign: complete, running, interrupted and so on."""
    vtax_version: str
    """Version of vtax that measured it."""
    created_at: str
    """Time at which it began, ISO 8601, or unknown."""
    seed: int | None
    """Seed of the order of its trials."""
    command: list[str]
    """Command line that started it."""
    kind: str
    """Kind of workload."""
    figures: list[str]
    """Figures that the scenario asks for."""
    repetitions: Count
    """Blocks of the campaign."""
    precision: Shape
    """Key `precision` of the scenario; empty where it has none."""
    search: Shape
    """Key `search` of the scenario; empty where it has none."""
    planned_trials: Count | None
    """Planned trials; null where their number depends on the measured values."""
    recorded_trials: Count
    """Trials that are recorded, every attempt counted."""
    measured_trials: Count
    """Planned trials of which there is a usable one."""
    platforms: list[Platform]
    """Platforms in the scenario's order, native ones first."""
    labels: list[str]
    """Labels of the hosts, such as shared-core."""
    testbed: Shape
    """Testbed as campaign.json has it."""
    hosts: dict[str, Shape]
    """Hosts as campaign.json has them, by name."""
    ceilings: list[Shape]
    """Calibrated ceilings of the source, as campaign.json has them."""
    environments: list[Shape]
    """Environments as the table `environment` has them, each with the number of trials that ran in it."""
    damaged: list[str]
    """Parts of the result that could not be read, each in a sentence."""
    notes: list[str]
    """Notes on how the result was read."""


class Cell(Part):
    """A cell with its metrics."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    uut_context: str
    """Whose thread the unit under test ran in: own or sender; unknown where it was not recorded."""
    setting: Setting
    """Levels that tables hold fixed."""
    level: Level
    """Level by which cells of the setting differ."""
    recorded: Count
    """Recorded trials."""
    suspect: Count
    """Suspect trials among them."""
    invalid: Count
    """Invalid trials among them."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""
    marks: dict[str, Count]
    """Usable trials with each mark."""
    metrics: dict[str, Estimate | None]
    """Metrics by name, whose unit ends it; null where no trial has one."""


class Added(Part):
    """Difference of a metric between a cell and its reference."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    reference: str
    """Platform that it is compared with."""
    uut_context: str
    """Whose thread the unit under test ran in."""
    setting: Setting
    """Levels that the table holds fixed."""
    level: Level
    """Level by which cells of the setting differ."""
    added: Estimate
    """Difference of the means, paired within blocks, in the metric's unit."""


class Placed(Part):
    """A row of one platform in one setting."""

    platform: str
    """Platform preset."""
    setting: Setting
    """Levels that the table holds fixed."""


class Keyed(Part):
    """A row of one cell."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    setting: Setting
    """Levels that the table holds fixed."""


class AtLoad(Keyed):
    """A row of one cell that is a load of frames."""

    intended_mbps: Mbps | None
    """Intended load of each stream at layer 1; null for the flood."""
    uut_context: str
    """Whose thread the unit under test ran in."""


class Throughput(AtLoad):
    """Throughput of a platform at one load, all streams together, at layer 1."""

    offered_mbps: Estimate
    """Offered load."""
    received_mbps: Estimate
    """Throughput."""
    loss_ratio: Estimate | None
    """Frame loss ratio."""
    stream_received_mbps: dict[str, Estimate]
    """Throughput of each stream, by its number."""
    generator_limited: bool
    """True where the generator's ceiling set the load of a trial."""
    carried_in_full: bool
    """True where the load was offered as intended and arrived."""
    marks: dict[str, Count]
    """Usable trials with each mark."""
    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""


class Maximum(Placed):
    """The largest mean throughput over the loads."""

    intended_mbps: Mbps | None
    """Load at which it was; null for the flood."""
    uut_context: str
    """Whose thread the unit under test ran in."""
    received_mbps: Estimate
    """The maximum, freed of the bias of having been picked."""
    stream_received_mbps: dict[str, Estimate]
    """Throughput of each stream at that load, by its number."""
    loss_ratio: Estimate | None
    """Frame loss ratio at that load."""
    limit: str | None
    """Limit other than the platform that bounded it; null where the platform's own limit did."""
    by_load_mbps: dict[str, dict[str, float]]
    """Throughput at each load by block, by the cell's key."""
    caps_mbps: dict[str, Mbps]
    """Greatest possible throughput of each paced load, by the cell's key."""


class DelayPercentile(AtLoad):
    """A quantile of one-way delay at one load."""

    label: str
    """Name of the quantile: p50, p90 or p99."""
    quantile: float
    """The quantile, 0 to 1."""
    delay_ns: Estimate | None
    """The quantile in a typical repetition; null where it lies among the lost probes."""
    samples: Count
    """Probes that arrived."""
    lost: Count
    """Probes that were lost, which count as later than any received one."""
    generator_limited: bool
    """True where the generator's ceiling set the load of a trial."""
    clock_error_ns: Nanoseconds
    """Error of the clocks' difference that the interval allows for."""


class MaximumChange(Part):
    """The change of the maximum against the reference."""

    platform: str
    """Platform preset."""
    reference: str
    """Platform that it is compared with."""
    setting: Setting
    """Levels that the table holds fixed."""
    emulated: bool
    """True where the platform's CPU is emulated."""
    maximum: Maximum
    """The platform's maximum."""
    reference_maximum: Maximum | None
    """The reference's; null where there is none."""
    change_percent: Estimate | None
    """Change in percent, negative where the platform carries less."""
    problem: str | None
    """Reason why there is no change, or why it is withheld."""


class LoadCost(Part):
    """Added delay and CPU time of a load against the reference."""

    key: str
    """The cell: every factor and its level."""
    platform: str
    """Platform preset."""
    reference: str
    """Platform that it is compared with."""
    setting: Setting
    """Levels that the table holds fixed."""
    emulated: bool
    """True where the platform's CPU is emulated."""
    intended_mbps: Mbps | None
    """Intended load of each stream at layer 1; null for the flood."""
    added_delay_p50_ns: Estimate | None
    """Added median one-way delay."""
    added_host_percent: Estimate | None
    """CPU time added on the unit under test's CPUs, in percentage points, 100 = one CPU."""
    carried_in_full: bool
    """True where both offered the load as intended and delivered it."""


class CpuUse(AtLoad):
    """CPU time of one component at one load."""

    domain: str
    """Domain of the ledger."""
    component: str
    """Component of the domain."""
    percent: Estimate
    """CPU time in percent, 100 = one CPU."""


class HopLoss(AtLoad):
    """Share of the frames sent that a hop lost at one load."""

    hop: str
    """The hop."""
    ratio: Estimate
    """Share of the frames sent."""
    reason: str | None
    """Recorded reason of the drops; null where there is none."""


class Reached(Placed):
    """An interval that the mode `precision` wants narrow."""

    intended_mbps: Mbps | None
    """Intended load of each stream at layer 1; null for the flood and for a maximum."""
    guests: Count | None
    """Guests of bulk streams; null of frames."""
    received_mbps: Estimate
    """Throughput, or of streams the aggregate goodput."""
    width: Annotated[float, Field(ge=0)] | None
    """Width of the interval as a share of the estimate; null where it has no bounds."""
    wanted: float
    """Width that the scenario wants."""
    reached: bool
    """True where the interval is as narrow as that."""


class SearchGoal(Placed):
    """Bounds of a goal over a cell's searches; loads are those of each stream."""

    goal: str
    """Name of the goal."""
    loss_ratio: Share
    """Loss ratio of the goal."""
    lower_mbps: Mbps | None
    """Least relevant lower bound of all searches; null where one has none."""
    upper_mbps: Mbps | None
    """Largest relevant upper bound; null where one has none."""
    conditional_mbps: Estimate | None
    """Conditional throughput (RFC 9971); null where the least load lost too much."""
    searches: Count
    """Searches behind it."""
    trials: Count
    """Trials of these searches."""
    trial_s: Seconds
    """Time that these trials took."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""
    bounded_by: str | None
    """Limit other than the platform that bounded it; null where the platform's own limit did."""
    bound: Bound
    """Reading of its loads."""


class WithGuests(Keyed):
    """A row of one cell with so many guests."""

    guests: Count
    """Guests that are measured."""


class Goodput(WithGuests):
    """Layer-4 payload that arrived from, or at, the guests."""

    aggregate_mbps: Estimate
    """R aggregate (anhalt2009): that of all guests."""
    fair_share_mbps: Estimate
    """R aggregate / N."""
    by_guest_mbps: dict[str, Estimate]
    """R i, by the guest's number from 0."""
    link_mbps: Mbps | None
    """Goodput of a full link; null where that is not known."""
    of_link: Estimate | None
    """Aggregate as a share of that."""
    far_end_busy: bool
    """True where in some trial the CPU of the far ends had no time left."""
    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""


class Efficiency(WithGuests):
    """E throughput (anhalt2009): the aggregate goodput as a share of the reference's with one guest."""

    emulated: bool
    """True where the platform's CPU is emulated."""
    reference: str
    """Platform that it is compared with."""
    efficiency: Estimate | None
    """The ratio; null where there is none."""
    problem: str | None
    """Reason why there is none, or why it is withheld."""


class Scaling(WithGuests):
    """Change of a platform from one guest to several."""

    aggregate_ratio: Estimate | None
    """Ratio of the aggregate goodputs."""
    host_percent: Estimate | None
    """CPU time added on the CPUs of host and guests, in percentage points, 100 = one CPU."""
    left_out: Share
    """Share of the trials of both sides that were invalid and so left out, 0 to 1."""


class Fairness(WithGuests):
    """Jain's index over the guests, 1 / N to 1."""

    goodput: Estimate | None
    """Index of goodput."""
    cpu: Estimate | None
    """Index of CPU time."""


class GuestCpu(WithGuests):
    """CPU time with so many guests, in percent, 100 = one CPU."""

    host_percent: Estimate | None
    """C aggregate (anhalt2009): busy time of the CPUs that host and guests run on."""
    guest_percent: Estimate | None
    """Mean of the guests' CPU time."""
    by_guest_percent: dict[str, Estimate]
    """C i, by the guest's number from 0."""
    busy_percent: Estimate | None
    """Busy time of the whole machine in the CPU ledger."""
    by_account: dict[str, Estimate]
    """The same by account: the domain, and of guests their number."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""


class RoundTrip(WithGuests):
    """TCP's smoothed round trip at the end of a trial, under load."""

    by_guest_ns: dict[str, Estimate]
    """Round trip by the guest's number from 0."""


class PublishedSharing(Part):
    """A number of guests that share a link, as a paper prints it."""

    direction: str
    """Direction of the streams."""
    transport: str
    """Their transport."""
    guests: str
    """Number of guests, or a range."""
    quantity: str
    """The quantity."""
    text: str
    """The number as it is printed."""
    unit: str
    """Its unit."""
    setup: str
    """Platform or set-up of the paper."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class Sharing(Part):
    """Guests that share a link and a host; all lists are empty for other workloads."""

    goodput: list[Goodput]
    """Goodput by number of guests."""
    efficiency: list[Efficiency]
    """Efficiency by number of guests."""
    scaling: list[Scaling]
    """Changes against one guest."""
    fairness: list[Fairness]
    """Fairness by number of guests."""
    cpu: list[GuestCpu]
    """CPU time by number of guests."""
    round_trips: list[RoundTrip]
    """Round trips by number of guests."""
    published: list[PublishedSharing]
    """Numbers of the paper that the scenario repeats."""


class MessageGoodput(Keyed):
    """Goodput between two ends by the length of messages."""

    message_bytes: Count | None
    """Length of a message; null for the transport's default."""
    goodput_mbps: Estimate
    """Goodput."""
    deviation_mbps: float | None
    """Standard deviation of the repetitions."""
    link_mbps: Mbps | None
    """Goodput of a full link; null where that is not known."""
    of_link: Estimate | None
    """Goodput as a share of that."""
    reference: str | None
    """Platform that it is compared with; null for the reference itself."""
    ratio: Estimate | None
    """Ratio to the reference's goodput in the same blocks; null where that was not measured."""
    retransmissions: Estimate | None
    """Retransmitted segments of a trial."""
    send_buffer_bytes: Estimate | None
    """Send buffer in force, with the kernel's bookkeeping."""
    receive_buffer_bytes: Estimate | None
    """Receive buffer in force, likewise."""
    host_percent: Estimate | None
    """Busy time of the CPUs of host and guests, in percent, 100 = one CPU."""


class PublishedGoodput(Part):
    """Goodput by the length of messages, as a paper prints it."""

    placement: str
    """Placement of the ends."""
    transport: str
    """Transport."""
    buffers: str
    """Buffers of the sockets."""
    messages: str
    """Lengths of messages."""
    quantity: str
    """The quantity."""
    text: str
    """The number as it is printed."""
    setup: str
    """Platform or set-up of the paper."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class RouterRate(Placed):
    """Rate and loss of each router behind one uplink."""

    intended_mbps: Mbps | None
    """Intended load of each stream at layer 1; null for the flood."""
    received_fps: Estimate
    """Frames a second that a router forwards."""
    loss_ratio: Estimate
    """Share that it loses."""


class PublishedRate(Part):
    """The same as a paper prints it; a field is empty where it prints none."""

    setup: str
    """Platform or set-up of the paper."""
    guests: str
    """Number of routers."""
    packet_bytes: str
    """Length of IP packets."""
    frame_bytes: str
    """Length of the frames that carry them."""
    packets_per_s: str
    """Packets a second of a router."""
    loss_percent: str
    """Share that is lost, percent."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class TracedCell(Keyed):
    """The traced trials of a cell."""

    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""
    packets: Count
    """Packets that were followed to their end."""
    strayed: Count
    """Packets that passed no whole path: dropped, or gone elsewhere."""
    lost: Count
    """Packets whose marks another packet's overwrote."""
    hook_ns: float | None
    """Time that a hook itself takes."""
    added_ns: Estimate | None
    """Median delay or response time that tracing adds."""


class StageDelay(Keyed):
    """The delay of a stage of a host in one direction."""

    host: str | None
    """The host; null of unattributed."""
    direction: str
    """Direction of the packets."""
    stage: str
    """The stage; total for all, unattributed for what none of them has."""
    position: Count | None
    """Place among the stages; null of total and unattributed."""
    packets: Count
    """Packets behind it."""
    mean_ns: Estimate
    """Mean delay."""
    p50_ns: Estimate | None
    """Median of a typical repetition."""
    p90_ns: Estimate | None
    """Its quantile of 90%."""
    p99_ns: Estimate | None
    """Its quantile of 99%."""
    curve: list[Annotated[list[float], Field(min_length=2, max_length=2)]]
    """Delays in ns, each with the share of packets that took no longer."""


class PublishedStage(Part):
    """A stage in the text of a paper."""

    stage: str
    """The stage."""
    guests: str
    """Number of guests."""
    finding: str
    """Finding of the paper in words."""
    setup: str
    """Platform or set-up of the paper."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class PacketMoment(Placed):
    """A followed packet at a hook."""

    host: str | None
    """The host; null for a path over several."""
    path: str
    """Path of the packet."""
    packet: int
    """Number of the packet."""
    position: Count
    """Place of the hook on the path."""
    function: str
    """Function of the kernel that it was seen at."""
    interface: str
    """Interface that it was on."""
    stage: str | None
    """Stage that ends there; null at the first hook."""
    since_ns: int
    """Time since it was first seen."""
    took_ns: int
    """Time since the hook before."""


class PublishedMoment(Part):
    """A packet at a function, as the paper prints it."""

    direction: str
    """Direction of the packet."""
    function: str
    """Function of the kernel."""
    stage: str
    """Stage that ends there."""
    since_ns: float
    """Time since it was first seen."""
    took_ns: float
    """Time since the function before."""


class Rounds(Keyed):
    """The rounds of a cell, all its runs together."""

    recorded: Count
    """Recorded trials."""
    invalid: Count
    """Invalid trials among them."""
    suspect: Count
    """Suspect trials among them."""
    runs: Count
    """Runs with usable rounds."""
    rounds: Count
    """Rounds of all runs."""
    failed_ratio: Share | None
    """Share of the rounds that failed."""
    mean_ns: Estimate | None
    """Mean round, with its interval over the runs."""
    deviation_ns: float | None
    """Standard deviation of all rounds."""
    min_ns: float | None
    """Shortest round."""
    p50_ns: float | None
    """Median; rounds that failed count as longer than any other."""
    p90_ns: float | None
    """Quantile of 90%, likewise."""
    p99_ns: float | None
    """Quantile of 99%, likewise; null of too few rounds."""
    p999_ns: float | None
    """Quantile of 99.9%, likewise."""
    max_ns: float | None
    """Longest round."""
    wall_s: Estimate | None
    """Wall time of a run."""
    timed_ratio: Estimate | None
    """Share of it that was timed (matthews2009, section 4.1)."""
    reference: str | None
    """Platform that it is compared with; null where that was not measured."""
    dispersion: Estimate | None
    """Standard deviation within a run over that of the reference's runs, geometric mean."""
    dispersion_p: Share | None
    """Chance of one so far from 1 where both are the same."""


class PublishedRounds(Part):
    """Times of rounds as a paper prints them."""

    platform: str
    """Platform of the paper."""
    mean_us: str
    """Mean, µs."""
    stddev_us: str
    """Standard deviation, µs."""
    min_us: str
    """Shortest, µs."""
    max_us: str
    """Longest, µs."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class Artifact(Placed):
    """A timing artifact in a cell's runs."""

    reference: str | None
    """Platform that the runs were compared with; null where that was not measured."""
    sentence: str
    """The artifact in a sentence."""
    p_value: Share | None
    """Chance of it where there is none; null where there was too little to look for it."""


class Interference(Part):
    """A metric of a guest beside busy neighbours, as a ratio to that beside idle ones or none."""

    platform: str
    """Platform preset."""
    metric: str
    """The metric."""
    victim: str
    """Workload of the guest, with its setting."""
    aggressor: str
    """Behaviour of its neighbours."""
    reference: str
    """Neighbours of the other side: idle or none."""
    ratio: Estimate
    """The ratio."""
    bound_reason: str
    """Side of the ratio that is only a bound, and what bounded it; empty where none is."""


class NeighbourLoad(Part):
    """Means over the neighbours of a cell; null where their kind of traffic has no such number."""

    platform: str
    """Platform preset."""
    cell: str
    """Factors of the cell without its platform; all where there is no other."""
    offered_mbps: Estimate | None
    """Offered load at layer 1."""
    received_mbps: Estimate | None
    """Throughput at layer 1."""
    goodput_mbps: Estimate | None
    """Goodput."""
    latency_mean_ns: Estimate | None
    """Mean response time."""
    maximum_mbps: Estimate | None
    """Throughput while the guest is idle, by which its load is set."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""


class PublishedStress(Part):
    """The change of the maximum by a neighbour's load, as a paper prints it."""

    setup: str
    """Platform or set-up of the paper."""
    frame_bytes: str
    """Length of frames."""
    neighbour: str
    """Behaviour of the neighbour."""
    change_percent: str
    """Change, percent."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class PublishedTraffic(Part):
    """Offered and received load of a neighbour, as a paper prints them."""

    setup: str
    """Platform or set-up of the paper."""
    frame_bytes: str
    """Length of frames."""
    load_percent: str
    """Load of the neighbour, percent of its maximum."""
    offered_mbps: str
    """Offered load."""
    received_mbps: str
    """Throughput."""
    hardware: str
    """Hardware of the paper."""
    section: str
    """Section of the paper."""
    source: str
    """The paper."""


class VerdictCount(Part):
    """Trials of a platform with one verdict and one kind of reason; a trial with several counts under each."""

    platform: str
    """Platform preset."""
    verdict: str
    """The verdict."""
    reason: str
    """Kind of reason; empty for a clean trial."""
    trials: Count
    """Number of such trials."""


class CellVerdict(Keyed):
    """A cell's recorded trials by verdict."""

    level: Level
    """Level by which cells of the setting differ."""
    recorded: Count
    """Recorded trials."""
    suspect: Count
    """Suspect trials among them."""
    invalid: Count
    """Invalid trials among them."""
    left_out: Share
    """Share of the recorded trials that were invalid and so left out, 0 to 1."""
    usable: bool
    """True where any trial can be used."""


class Sentence(Part):
    """Cost of one platform in a sentence."""

    platform: str
    """Platform preset."""
    group: Literal["reference", "native", "emulated", "skipped"]
    """Group of the platform."""
    text: str
    """The sentence."""


class Caveat(Part):
    """A reason for care."""

    subject: str
    """Subject of the caveat: a platform, a cell or the campaign."""
    text: str
    """The caveat in a sentence."""


class Show(Document):
    """All numbers of a result that tables and figures have."""

    format_version: Literal[3] = 3
    """Version of the document's form."""
    provenance: Provenance
    """Description and progress of the campaign."""
    published: dict[str, list[dict[str, str]]]
    """Rows that the repeated paper prints, by table, as their CSV file has them."""
    throughput: list[Throughput]
    """Throughput by load."""
    maxima: list[Maximum]
    """Largest throughput over the loads."""
    percentiles: list[DelayPercentile]
    """One-way delay by load."""
    changes: list[MaximumChange]
    """Maxima against the reference."""
    costs: list[LoadCost]
    """Added delay and CPU time by load."""
    cpu: list[CpuUse]
    """CPU time by load and component."""
    ledger: list[CpuUse]
    """The CPU ledger by load."""
    losses: list[HopLoss]
    """Lost frames by load and hop."""
    precision: list[Reached]
    """Intervals that were to become narrow."""
    searches: list[SearchGoal]
    """Goals of searches."""
    sharing: Sharing
    """Guests that share a link and a host."""
    messages: list[MessageGoodput]
    """Goodput by the length of messages."""
    published_goodput: list[PublishedGoodput]
    """The same in the repeated paper."""
    routers: list[RouterRate]
    """Rates of routers behind one uplink."""
    published_routers: list[PublishedRate]
    """The same in the repeated paper."""
    traced: list[TracedCell]
    """Traced trials by cell."""
    stages: list[StageDelay]
    """Delay by stage."""
    published_stages: list[PublishedStage]
    """The same in the repeated paper."""
    packets: list[PacketMoment]
    """Followed packets, hook by hook."""
    published_packets: list[PublishedMoment]
    """The same in the repeated paper."""
    rounds: list[Rounds]
    """Rounds of runs by cell."""
    published_rounds: list[PublishedRounds]
    """The same in the repeated paper."""
    artifacts: list[Artifact]
    """Timing artifacts by cell."""
    interference: list[Interference]
    """Effects of neighbours on the guest."""
    neighbours: list[NeighbourLoad]
    """Traffic of the neighbours."""
    published_stress: list[PublishedStress]
    """Effects of neighbours' load in the repeated paper."""
    published_traffic: list[PublishedTraffic]
    """Neighbours' traffic in the repeated paper."""
    verdict_totals: dict[str, Count]
    """Trials by verdict."""
    verdicts: list[VerdictCount]
    """Trials by platform, verdict and reason."""
    cell_verdicts: list[CellVerdict]
    """Trials by cell and verdict."""
    sentences: list[Sentence]
    """The answer, a sentence a platform."""
    diagnosis: DiagnosedCells
    """Losses and their causes, as `vtax diagnose` has them."""
    caveats: list[Caveat]
    """Limits of the numbers, the gravest first."""
    cells: list[Cell]
    """Cells with their metrics."""
    added: dict[str, list[Added]]
    """Differences between cells and their references, by table."""
    claims: list[Claim]
    """Claims of the repeated paper, as `vtax claims` has them."""
