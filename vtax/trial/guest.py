"""What became of the guest in a trial: it is the unit under test, so that whatever befell it is a result."""

from collections.abc import Iterator

from vtax.platforms.console import telling_line
from vtax.testbed.guest import GUEST, is_neighbour
from vtax.testbed.guest_state import GuestState
from vtax.trial.interference import host_step_ns, hosts_with_other_netfilter, stepped_ns
from vtax.trial.observed import Observed
from vtax.trial.verdict import Finding, Verdict


def guest_findings(measured: Observed) -> Iterator[Finding]:
    """What happened to the guests of a complete trial, in words; none of it is held against the trial.

    But an agent that does not report its guest's state cannot be believed, and neighbours are a part of the trial.
    """
    for name, (before, after) in measured.guests.items():
        if is_neighbour(name):
            yield from _fell_out(name, before, after)
            continue
        if after.condition == "misreports":
            yield Verdict.INVALID, ending(after, before, called(name))
            continue
        for happened in _befell(called(name), before, after, host_step_ns(measured)):
            yield Verdict.VALID, happened


def _befell(guest: str, before: GuestState, after: GuestState, host_step: int) -> Iterator[str]:
    if not after.answers:
        yield f"{ending(after, before, guest)}: its losses are a result"
        return
    for mac in sorted(before.ready_macs - after.ready_macs):
        yield f"{guest} lost its NIC {mac}: its losses are a result"
    killed = (after.oom_kills or 0) - (before.oom_kills or 0)
    if killed:
        yield f"{guest} ran out of memory and killed {killed} of its processes: a result"
    step_ns = stepped_ns(before.clock_offset_ns, after.clock_offset_ns)
    if step_ns and not host_step:
        yield f"{guest}'s clock was stepped by {step_ns / 1e9:+.3f} s: no measurement uses it"


def _fell_out(neighbour: str, before: GuestState, after: GuestState) -> Iterator[Finding]:
    """Why a trial had no such neighbour to its end."""
    if not after.answers:
        yield (
            Verdict.INVALID,
            f"{ending(after, before, neighbour)}: the trial does not show the guest's performance",
        )
    elif (after.oom_kills or 0) > (before.oom_kills or 0):
        yield Verdict.INVALID, f"{neighbour} ran out of memory and killed its own load"


def called(name: str) -> str:
    """A guest in words: the only one has no number."""
    return "the guest" if name == GUEST else name


def is_broken(measured: Observed) -> bool:
    """Whether the instrument, a host or a guest cannot serve another trial."""
    if measured.failure is not None or not measured.guests or hosts_with_other_netfilter(measured):
        return True
    return any(
        not after.answers or bool(before.ready_macs - after.ready_macs)
        for before, after in measured.guests.values()
    )


def ending(state: GuestState, before: GuestState | None = None, guest: str = "the guest") -> str:
    """How a guest that does not answer came to that, with the telling line of its console where that is new."""
    what = {"ended": f"{guest} died", "silent": f"{guest} hung"}
    words = what.get(state.condition) or f"the agent inside {guest} {state.reason}"
    line = telling_line(state.last_words)
    old = telling_line(before.last_words) if before is not None else None
    return f"{words} ({line})" if line and line != old else words
