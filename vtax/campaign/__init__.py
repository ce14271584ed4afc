"""Decides, drives and judges: a scenario becomes a result."""

import contextlib
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vtax
from vtax.campaign.hold import clean_host, hold_host
from vtax.campaign.kind import kind_of
from vtax.campaign.mode import mode_of
from vtax.campaign.platform_set import probe, resolve
from vtax.campaign.progress import Progress
from vtax.campaign.runner import Campaign, Outcome
from vtax.campaign.standing import Standing, read_standing, resumed_scenario
from vtax.inputs import InputError
from vtax.machine.environment import host_environment
from vtax.results import ResultWriter
from vtax.scenario import Scenario
from vtax.testbed.layout import cpu_layout, shared_core

__all__ = ["Campaign", "Outcome", "Progress", "clean_host", "run"]


def run(
    scenario: Scenario,
    *,
    out: Path | None = None,
    seed: int | None = None,
    resume: Path | None = None,
    allow_programs: bool = False,
    progress: Progress,
) -> Outcome:
    """Carry out `scenario` on this machine.

    `out` is a directory that must not exist or be empty; by default one under results/ named by scenario and time.
    `resume` is the result of a campaign of this scenario that did not end: it goes on with its own settings and seed,
    and measures nothing again that is committed.
    Without `allow_programs` a scenario that starts programs of its own is refused.
    All input is checked before anything starts: InputError. What the run made is gone when this returns or raises.
    """
    if resume is not None:
        scenario, seed = resumed_scenario(scenario, resume)
    if scenario.file.workload.runs_programs and not allow_programs:
        raise InputError(
            f"{scenario.where('workload')}: {scenario.name} starts programs of its own on this machine; read which, "
            "and have them started, as nobody and without rights, by --allow-programs"
        )
    cells = scenario.cells()
    platforms = resolve(scenario, cells)
    cpus = cpu_layout()
    kind = kind_of(scenario, cpus)
    kind.check(scenario, cells)
    started_at = datetime.now(UTC)
    directory = (
        resume or out or Path("results") / f"{scenario.name.replace('/', '-')}-{started_at:%Y%m%dT%H%M%SZ}"
    )
    if resume is None and directory.is_dir() and any(directory.iterdir()):
        raise InputError(
            f"{directory}: not empty; a campaign starts in a directory of its own, name another one"
        )
    seed = seed if seed is not None else random.SystemRandom().randrange(2**31)
    probe(platforms, cells)
    manifest = {
        "vtax_version": vtax.__version__,
        "name": scenario.name,
        "scenario": scenario.resolved(),
        "factors": list(cells[0].factors),
        "seed": seed,
        "created_at": started_at.isoformat(),
        "status": "running",
        "platforms": platforms.as_json(),
        "hosts": {"local": {**host_environment(), "label": "shared-core" if shared_core(cpus) else None}},
        "testbed": {"name": "local", "cpus": cpus},
        "command": sys.argv,
        "ceilings": [],
    }
    hold = hold_host(f"campaign {scenario.name}") if platforms.probes else contextlib.nullcontext()
    with hold as owned, contextlib.closing(_writer(directory, manifest, resume is not None)) as writer:
        if resume is None:
            writer.keep_files(scenario.files())
        for repaired in writer.repaired:
            progress.note(repaired)
        standing = read_standing(directory) if resume is not None else Standing()
        left = None if scenario.trials is None else scenario.trials - len(standing.usable)
        progress.campaign(scenario.name, left, directory)
        status = "failed"
        try:
            mode = mode_of(scenario, [cell for cell in cells if cell.platform in platforms.probes])
            campaign = Campaign(
                scenario, cells, platforms, writer, progress, seed, cpus, mode, kind, standing
            )
            unusable = campaign.run(owned)
            status = "complete"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            progress.finished()
            with contextlib.suppress(OSError):  # a full disk has been told of already
                writer.update(status=status, finished_at=datetime.now(UTC).isoformat())
    return Outcome(directory, unusable)


def _writer(directory: Path, manifest: dict[str, Any], resume: bool) -> ResultWriter:
    if not resume:
        return ResultWriter.create(directory, manifest)
    writer = ResultWriter.resume(directory)
    writer.update(status="running", platforms=manifest["platforms"], hosts=manifest["hosts"])
    return writer
