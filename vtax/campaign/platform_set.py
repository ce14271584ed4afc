"""The platforms of a campaign on this machine: resolved against presets, probed, and those set aside with a reason."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vtax.inputs import InputError
from vtax.platforms import PlatformConfig, PlatformUnusable, Preset, Probe, presets
from vtax.scenario import Cell, Scenario


@dataclass
class PlatformSet:
    """Presets by name, what probing them showed, and the unusable ones."""

    known: dict[str, Preset]
    probes: dict[str, Probe] = field(default_factory=dict)
    skipped: dict[str, PlatformUnusable] = field(default_factory=dict)

    def config(self, cell: Cell) -> PlatformConfig:
        """The platform's keys for a cell."""
        return self.known[cell.platform].resolve(cell.platform_overrides)

    def as_json(self) -> dict[str, Any]:
        """For campaign.json."""
        document: dict[str, Any] = {}
        for name, preset in self.known.items():
            skipped, probe = self.skipped.get(name), self.probes.get(name)
            document[name] = {
                "title": preset.title,
                "kind": preset.kind,
                "accelerator": probe.accelerator if probe else None,
                "emulated": probe.emulated if probe else None,
                "facts": probe.facts if probe else {},
                "skipped": {"reason": skipped.reason, "remedy": skipped.remedy} if skipped else None,
            }
        return document


def resolve(scenario: Scenario, cells: Iterable[Cell]) -> PlatformSet:
    """Check every cell's platform and its keys against the presets; raises InputError. Touches nothing."""
    available = presets()
    chosen: dict[str, Preset] = {}
    for cell in cells:
        preset = available.get(cell.platform)
        if preset is None:
            where = scenario.where("factors", "platform")
            raise InputError(
                f"{where}: unknown platform {cell.platform!r}; there are: {', '.join(available)}"
            )
        preset.resolve(cell.platform_overrides)
        chosen[preset.name] = preset
    return PlatformSet(chosen)


def probe(platforms: PlatformSet, cells: Iterable[Cell]) -> None:
    """Prepare each platform; what cannot run here is set aside with reason and remedy."""
    for cell in cells:
        name = cell.platform
        if name in platforms.probes or name in platforms.skipped:
            continue
        try:
            platforms.probes[name] = platforms.known[name].platform().prepare(platforms.config(cell))
        except PlatformUnusable as unusable:
            platforms.skipped[name] = unusable
