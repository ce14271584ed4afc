"""Decides, drives and judges: a scenario becomes a result."""

import contextlib
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vtax
from vtax.campaign.blocks import chosen_blocks
from vtax.campaign.environment import described
from vtax.campaign.kind import kind_of
from vtax.campaign.mode import mode_of
from vtax.campaign.platform_set import PlatformSet, probe, resolve
from vtax.campaign.progress import Progress
from vtax.campaign.runner import Campaign, Outcome
from vtax.campaign.standing import Standing, read_standing, resumed_scenario
from vtax.inputs import InputError
from vtax.machine.hold import clean_host
from vtax.results import ResultWriter
from vtax.scenario import Cell, Scenario
from vtax.testbed.machines import Machines, OneMachine

__all__ = ["Campaign", "Outcome", "Progress", "clean_host", "run"]


def run(
    scenario: Scenario,
    *,
    out: Path | None = None,
    seed: int | None = None,
    resume: Path | None = None,
    blocks: Sequence[int] | None = None,
    allow_programs: bool = False,
    machines: Machines | None = None,
    progress: Progress,
) -> Outcome:
    """Carry out `scenario` on the `machines` of a testbed: on this one alone, unless others are named.

    `out` is a directory that must not exist or be empty; by default one under results/ named by scenario and time.
    `resume` is the result of a campaign of this scenario that did not end: it goes on with its own settings and seed,
    and measures nothing again that is committed.
    `blocks` are those of the scenario that are measured here, by default all: with the same seed, others may be
    measured elsewhere and merged with these.
    Without `allow_programs` a scenario that starts programs of its own is refused.
    All input is checked before anything starts: InputError. What the run made is gone when this returns or raises.
    """
    machines = machines or OneMachine()
    if resume is not None:
        scenario, seed, blocks = resumed_scenario(scenario, resume)
    chosen = chosen_blocks(scenario, blocks)
    if scenario.file.workload.runs_programs and not allow_programs:
        raise InputError(
            f"{scenario.where('workload')}: {scenario.name} starts programs of its own on this machine; read which, "
            "and have them started, as nobody and without rights, by --allow-programs"
        )
    cells = scenario.cells()
    platforms = resolve(scenario, cells)
    started_at = datetime.now(UTC)
    directory = (
        resume or out or Path("results") / f"{scenario.name.replace('/', '-')}-{started_at:%Y%m%dT%H%M%SZ}"
    )
    if resume is None and directory.is_dir() and any(directory.iterdir()):
        raise InputError(
            f"{directory}: not empty; a campaign starts in a directory of its own, name another one"
        )
    seed = seed if seed is not None else random.SystemRandom().randrange(2**31)
    with contextlib.ExitStack() as held:
        held.enter_context(machines.reach())
        kind = kind_of(scenario, machines.machine("uut").cpus)
        kind.check(scenario, cells)
        probe(platforms, cells, machines)
        if platforms.probes:
            held.enter_context(machines.hold(f"campaign {scenario.name}"))
        manifest = _manifest(scenario, cells, platforms, machines, seed, started_at)
        manifest["blocks"] = chosen if blocks is not None else None
        writer = held.enter_context(contextlib.closing(_writer(directory, manifest, resume is not None)))
        if resume is None:
            writer.keep_files(scenario.files())
        for repaired in writer.repaired:
            progress.note(repaired)
        standing = read_standing(directory) if resume is not None else Standing()
        planned = scenario.trials and scenario.trials // scenario.repetitions * len(chosen)
        left = None if planned is None else planned - len(standing.usable)
        progress.campaign(scenario.name, left, directory)
        status = "failed"
        try:
            mode = mode_of(scenario, [cell for cell in cells if cell.platform in platforms.probes])
            campaign = Campaign(
                scenario, cells, chosen, platforms, writer, progress, seed, machines, mode, kind, standing
            )
            unusable = campaign.run()
            status = "complete"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            progress.finished()
            with contextlib.suppress(OSError):  # a full disk has been told of already
                writer.update(status=status, finished_at=datetime.now(UTC).isoformat())
    return Outcome(directory, unusable)


def _manifest(
    scenario: Scenario,
    cells: Sequence[Cell],
    platforms: PlatformSet,
    machines: Machines,
    seed: int,
    started_at: datetime,
) -> dict[str, Any]:
    """What campaign.json says of a campaign that begins."""
    return {
        "vtax_version": vtax.__version__,
        "name": scenario.name,
        "scenario": scenario.resolved(),
        "factors": list(cells[0].factors),
        "seed": seed,
        "created_at": started_at.isoformat(),
        "status": "running",
        "platforms": platforms.as_json(),
        "hosts": described(machines),
        "testbed": machines.as_json(),
        "command": sys.argv,
        "ceilings": [],
    }


def _writer(directory: Path, manifest: dict[str, Any], resume: bool) -> ResultWriter:
    if not resume:
        return ResultWriter.create(directory, manifest)
    writer = ResultWriter.resume(directory)
    told = {key: manifest[key] for key in ("platforms", "hosts", "testbed")}
    writer.update(status="running", **told)
    return writer
