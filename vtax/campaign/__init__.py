"""Decides, drives and judges: a scenario becomes a result."""

import contextlib
import random
import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

import vtax
from vtax.campaign.blocks import chosen_blocks
from vtax.campaign.environment import described
from vtax.campaign.mode import Mode, is_done, mode_of
from vtax.campaign.needs import require_grants
from vtax.campaign.plan import plan_of
from vtax.campaign.platform_set import PlatformSet, find_files, probe, resolve
from vtax.campaign.progress import Progress
from vtax.campaign.resumed import Resumed, Typed
from vtax.campaign.runner import Campaign, Outcome, unusable
from vtax.campaign.state import CampaignState, state_of
from vtax.campaign.turns import Judging, Referee, check_levels
from vtax.campaign.workload import workload_of
from vtax.inputs import InputError
from vtax.inputs.needs import Consent, NeedKind, by_name
from vtax.keys.cell import Cell
from vtax.results import Result, ResultWriter
from vtax.scenario import Scenario
from vtax.testbed.host_session import clean_host
from vtax.testbed.machines import Machines, OneMachine

__all__ = ["Campaign", "Outcome", "Progress", "Resumed", "Typed", "clean_host", "run"]


def run(
    scenario: Scenario,
    *,
    out: Path | None = None,
    seed: int | None = None,
    resume: Resumed | None = None,
    blocks: Sequence[int] | None = None,
    allow: Collection[NeedKind] = (),
    consent: Consent = by_name,
    machines: Machines | None = None,
    judging: Judging | None = None,
    progress: Progress,
) -> Outcome:
    """Carry out `scenario` on the `machines` of a testbed: on this one alone, unless others are named.

    `out` is a directory that must not exist or be empty; by default one under results/ named by scenario and time.
    `resume` is a campaign that goes on, of which all but the machines comes from its result: whoever read it has seen
    to it that it may be run. It measures nothing again that is committed, and does nothing where nothing is left.
    `blocks` are those of the scenario that are measured here, by default all: with the same seed, others may be
    measured elsewhere and merged with these.
    What the scenario and the machines need beyond what was typed is granted by the kinds in `allow`, or by `consent`.
    `judging` judges cells that are measured by turns, by a result's first so many blocks.
    All input is checked before anything starts: InputError. What the run made is gone when this returns or raises.
    """
    machines = machines or OneMachine()
    typed = scenario
    if resume is not None:
        scenario, seed, blocks = resume.scenario, resume.seed, resume.blocks
    chosen = chosen_blocks(scenario, blocks)
    cells = scenario.cells()
    if resume is not None and resume.is_done:
        return _nothing_left(resume, mode_of(scenario, cells), {}, progress)
    platforms = resolve(scenario, cells)
    started_at = datetime.now(UTC)
    directory = _new_directory(scenario, out, started_at) if resume is None else resume.directory
    require_grants(typed, machines.needs, resume, allow, consent)
    seed = seed if seed is not None else random.SystemRandom().randrange(2**31)
    with contextlib.ExitStack() as held:
        held.enter_context(machines.reach())
        machines.seat_threads(max(cell.source_threads for cell in cells))
        workload = workload_of(scenario, machines.machine("uut").cpus)
        workload.check(cells)
        todo = _probed(platforms, scenario, cells, machines, resume)
        mode = mode_of(
            scenario,
            [cell for cell in cells if cell.platform in platforms.probes],
            None if judging is None else Referee(directory, judging, progress.standing),
        )
        if resume is not None and resume.is_whole and is_done(mode, chosen, todo, resume.state):
            return _nothing_left(resume, mode, platforms.reasons(cells), progress)
        if platforms.probes:
            held.enter_context(machines.hold(f"campaign {scenario.name}"))
        manifest = _manifest(scenario, cells, platforms, machines, seed, started_at)
        manifest["blocks"] = [*chosen] if blocks is not None else None
        writer = held.enter_context(contextlib.closing(_writer(directory, manifest, resume is not None)))
        if resume is None:
            writer.keep_files(scenario.files())
        for told in (*writer.repaired, *platforms.file_notes):
            progress.note(told)
        state = state_of(Result.open(directory)) if resume is not None else CampaignState()
        committed = state.last_trial
        progress.campaign(scenario.name, _left(scenario, chosen, state), directory)
        status = "failed"
        try:
            campaign = Campaign(
                scenario,
                cells,
                chosen,
                platforms,
                writer,
                progress,
                seed,
                machines,
                mode,
                plan_of(scenario),
                workload,
                state,
            )
            campaign.run()
            status = "complete"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            progress.finished()
            now = datetime.now(UTC).isoformat()
            finished_at = now if state.last_trial > committed else writer.campaign.get("finished_at", now)
            with contextlib.suppress(OSError):  # a full disk has been told of already
                writer.update(status=status, finished_at=finished_at)
    earlier = {} if resume is None else resume.reasons
    return Outcome(directory, unusable(cells, mode, state, {**earlier, **campaign.reasons}))


def _probed(
    platforms: PlatformSet,
    scenario: Scenario,
    cells: Sequence[Cell],
    machines: Machines,
    resume: Resumed | None,
) -> list[Cell]:
    """Look at the files that guests start from, and probe the platforms; returns the cells that can be measured."""
    find_files(platforms, scenario, cells, machines.machine("uut"), resume.file_hashes if resume else {})
    probe(platforms, cells, machines)
    todo = platforms.usable(cells)
    check_levels(scenario, todo, platforms)
    return todo


def _left(scenario: Scenario, blocks: Sequence[int], state: CampaignState) -> int | None:
    """How many trials there are to make; None where that is decided by what they show."""
    if scenario.trials is None:
        return None
    return scenario.trials // scenario.repetitions * len(blocks) - len(state.usable)


def _new_directory(scenario: Scenario, out: Path | None, started_at: datetime) -> Path:
    """Where a campaign's result is to be; raises InputError where something is there already."""
    directory = out or Path("results") / f"{scenario.name.replace('/', '-')}-{started_at:%Y%m%dT%H%M%SZ}"
    if directory.is_dir() and any(directory.iterdir()):
        raise InputError(
            f"{directory}: not empty; a campaign starts in a directory of its own, name another one"
        )
    return directory


def _nothing_left(resume: Resumed, mode: Mode, reasons: Mapping[str, str], progress: Progress) -> Outcome:
    """Leave a complete result as it is, and say so."""
    progress.note(resume.ending)
    without = unusable(resume.scenario.cells(), mode, resume.state, {**resume.reasons, **reasons})
    return Outcome(resume.directory, without, made=False)


def _manifest(
    scenario: Scenario,
    cells: Sequence[Cell],
    platforms: PlatformSet,
    machines: Machines,
    seed: int,
    started_at: datetime,
) -> dict[str, JsonValue]:
    """What campaign.json says of a campaign that begins."""
    return {
        "vtax_version": vtax.__version__,
        **scenario.described(),
        "seed": seed,
        "created_at": started_at.isoformat(),
        "status": "running",
        "platforms": platforms.as_json(),
        "hosts": described(machines),
        "testbed": machines.as_json(),
        "command": [*sys.argv],
        "ceilings": [],
    }


def _writer(directory: Path, manifest: Mapping[str, JsonValue], resume: bool) -> ResultWriter:
    if not resume:
        return ResultWriter.create(directory, manifest)
    writer = ResultWriter.resume(directory)
    told = {key: manifest[key] for key in ("platforms", "hosts", "testbed")}
    writer.update(status="running", **told)
    return writer
