"""What became of the guest in a trial: it is the unit under test, so that whatever befell it is a result."""

from collections.abc import Iterator
from typing import Any

from vtax.campaign.surroundings import host_step_ns, stepped_ns
from vtax.campaign.trial import Measured
from vtax.campaign.verdict import Finding, Verdict
from vtax.platforms.console import telling_line


def guest_findings(measured: Measured) -> Iterator[Finding]:
    """What happened to the guest of a complete trial, in words; none of it is held against the trial."""
    if measured.guest is None:
        return
    before, after = measured.guest
    if not answers(after):
        yield Verdict.VALID, f"{ending(after, before)}: what it lost by that is a result"
        return
    for mac in sorted(_ready(before) - _ready(after)):
        yield Verdict.VALID, f"the guest lost its NIC {mac}: what it lost by that is a result"
    killed = (after["oom_kills"] or 0) - (before["oom_kills"] or 0)
    if killed:
        yield Verdict.VALID, f"the guest was out of memory and killed {killed} of its processes: a result"
    step_ns = stepped_ns(before["clock_offset_ns"], after["clock_offset_ns"])
    if step_ns and not host_step_ns(measured):
        yield (
            Verdict.VALID,
            f"the guest's clock was stepped by {step_ns / 1e9:+.3f} s: nothing is measured by it",
        )


def is_broken(measured: Measured) -> bool:
    """Whether the guest cannot serve another trial."""
    if measured.guest is None:
        return True
    before, after = measured.guest
    return not answers(after) or bool(_ready(before) - _ready(after))


def _ready(state: dict[str, Any]) -> set[str]:
    return {interface["mac"] for interface in state["interfaces"] if interface["ready"]}


def answers(state: dict[str, Any]) -> bool:
    """Whether a guest stands (Host.guest_state)."""
    return bool(state["condition"] == "answers")


def ending(state: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """How a guest that does not answer came to that, with the telling line of its console where that is new."""
    what = {"ended": "the guest died", "silent": "the guest hung"}
    words = what.get(state["condition"]) or f"the agent inside the guest {state['reason']}"
    line = telling_line(state["last_words"])
    old = telling_line(before["last_words"]) if before is not None else None
    return f"{words} ({line})" if line and line != old else words
