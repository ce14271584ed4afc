"""What of a campaign as a whole limits what its numbers say."""

from __future__ import annotations

from vtax.model.platform import EMULATED_LABEL, RAW
from vtax.results import text
from vtax.results.own_files import hashes, said_alike
from vtax.views.caveats.caveat import Caveat
from vtax.views.provenance import Provenance


def incomplete(provenance: Provenance) -> list[Caveat]:
    """An unfinished campaign."""
    if provenance.status == "complete":
        return []
    return [
        Caveat(
            f"Campaign is {provenance.status}",
            f"{provenance.progress.replace('trials measured', 'trials are measured')}. "
            "Missing cells have not been measured yet.",
        )
    ]


def damaged(provenance: Provenance) -> list[Caveat]:
    """Files that could not be read, and results of other versions."""
    return [Caveat("Damaged data", f"{damage}.") for damage in provenance.damaged] + [
        Caveat("Result of another version", f"{note}.") for note in provenance.notes
    ]


def skipped(provenance: Provenance) -> list[Caveat]:
    """Platforms that do not run here."""
    return [
        Caveat(
            f"{platform.name} was skipped",
            platform.skipped_reason
            + (f" Remedy: {platform.skipped_remedy}" if platform.skipped_remedy else ""),
        )
        for platform in provenance.platforms
        if platform.skipped_reason
    ]


def emulated(provenance: Provenance) -> list[Caveat]:
    """Platforms whose CPU is emulated."""
    names = [platform.name for platform in provenance.platforms if platform.emulated]
    return [Caveat(", ".join(names), f"{EMULATED_LABEL}.")] if names else []


def same_files(provenance: Provenance) -> list[Caveat]:
    """Files of the user's own that are one under several names."""
    told = (said_alike(hashes(platform.facts.get("facts"))) for platform in provenance.platforms)
    return [Caveat("Same file", f"{said}.") for each in dict.fromkeys(map(tuple, told)) for said in each]


def shared_core(provenance: Provenance) -> list[Caveat]:
    """Too few CPUs."""
    if not provenance.shared_core:
        return []
    return [
        Caveat(
            "Shared cores",
            "This machine has fewer CPUs than the layout needs: host and guest share a core and compete for it. "
            "Compare platforms on this machine only; absolute values do not transfer to other machines.",
        )
    ]


def no_reference(provenance: Provenance, measured: set[str]) -> list[Caveat]:
    """No bare host to compare with."""
    native = {platform.name for platform in provenance.platforms if not platform.emulated}
    if RAW in measured or not native & measured:
        return []
    return [Caveat("No reference", f"{RAW} has no usable trial: costs against it cannot be computed.")]


def adaptive(provenance: Provenance) -> list[Caveat]:
    """Repetitions by a target of precision, or until rules were decided."""
    if not provenance.adaptive:
        return []
    return [
        Caveat(
            f"Repetitions chosen by {'precision' if provenance.precision else 'rules'}",
            "All 95% intervals are confidence sequences: valid at any stopping time, and wider than Student's. "
            "The interval of a maximum is corrected for selection of the load; its estimate is the largest.",
        )
    ]


def environment(provenance: Provenance) -> list[Caveat]:
    """Machines that changed meanwhile."""
    hosts: dict[str, int] = {}
    for environment in provenance.environments:
        host = text(environment["host"])
        hosts[host] = hosts.get(host, 0) + 1
    return [
        Caveat(
            f"The environment of {host} changed",
            f"Trials ran in {count} different environments, listed below; the means pool their values.",
        )
        for host, count in hosts.items()
        if count > 1
    ]
