"""Where the numbers come from, what limits them, and the answer in sentences."""

from __future__ import annotations

from typing import Literal

from vtax.documents.base import Count, Part, Share
from vtax.documents.show.rows import Keyed, Level, Shape


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


class Speed(Part):
    """Steadiness of a CPU of a machine, by the fixed work around trials (table `canary`)."""

    host: str | None
    """Host that has it; null where unknown."""
    cpu: Count | None
    """Number of the CPU; null where unknown."""
    chain: float | None
    """Spread of multiplications that wait for each other: the slowest tenth of readings over the fastest."""
    parallel: float | None
    """Spread of additions that need nothing of each other."""
    frame: float | None
    """Spread of frames through the kernel."""
    drift: float | None
    """Median of the multiplications in the last third of the campaign over that in the first."""


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
    ab: Shape
    """Key `ab` of the scenario; empty where it has none."""
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
    speeds: list[Speed]
    """Steadiness of the unit under test's CPUs, one entry a CPU with readings enough."""
    damaged: list[str]
    """Parts of the result that could not be read, each in a sentence."""
    notes: list[str]
    """Notes on how the result was read."""


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
