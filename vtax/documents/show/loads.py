"""Frames by their load: throughput, maxima, delay, CPU time, losses, searches, routers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vtax.documents.base import Bound, Count, Estimate, Nanoseconds, Part, Seconds, Share
from vtax.documents.show.rows import AtLoad, Mbps, Placed, Setting


class Throughput(AtLoad):
    """Throughput of a platform at one load, all streams together, at layer 1."""

    offered_mbps: Estimate
    """Offered load."""
    received_mbps: Estimate
    """Throughput."""
    received_fps: Estimate | None
    """The same in frames a second."""
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
    without_sink_mbps: Estimate | None
    """Most that it is where the sink takes none of the platform's CPUs; null where that is not known."""
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
    """The quantile in a typical repetition; null where it lies among the lost probes, or all sources were late."""
    samples: Count
    """Probes that arrived."""
    lost: Count
    """Probes that were lost, which count as later than any received one."""
    generator_limited: bool
    """True where the generator's ceiling set the load of a trial."""
    late: Count
    """Repetitions without such a quantile, since the source was as late as frames took from their departure on."""
    clock_error_ns: Nanoseconds
    """Error of the clocks' difference that the interval allows for."""


class Capacity(Placed):
    """The largest throughput over the loads within a loss goal, up to the least load that was not."""

    uut_context: str
    """Whose thread the unit under test ran in."""
    goal: str
    """Name of the goal: PDR or NDR."""
    loss_ratio: Share
    """Most that a load may lose."""
    maximum: Maximum | None
    """Largest throughput within the goal; null where the least load was beyond it."""
    received_fps: Estimate | None
    """The same in frames a second."""
    less_than_mbps: Mbps | None
    """Least load beyond the goal, as all streams together offered it; null where there was none."""
    frames_sent: Count | None
    """Frames of the trials of the load that carried most within the goal; null where that is not known."""
    frames_lost: Count | None
    """Those of them that were lost."""
    undecided: str | None
    """Reason why the losses at the next load are no bound: the machine paused; null where they are the platform's."""


class CapacityChange(Part):
    """The change of the partial drop rate against the reference."""

    platform: str
    """Platform preset."""
    reference: str
    """Platform that it is compared with."""
    setting: Setting
    """Levels that the table holds fixed."""
    emulated: bool
    """True where the platform's CPU is emulated."""
    capacity: Capacity
    """The platform's PDR."""
    reference_capacity: Capacity | None
    """The reference's; null where there is none."""
    change_percent: Estimate | None
    """Change in percent, negative where the platform carries less."""
    bounded_by: str
    """Sides that are bounds, and what bounded them; empty where none is."""
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


class RouterRate(Placed):
    """Rate and loss of each router behind one uplink."""

    intended_mbps: Mbps | None
    """Intended load of each stream at layer 1; null for the flood."""
    received_fps: Estimate
    """Frames a second that a router forwards."""
    loss_ratio: Estimate
    """Share that it loses."""
