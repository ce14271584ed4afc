"""A campaign's platforms, and which of them each is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

RAW = "raw"
EMULATED_LABEL = "Emulated CPU: compared only with each other, never a hypervisor's cost"


@dataclass(frozen=True)
class Platform:
    """A platform of the campaign. Emulated ones form a group of their own in every view."""

    name: str
    title: str
    kind: str
    accelerator: str
    emulated: bool
    skipped_reason: str | None
    skipped_remedy: str | None
    facts: dict[str, JsonValue] = field(default_factory=dict)


def references(platforms: Sequence[Platform]) -> dict[str, str]:
    """The reference of each platform that has one: `raw`, or the first of the emulated group where raw is not of it."""
    emulated = [platform.name for platform in platforms if platform.emulated and not platform.skipped_reason]
    native = [
        platform.name for platform in platforms if not platform.emulated and not platform.skipped_reason
    ]
    pairs = {name: RAW for name in native if name != RAW}
    first = RAW if RAW in emulated else next(iter(emulated), None)
    return pairs | {name: first for name in emulated if first is not None and name != first}
