"""What the machine and others did to a trial: CPU time stolen, taken, withheld; a clock stepped, netfilter set."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from vtax.machine import cpu
from vtax.machine.bridge_netfilter import in_words, is_other
from vtax.testbed.cpu_time import guests_between
from vtax.trial.observed import Observed
from vtax.trial.verdict import Finding, Verdict, graded

STOLEN = "CPU time stolen from the UUT by the hypervisor below"
STEAL_SUSPECT, STEAL_INVALID = 0.02, 0.10
"""Share of the UUT's CPU time that the machine below took for certain."""
TAKEN = "CPU time taken from"
TAKEN_SUSPECT, TAKEN_INVALID = 0.05, 0.10
"""Share of the UUT's CPU time, or of the far end's, that other processes took."""
THROTTLED = "threads held back by the CPU quota of cgroup"
THROTTLED_SUSPECT, THROTTLED_INVALID = 0.01, 0.10
"""Share of a trial, in time of one CPU, that a quota held threads of vtax or of guests back."""
PAUSED = "CPUs of the UUT were paused"
PAUSED_SUSPECT, PAUSED_INVALID = 0.05, 0.10
"""Share of the samples of the UUT's CPUs that were 0.1 ms late or more, or missed meanwhile."""
CLOCK_STEP_NS = 100_000_000
"""Time of day that moved this far against the monotonic clock was stepped."""


def interference_findings(measured: Observed) -> Iterator[Finding]:
    """Findings on what else went on around a complete trial."""
    yield from _stolen(measured)
    yield from taken_findings(measured, measured.cpu[1]["idle_s"] if measured.cpu else (), "the UUT")
    yield from _throttled(measured)
    yield from _paused(measured)
    yield from _clock(measured)
    for host in hosts_with_other_netfilter(measured):
        yield (
            Verdict.INVALID,
            f"bridges of {host} {in_words(measured.bridge_netfilter[host])}, against testbed.bridge_netfilter: "
            "another program loaded br_netfilter or set it",
        )


def hosts_with_other_netfilter(measured: Observed) -> list[str]:
    """Return the hosts whose bridges did otherwise than the cell asks for at the trial's end."""
    wanted = measured.cell.testbed.bridge_netfilter
    return [host for host, found in measured.bridge_netfilter.items() if is_other(found, wanted)]


def stepped_ns(before: int, after: int) -> int:
    """By how much a clock was stepped between two offsets; 0 for what reading them may differ."""
    return after - before if abs(after - before) > CLOCK_STEP_NS else 0


def host_step_ns(measured: Observed) -> int:
    """By how much the host's clock was stepped in a trial."""
    if measured.interference is None:
        return 0
    before, after = measured.interference
    return stepped_ns(before["clock_offset_ns"], after["clock_offset_ns"])


def _stolen(measured: Observed) -> Iterator[Finding]:
    if measured.cpu is None:
        return
    before, after = measured.cpu
    # The first tick that a counter shows may have been stolen before the trial, all but a moment of it.
    stolen_s = sum(
        max(0.0, after["steal_s"][number] - stolen_before_s - cpu.TICK_S)
        for number, stolen_before_s in before["steal_s"].items()
    )
    elapsed_s = after["at_s"] - before["at_s"]
    # Where the machine below is a hypervisor that runs the guests, it took their time for them.
    stolen_s -= elapsed_s * sum(guests_between(before, after).values())
    share = max(0.0, stolen_s) / (elapsed_s * max(1, len(before["steal_s"])))
    yield from graded(share, STEAL_SUSPECT, STEAL_INVALID, STOLEN)


def taken_findings(measured: Observed, cpus: Collection[int], whose: str) -> Iterator[Finding]:
    """What other processes took of the CPUs that are somebody's."""
    if measured.interference is None:
        return
    before, after = measured.interference
    taken_s = {
        process: used["cpu_s"] - before["others"].get(process, {"cpu_s": 0.0})["cpu_s"]
        for process, used in after["others"].items()
        if used["cpu"] in cpus
    }
    if not taken_s:
        return
    available_s = (after["at_s"] - before["at_s"]) * len(cpus)
    most = after["others"][max(taken_s, key=lambda process: taken_s[process])]
    what = f"{TAKEN} {whose} by other processes, most by {most['name']} (process {most['pid']})"
    yield from graded(sum(taken_s.values()) / available_s, TAKEN_SUSPECT, TAKEN_INVALID, what)


def throttled_s(measured: Observed) -> dict[str, float]:
    """Return how long quotas held threads back in a trial, by cgroup; one that is new by its end had held none."""
    if measured.interference is None:
        return {}
    before, after = (activity["throttled_s"] for activity in measured.interference)
    return {group: held_s - before.get(group, 0.0) for group, held_s in after.items()}


def _throttled(measured: Observed) -> Iterator[Finding]:
    held_s = throttled_s(measured)
    if measured.interference is None or not held_s:
        return
    before, after = measured.interference
    most = max(held_s, key=lambda group: held_s[group])
    what = f"{THROTTLED} {most}"
    yield from graded(
        held_s[most] / (after["at_s"] - before["at_s"]), THROTTLED_SUSPECT, THROTTLED_INVALID, what
    )


@dataclass(frozen=True)
class SamplePauses:
    """What the samples of CPUs show of pauses: times in which a CPU took no interrupt for 0.1 ms or more."""

    share: float
    """Samples that were due in a pause, of all that were taken or missed by one."""
    latest_ns: int
    """How late the latest sample was, pause or not."""


def uut_pauses(measured: Observed) -> SamplePauses | None:
    """Return the pauses of the CPUs of the UUT's host; None where these had no sample, as idle CPUs may not."""
    if measured.sampled is None or measured.cpu is None:
        return None
    uut = [sampled for sampled in measured.sampled.cpus if sampled.cpu in measured.cpu[1]["idle_s"]]
    missed = sum(sampled.missed for sampled in uut)
    due = missed + sum(sampled.taken for sampled in uut)
    if not due:
        return None
    paused = missed + sum(sampled.paused for sampled in uut)
    return SamplePauses(paused / due, max(sampled.latest_ns for sampled in uut))


def _paused(measured: Observed) -> Iterator[Finding]:
    if (pauses := uut_pauses(measured)) is not None:
        what = f"{PAUSED}: for up to {pauses.latest_ns / 1e6:.1f} ms at a time; of their samples"
        yield from graded(pauses.share, PAUSED_SUSPECT, PAUSED_INVALID, what)


def _clock(measured: Observed) -> Iterator[Finding]:
    if step_ns := host_step_ns(measured):
        yield (
            Verdict.SUSPECT,
            f"the host's clock was stepped by {step_ns / 1e9:+.3f} s: times of day are off, rates and delays are not",
        )
