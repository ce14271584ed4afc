"""What is not to be trusted in a result, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vtax.views import numbers
from vtax.views.cells import LINK_LIMITED, Limit
from vtax.views.echoes import Echoes
from vtax.views.efficiency import Efficiency
from vtax.views.estimate import Estimate
from vtax.views.goodput import Goodput
from vtax.views.link_share import LINK_FULL
from vtax.views.precision import Reached
from vtax.views.provenance import Provenance
from vtax.views.responses import Responses
from vtax.views.rounds import Rounds
from vtax.views.stages import TracedCell
from vtax.views.tax import EMULATED_LABEL, RAW
from vtax.views.throughput import Maximum, Throughput
from vtax.views.verdicts import CellVerdict, VerdictCount

NAMED_AT_MOST = 6
"""Cells that are named one by one before the rest is only counted."""

GUEST_DIED = re.compile(r"(the guest|guest\d+) died")
"""How the reason of a trial begins of which a guest died, which is a result and no fault of the trial."""


@dataclass(frozen=True)
class Caveat:
    """A reason for care: what is affected, and why."""

    subject: str
    text: str


def caveats(
    provenance: Provenance,
    throughput: Sequence[Throughput],
    found: Sequence[Maximum],
    verdicts: Sequence[VerdictCount],
    cells: Sequence[CellVerdict],
    reached: Sequence[Reached],
    streamed: Sequence[Goodput],
    efficiency: Sequence[Efficiency],
    timed: Sequence[Echoes | Responses | Rounds],
    traced: Sequence[TracedCell],
) -> list[Caveat]:
    """Everything that limits what the numbers say, the gravest first."""
    rates = [
        *(row.received_mbps for row in throughput),
        *(row.aggregate_mbps for row in streamed),
        *(row.mean_ns for row in timed if row.mean_ns is not None),
    ]
    measured = {
        *(row.platform for row in throughput),
        *(row.platform for row in streamed),
        *(row.platform for row in timed if row.is_usable),
    }
    return [
        *_incomplete(provenance),
        *_damaged(provenance),
        *_skipped(provenance),
        *_unusable(verdicts, cells),
        *_emulated(provenance),
        *_shared_core(provenance),
        *_guest_deaths(verdicts),
        *_generator_limited(throughput),
        *_link_limited(throughput),
        *_link_full(streamed),
        *_far_end_busy(streamed),
        *_highest_load_carried(found),
        *_traced(traced),
        *([] if provenance.search else _few_repetitions(rates)),
        *_adaptive(provenance),
        *_wide(reached),
        *_no_reference(provenance, measured),
        *_no_efficiency(efficiency),
        *_suspect(verdicts),
        *_left_out(cells),
        *_environment(provenance),
        Caveat(
            "Many comparisons",
            "The intervals are not corrected for being many: about one in twenty misses its true value.",
        ),
    ]


def _incomplete(provenance: Provenance) -> list[Caveat]:
    if provenance.status == "complete":
        return []
    return [
        Caveat(
            f"Campaign is {provenance.status}",
            f"{provenance.progress.replace('trials measured', 'trials are measured')}. "
            "Cells that are missing here are not measured yet.",
        )
    ]


def _damaged(provenance: Provenance) -> list[Caveat]:
    return [Caveat("Damaged data", f"{damage}.") for damage in provenance.damaged] + [
        Caveat("Another version's result", f"{note}.") for note in provenance.notes
    ]


def _skipped(provenance: Provenance) -> list[Caveat]:
    return [
        Caveat(
            f"{platform.name} was skipped",
            platform.skipped_reason
            + (f" Remedy: {platform.skipped_remedy}" if platform.skipped_remedy else ""),
        )
        for platform in provenance.platforms
        if platform.skipped_reason
    ]


def _unusable(verdicts: Sequence[VerdictCount], cells: Sequence[CellVerdict]) -> list[Caveat]:
    unusable = [cell for cell in cells if not cell.usable]
    if not unusable:
        return []
    platforms = {cell.platform for cell in unusable}
    reasons = {row.reason for row in verdicts if row.verdict == "invalid" and row.platform in platforms}
    return [
        Caveat(
            f"{_cells(len(unusable))} without a usable trial",
            f"{_named(unusable)}. Reasons given: {'; '.join(sorted(reasons - {''})) or 'none'}.",
        )
    ]


def _emulated(provenance: Provenance) -> list[Caveat]:
    names = [platform.name for platform in provenance.platforms if platform.emulated]
    return [Caveat(", ".join(names), f"{EMULATED_LABEL}.")] if names else []


def _shared_core(provenance: Provenance) -> list[Caveat]:
    if not provenance.shared_core:
        return []
    return [
        Caveat(
            "Shared cores",
            "This machine has fewer CPUs than the layout asks for, so that host and guest share a core and "
            "what one takes the other lacks. Compare platforms here, and take no absolute value for another "
            "machine's.",
        )
    ]


def _generator_limited(throughput: Sequence[Throughput]) -> list[Caveat]:
    limited = [row for row in throughput if row.generator_limited]
    if not limited:
        return []
    return [
        Caveat(
            f"{_cells(len(limited))} at the generator's ceiling",
            "There the generator, not the platform, set the load: drawn hollow. Where the platform carried it "
            "in full, the value is a lower bound of what it can carry: marked ≥.",
        )
    ]


def _link_limited(throughput: Sequence[Throughput]) -> list[Caveat]:
    limited = [row for row in throughput if LINK_LIMITED in row.marks]
    if not limited:
        return []
    return [
        Caveat(
            f"{_cells(len(limited))} at the link's rate",
            "There the link, not the platform, set the load. Where the platform carried it in full, a faster "
            "link might show more, and the value is a lower bound: marked ≥.",
        )
    ]


def _link_full(streamed: Sequence[Goodput]) -> list[Caveat]:
    full = [row for row in streamed if row.fills_link]
    if not full:
        return []
    return [
        Caveat(
            f"{_cells(len(full))} with a full link",
            f"There the guests' goodput is at least {LINK_FULL:.0%} of what the link carries. A ratio of 1 to "
            "another's shows no cost at this rate; a faster link might show one.",
        )
    ]


def _far_end_busy(streamed: Sequence[Goodput]) -> list[Caveat]:
    bounded = [row for row in streamed if row.lower_bound]
    if not bounded:
        return []
    return [
        Caveat(
            f"{_cells(len(bounded))} at what the far ends can do",
            "There the CPU of the far ends was busy all the time, and the link not full: the instrument, not the "
            "guests, may have set the goodput, which is a lower bound, marked ≥ and drawn hollow. Ratios of such "
            "values bound nothing.",
        )
    ]


def _highest_load_carried(found: Sequence[Maximum]) -> list[Caveat]:
    carried = [maximum for maximum in found if maximum.limit is Limit.OFFERED]
    if not carried:
        return []
    return [
        Caveat(
            f"{len(carried)} maxim{'um' if len(carried) == 1 else 'a'} at the highest load offered",
            "The platform carried in full all that was offered, so that it might carry more: marked ≥. Higher "
            "loads would show its limit.",
        )
    ]


def _traced(traced: Sequence[TracedCell]) -> list[Caveat]:
    if not traced:
        return []
    known = [cell.hook_ns for cell in traced if cell.hook_ns is not None]
    cost = f", about {max(known):.0f} ns a packet at each hook" if known else ""
    added = [cell.added_ns for cell in traced if cell.added_ns is not None]
    most = max(added, key=lambda each: each.value, default=None)
    form = numbers.signed(numbers.microseconds)
    more = (
        f" It added at most {form(most.value)} {numbers.bracket(most, form)} µs to a median." if most else ""
    )
    lost = sum(cell.lost for cell in traced)
    unseen = f" {lost} packets were lost sight of and are in no stage." if lost else ""
    return [
        Caveat(
            f"Packets were followed in {_cells(len(traced))}",
            f"That takes time{cost}, which is in the stages; nothing else is told of these trials.{more}{unseen}",
        )
    ]


def _guest_deaths(verdicts: Sequence[VerdictCount]) -> list[Caveat]:
    died = [row for row in verdicts if row.verdict != "invalid" and GUEST_DIED.match(row.reason)]
    if not died:
        return []
    trials = sum(row.trials for row in died)
    platforms = ", ".join(dict.fromkeys(row.platform for row in died))
    return [
        Caveat(
            f"A guest died in {trials} trial{'' if trials == 1 else 's'} (platform {platforms})",
            "What was lost by it is in the means.",
        )
    ]


def _few_repetitions(rates: Sequence[Estimate]) -> list[Caveat]:
    single = [rate for rate in rates if rate.n < 2]
    if not single:
        return []
    return [
        Caveat(
            f"{_cells(len(single))} with n=1",
            "One usable repetition gives no interval, so that no difference can be told from chance there.",
        )
    ]


def _adaptive(provenance: Provenance) -> list[Caveat]:
    if not provenance.precision:
        return []
    return [
        Caveat(
            "Repetitions as the values asked for",
            "All 95% intervals are confidence sequences: they hold whenever one stops, and are wider than Student's. "
            "An interval of the maximum allows for picking the load; its estimate is the largest mean.",
        )
    ]


def _wide(reached: Sequence[Reached]) -> list[Caveat]:
    wide = [row for row in reached if not row.reached]
    if not wide:
        return []
    return [
        Caveat(
            f"{len(wide)} of {len(reached)} intervals wider than asked for",
            "Their repetitions or the budget ended before: see the table Precision.",
        )
    ]


def _no_reference(provenance: Provenance, measured: set[str]) -> list[Caveat]:
    native = {platform.name for platform in provenance.platforms if not platform.emulated}
    if RAW in measured or not native & measured:
        return []
    return [Caveat("No reference", f"{RAW} has no usable trial, so that no cost against it can be given.")]


def _no_efficiency(efficiency: Sequence[Efficiency]) -> list[Caveat]:
    problems = [row.problem for row in efficiency if row.problem]
    if not problems:
        return []
    return [
        Caveat(f"{_cells(len(problems))} without an efficiency", f"{'; '.join(dict.fromkeys(problems))}.")
    ]


def _suspect(verdicts: Sequence[VerdictCount]) -> list[Caveat]:
    reasons: dict[str, int] = {}
    for row in verdicts:
        if row.verdict == "suspect" and not GUEST_DIED.match(row.reason):
            reasons[row.reason] = reasons.get(row.reason, 0) + row.trials
    if not reasons:
        return []
    listed = "; ".join(f"{trials}× {reason or 'no reason given'}" for reason, trials in reasons.items())
    return [Caveat("Suspect trials are in the means", f"{listed}.")]


def _left_out(cells: Sequence[CellVerdict]) -> list[Caveat]:
    affected = [cell for cell in cells if cell.usable and cell.invalid]
    if not affected:
        return []
    worst = max(affected, key=lambda cell: cell.left_out)
    return [
        Caveat(
            f"Invalid trials left out of {_cells(len(affected))}",
            f"At most {numbers.share(worst.left_out)} of a cell's trials ({worst.name}).",
        )
    ]


def _environment(provenance: Provenance) -> list[Caveat]:
    hosts: dict[str, int] = {}
    for environment in provenance.environments:
        hosts[environment["host"]] = hosts.get(environment["host"], 0) + 1
    return [
        Caveat(
            f"The environment of {host} changed",
            f"Trials ran in {count} different environments, which are listed below; their values are pooled.",
        )
        for host, count in hosts.items()
        if count > 1
    ]


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _named(cells: Sequence[CellVerdict]) -> str:
    names = [cell.name for cell in cells[:NAMED_AT_MOST]]
    rest = len(cells) - len(names)
    return "; ".join(names) + (f"; and {rest} more" if rest else "")
