"""Decides, drives and judges: a scenario becomes a result."""

import contextlib
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

import vtax
from vtax.campaign.hold import hold_host
from vtax.campaign.platform_set import probe, resolve
from vtax.campaign.progress import Progress
from vtax.campaign.runner import Campaign, Outcome, local_settings
from vtax.machine.environment import host_environment
from vtax.results import ResultWriter
from vtax.scenario import Scenario
from vtax.testbed.layout import cpu_layout, shared_core

__all__ = ["Campaign", "Outcome", "Progress", "run"]


def run(scenario: Scenario, *, out: Path | None, seed: int | None, progress: Progress) -> Outcome:
    """Carry out `scenario` on this machine.

    `out` is a directory that must not exist or be empty; by default one under results/ named by scenario and time.
    All input is checked before anything starts: InputError. What the run made is gone when this returns or raises.
    """
    cells = scenario.cells()
    platforms = resolve(scenario, cells)
    cpus = cpu_layout()
    for cell in cells:
        if problem := local_settings(cell, cpus).problem():
            raise scenario.error("flow_control", cell.testbed.flow_control, problem)
    started_at = datetime.now(UTC)
    directory = out or Path("results") / f"{scenario.name.replace('/', '-')}-{started_at:%Y%m%dT%H%M%SZ}"
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
    with hold as owned, contextlib.closing(ResultWriter.create(directory, manifest)) as writer:
        progress.campaign(scenario.name, len(cells) * scenario.repetitions, directory)
        status = "failed"
        try:
            unusable = Campaign(scenario, cells, platforms, writer, progress, seed, cpus).run(owned)
            status = "complete"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            writer.update(status=status, finished_at=datetime.now(UTC).isoformat())
            progress.finished()
    return Outcome(directory, unusable)
