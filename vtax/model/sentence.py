"""Sentences that state what a platform costs, and their parts: an interval with its n, the trials left out."""

from __future__ import annotations

from dataclasses import dataclass

from vtax.model import numbers
from vtax.model.estimate import Estimate
from vtax.model.platform import RAW, Platform


@dataclass(frozen=True)
class Sentence:
    """What one platform costs. `group` is reference, native, emulated or skipped."""

    platform: str
    group: str
    text: str


def group_of(platform: Platform) -> str:
    """The group that a platform's sentence stands in."""
    if platform.skipped_reason:
        return "skipped"
    return "emulated" if platform.emulated else "reference" if platform.name == RAW else "native"


def sentence_of(platform: Platform, text: str) -> Sentence:
    """Return the sentence of a platform's that has this text."""
    return Sentence(platform.name, group_of(platform), text)


def without_trials(platform: Platform) -> Sentence:
    """Of a platform that shows nothing, and why."""
    text = "has no usable trial yet"
    if platform.skipped_reason:
        reasons = [part.rstrip(". ") for part in (platform.skipped_reason, platform.skipped_remedy) if part]
        text = f"was skipped: {'. '.join(reasons)}"
    return sentence_of(platform, f"{text}.")


def bracket(estimate: Estimate, form: numbers.Format, note: str = "") -> str:
    """An estimate's interval and n, in brackets behind its value."""
    words = numbers.interval_words(estimate, form)
    if estimate.points:
        return f"({words}{note})"
    if not estimate.has_interval:
        return f"(n = {estimate.n}, {words}{note})"
    apart = f", {estimate.apart} of which apart" if estimate.apart else ""
    return f"({words}, n = {estimate.n}{apart}{note})"


def listed(parts: list[str]) -> str:
    """Clauses in a row."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def left_out_words(share: float) -> str:
    """The share of trials left out."""
    return f"{numbers.share(share)} of these trials left out as invalid" if share else "no trial left out"
