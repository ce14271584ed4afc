"""The platforms of a campaign on this machine: resolved against presets, probed, and those set aside with a reason."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from vtax.inputs import InputError, advised, suggestion
from vtax.inputs.own_file import FoundFile, short
from vtax.keys.cell import Cell
from vtax.keys.fields import Scalar
from vtax.machine.emulation import MOST_GUESTS
from vtax.platforms import Fact, PlatformConfig, PlatformUnusable, Preset, Probe, presets
from vtax.results.own_files import FILES, SHA256, said_alike
from vtax.scenario import Scenario
from vtax.testbed.machines import Machine, Machines
from vtax.testbed.ports import require_meeting


@dataclass
class PlatformSet:
    """Presets by name, what probing them showed, and the unusable ones."""

    known: dict[str, Preset]
    probes: dict[str, Probe] = field(default_factory=dict)
    """Of each usable platform, as its first usable cell has it."""
    variants: dict[tuple[str, PlatformConfig], Probe | PlatformUnusable] = field(default_factory=dict)
    """Of each set of keys that a cell has."""
    skipped: dict[str, PlatformUnusable] = field(default_factory=dict)
    switches: dict[str, dict[str, str] | PlatformUnusable] = field(default_factory=dict)
    """What looking for each switch that guests' NICs meet the host at showed: facts, or why there is none."""
    refused: dict[str, PlatformUnusable] = field(default_factory=dict)
    """Cells by their keys whose frames the platform's kernel cannot forward, or whose keys cannot be had here."""
    files: dict[str, dict[tuple[str, str], FoundFile]] = field(default_factory=dict)
    """The files of the user's own that guests start from: by the platform, then by key and named path."""

    def stated(self, cell: Cell) -> PlatformConfig:
        """The platform's keys for a cell, as the scenario has them."""
        return self.known[cell.platform].resolve(self._overrides(cell))

    def config(self, cell: Cell) -> PlatformConfig:
        """The platform's keys for a cell, with its files of the user's own as they were found."""
        config = self.stated(cell)
        found = self.files.get(cell.platform)
        return config.with_files({at[0]: found[at] for at in config.own_files.items()}) if found else config

    def probe_of(self, cell: Cell) -> Probe:
        """What probing showed of a cell's platform with the cell's keys."""
        probe = self.variants[cell.platform, self.config(cell)]
        assert isinstance(probe, Probe)  # noqa: S101 - no other cell is measured
        return probe

    def facts(self, name: str) -> dict[str, JsonValue]:
        """What probes state of a platform; a list, in the order of the cells, where cells differ."""
        stated: dict[str, list[JsonValue]] = {}
        for (platform, _), probe in self.variants.items():
            if platform == name and isinstance(probe, Probe):
                for fact, told in probe.facts.items():
                    value: JsonValue = told if told is None or isinstance(told, str | int) else [*told]
                    values = stated.setdefault(fact, [])
                    if value not in values:
                        values.append(value)
        facts = {fact: values[0] if len(values) == 1 else values for fact, values in stated.items()}
        return facts | ({FILES: self._file_facts(name)} if name in self.files else {})

    @property
    def file_notes(self) -> list[str]:
        """Which files of the user's own are one, under several names."""
        found = {named: file.sha256 for files in self.files.values() for (_, named), file in files.items()}
        return said_alike(found)

    def _file_facts(self, name: str) -> dict[str, JsonValue]:
        """What is known of a platform's files of the user's own, by the path that was named."""
        versions: dict[str, Fact] = {}
        for (platform, config), probe in self.variants.items():
            if platform == name and isinstance(probe, Probe):
                for key, path in config.own_files.items():
                    versions[path] = probe.facts.get(config.file_keys()[key].states or "")
        facts: dict[str, JsonValue] = {}
        for (_, named), file in self.files[name].items():
            version = versions.get(file.path)
            facts[named] = {SHA256: file.sha256, **({"version": str(version)} if version else {})}
        return facts

    def usable(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those of the cells that can be measured here."""
        return [cell for cell in cells if cell.platform in self.probes and cell.key not in self.refused]

    def reasons(self, cells: Iterable[Cell]) -> dict[str, str]:
        """Why the other cells cannot be, by their keys, each with what makes it possible."""
        found = {cell.key: self.refused.get(cell.key) or self.skipped.get(cell.platform) for cell in cells}
        return {key: str(unusable) for key, unusable in found.items() if unusable is not None}

    def check(self, scenario: Scenario, cell: Cell) -> None:
        """Raise InputError for a key that no platform of the scenario has, or a value that this one refuses."""
        keys = {key for preset in self.known.values() for key in preset.keys}
        for key, value in cell.platform_overrides.items():
            if key not in keys:
                having = [name for name, preset in presets().items() if key in preset.keys]
                allowed = f"their keys: {', '.join(sorted(keys))}" if keys else "they have no keys"
                problem = f"{', '.join(self.known)}: no such key"
                near = "" if having else suggestion(key, keys)
                rest = f"platforms that have it: {', '.join(having)}" if having else allowed
                raise scenario.error(f"platform.{key}", value, advised(problem, near, rest))
        overrides = self._overrides(cell)
        for key, problem in self.known[cell.platform].problems(overrides):
            raise scenario.error(f"platform.{key}", overrides[key], problem)
        preset = self.known[cell.platform]
        if (argument := preset.argument) is not None and argument.key not in overrides:
            for _, problem in preset.problems({argument.key: preset.config.get(argument.key)}):
                raise scenario.error("platform", cell.platform, problem)
        if (lacking := self.stated(cell).lacking) is not None:
            raise scenario.error("platform", cell.platform, lacking)
        try:
            require_meeting(self.stated(cell))
        except PlatformUnusable as unusable:
            raise scenario.error("platform", cell.platform, str(unusable)) from None

    def _overrides(self, cell: Cell) -> dict[str, Scalar]:
        """What the scenario changes; a key that this platform's kind has not is meant for another one."""
        keys = self.known[cell.platform].keys
        return {key: value for key, value in cell.platform_overrides.items() if key in keys}

    @property
    def _switch_facts(self) -> dict[str, str]:
        return {
            f"{name}_{fact}": value
            for name, found in self.switches.items()
            if isinstance(found, dict)
            for fact, value in found.items()
        }

    def as_json(self) -> dict[str, JsonValue]:
        """For campaign.json."""
        document: dict[str, JsonValue] = {}
        for name, preset in self.known.items():
            skipped, probe = self.skipped.get(name), self.probes.get(name)
            document[name] = {
                "title": preset.title,
                "kind": preset.kind,
                "accelerator": probe.accelerator if probe else None,
                "emulated": probe.emulated if probe else None,
                "facts": {
                    **self.facts(name),
                    **({} if preset.platform().port == "wire" else self._switch_facts),
                },
                "skipped": {"reason": skipped.reason, "remedy": skipped.fix} if skipped else None,
            }
        return document


def resolve(scenario: Scenario, cells: Iterable[Cell]) -> PlatformSet:
    """Check every cell's platform and its keys against the presets; raises InputError. Touches nothing."""
    available = presets()
    chosen: dict[str, Preset] = {}
    for cell in cells:
        try:
            preset = available[cell.platform]
        except KeyError:
            near = suggestion(cell.platform, available)
            problem = advised(
                f'unknown platform "{cell.platform}"', near, "vtax list platforms prints them all"
            )
            raise scenario.error("platform", cell.platform, problem) from None
        chosen[preset.name] = preset
    platforms = PlatformSet(chosen)
    for cell in cells:
        platforms.check(scenario, cell)
    return platforms


def find_files(
    platforms: PlatformSet,
    scenario: Scenario,
    cells: Iterable[Cell],
    uut: Machine,
    recorded: Mapping[str, Mapping[str, str]],
) -> None:
    """Look at each file of the user's own that guests on the UUT's machine start from, once.

    `recorded` are the SHA-256 of a campaign that goes on, by the platform and the named path. Raises InputError for a
    file that cannot be used, or is another one than that.
    """
    for cell in cells:
        config, preset = platforms.stated(cell), platforms.known[cell.platform]
        for key, named in config.own_files.items():
            found = platforms.files.setdefault(cell.platform, {})
            if (key, named) in found:
                continue
            try:
                found[key, named] = file = uut.find_file(preset.kind, config, key)
            except InputError as error:
                raise scenario.error(f"platform.{key}", named, str(error)) from None
            before = recorded.get(cell.platform, {}).get(named, file.sha256)
            if before != file.sha256:
                raise scenario.error(
                    f"platform.{key}",
                    named,
                    f"the result that goes on was measured with another file at {named}: its SHA-256 was "
                    f"{short(before)} and is {short(file.sha256)}; put the first one back, or begin a new result",
                )


def probe(platforms: PlatformSet, cells: Iterable[Cell], machines: Machines) -> None:
    """Prepare each platform on the UUT's machine; what cannot run there is set aside with reason and fix.

    So are single cells.
    """
    cells = list(cells)
    uut = machines.machine("uut")
    passes_none = _machine_without_netfilter(machines) if any(map(_wants_netfilter, cells)) else None
    for cell in cells:
        variant = _probe(platforms, cell, uut)
        if isinstance(variant, Probe):
            platforms.probes.setdefault(cell.platform, variant)
    for cell in cells:
        unusable = platforms.variants[cell.platform, platforms.config(cell)]
        if isinstance(unusable, PlatformUnusable):
            if cell.platform in platforms.probes:
                platforms.refused[cell.key] = unusable
            else:
                platforms.skipped.setdefault(cell.platform, unusable)
            continue
        try:
            preset = platforms.known[cell.platform]
            if passes_none is not None and _wants_netfilter(cell):
                raise PlatformUnusable(
                    f"the kernel of {passes_none} has no br_netfilter loaded, and so no bridge_netfilter",
                    "needs modprobe br_netfilter there, which has the machine's own bridges pass frames, too",
                )
            if uut.is_emulated and preset.platform().own_kernel:
                _require_few(cell)
            if preset.platform().port != "wire":
                _find_switch(platforms, cell, uut)
            uut.check_protocols(preset.kind, platforms.config(cell), cell.workload.protocols)
            _require_far_protocols(machines, cell)
        except PlatformUnusable as lacking:
            platforms.refused[cell.key] = lacking


def _wants_netfilter(cell: Cell) -> bool:
    return cell.testbed.bridge_netfilter


def _machine_without_netfilter(machines: Machines) -> str | None:
    """Return the first machine whose kernel has no br_netfilter.

    vtax never loads it: that would switch netfilter on for all bridges of the machine.
    """
    for hosts in machines.roles.values():
        for host in hosts:
            machine = machines.machine(host)
            if machine.environment().bridge_netfilter is None:
                return machine.name
    return None


def _require_few(cell: Cell) -> None:
    """Look whether a cell has no more guests than an emulated machine bears; raises PlatformUnusable."""
    testbed = cell.testbed
    guests = cell.guests + (testbed.neighbour_guests if testbed.has_neighbours else 0)
    if guests > MOST_GUESTS:
        raise PlatformUnusable(
            f"{guests} guests are more than the {MOST_GUESTS} that an emulated machine bears",
            "needs fewer guests, neighbours or hops",
        )


def _require_far_protocols(machines: Machines, cell: Cell) -> None:
    """Look whether far ends, which have their machine's kernel, speak a cell's protocols; raises PlatformUnusable."""
    try:
        machines.machine("source").require_protocols(cell.workload.far_protocols)
    except PlatformUnusable as unusable:
        raise PlatformUnusable(f"{unusable.reason}, and the far ends have it", unusable.fix) from None


def _find_switch(platforms: PlatformSet, cell: Cell, uut: Machine) -> None:
    """Look for a cell's switch, once, and whether its platform can be at it; raises PlatformUnusable."""
    name = cell.testbed.switch
    if name not in platforms.switches:
        try:
            platforms.switches[name] = uut.find_switch(name)
        except PlatformUnusable as unusable:
            platforms.switches[name] = unusable
    if isinstance(found := platforms.switches[name], PlatformUnusable):
        raise found
    if (why := platforms.config(cell).refused_switches.get(name)) is not None:
        raise PlatformUnusable(why, f"needs another switch than {name}")


def _probe(platforms: PlatformSet, cell: Cell, uut: Machine) -> Probe | PlatformUnusable:
    """Prepare a platform with a cell's keys, once."""
    config = platforms.config(cell)
    variant = cell.platform, config
    if variant not in platforms.variants:
        try:
            preset, packages = platforms.known[cell.platform], cell.workload.program_packages
            found: Probe | PlatformUnusable = uut.prepare(preset.kind, config, packages)
        except PlatformUnusable as unusable:
            found = unusable
        except (OSError, subprocess.SubprocessError, ValueError, LookupError) as error:
            found = PlatformUnusable(f"{type(error).__name__}: {error}", "see the message; vtax doctor")
        platforms.variants[variant] = found
    return platforms.variants[variant]
