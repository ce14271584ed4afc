"""Carries out a campaign: blocks of groups of trials, each committed before the next begins."""

import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vtax.campaign.environment import environment_rows
from vtax.campaign.mode import Mode, is_done
from vtax.campaign.plan import Plan
from vtax.campaign.platform_set import PlatformSet
from vtax.campaign.progress import Progress
from vtax.campaign.state import CampaignState, Trial
from vtax.keys.cell import Cell
from vtax.machine.failure import in_words
from vtax.results import ResultWriter, Row
from vtax.scenario import Scenario
from vtax.testbed.machines import Machines
from vtax.trial.failures import BUILD_FAILURES
from vtax.trial.guest import called, ending
from vtax.trial.path import Path, PathFacts
from vtax.trial.untenable import UNTENABLE, untenable
from vtax.trial.verdict import Verdict
from vtax.trial.workload import BuildGroup, Setup, Workload

STARTS = 2
"""How often a path that does not become ready is built in all."""


@dataclass(frozen=True)
class Outcome:
    """Where the result is, and which cells have no usable trial, with the reason."""

    directory: pathlib.Path
    unusable: list[tuple[str, str]]

    made: bool = True
    """Whether anything was done: of a campaign that is complete nothing is left to do."""

    @property
    def exit_status(self) -> int:
        """0 when every cell was measured, else 3."""
        return 3 if self.unusable else 0


def unusable(
    cells: Iterable[Cell], mode: Mode, state: CampaignState, reasons: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the cells without a usable trial, with the reason."""
    return [
        (cell.key, reasons.get(cell.key, "not measured")) for cell in cells if not mode.measured(cell, state)
    ]


@dataclass
class Campaign:
    """One campaign. Its machines are held and everything made is owned while it runs."""

    scenario: Scenario
    cells: list[Cell]
    blocks: list[int]
    platforms: PlatformSet
    writer: ResultWriter
    progress: Progress
    seed: int
    machines: Machines
    mode: Mode
    plan: Plan
    workload: Workload
    state: CampaignState = field(default_factory=CampaignState)
    reasons: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Measure all there is; why a cell has no usable trial is in `reasons`."""
        for name, skipped in self.platforms.skipped.items():
            self.progress.note(f"{name} is skipped: {skipped.reason}. To use it: {skipped.fix}")
        for key, refused in self.platforms.refused.items():
            self.progress.note(f"{key} is refused: {refused.reason}. To have it: {refused.fix}")
        self.reasons |= self.platforms.reasons(self.cells)
        todo = self.platforms.usable(self.cells)
        if not is_done(self.mode, self.blocks, todo, self.state):
            self._measure(todo)

    def _measure(self, cells: list[Cell]) -> None:
        self.writer.update(ceilings=self.workload.prepare(cells, self.machines, self.progress.note))
        for block in self.blocks:
            if self.mode.ended(block, self.state):
                break
            for group in self.plan(cells, self.seed, block):
                self._group(block, group)

    def _group(self, block: int, group: BuildGroup) -> None:
        todo = [
            (position, cell)
            for position, cell in enumerate(group.cells)
            if self.mode.next(block, cell, self.state) is not None
        ]
        if not todo:
            return
        first = group.cells[0]
        preset = self.platforms.known[first.platform]
        setup = self.workload.setup(group, preset, self.platforms.config(first), self.machines)
        try:
            for position, cell in todo:
                if not self._cell(block, position, cell, setup, group):
                    return
        finally:
            self._close(setup.path)

    def _open(self, path: Path, group: BuildGroup) -> PathFacts | None:
        """Bring the path up, twice if need be; None when it does not come, with the reason noted for its cells."""
        reason = ""
        for _ in range(STARTS):
            try:
                facts = path.open()
                for note in facts.notes:
                    self.progress.note(note)
                return facts
            except (*BUILD_FAILURES, *UNTENABLE) as error:
                reason = (
                    untenable(error, [guest.name for guest in path.guests])
                    if isinstance(error, UNTENABLE)
                    else in_words(error)
                )
                self.progress.note(f"{path.preset.name} did not become ready: {reason}")
                self._close(path)
        for cell in group.cells:
            self.reasons.setdefault(
                cell.key, reason.splitlines()[0] if reason else "the path did not become ready"
            )
        return None

    def _close(self, path: Path) -> None:
        """Take a path down; what does not come down now is removed by the ownership record at the end."""
        try:
            path.close()
        except BUILD_FAILURES as error:
            self.progress.note(f"{path.preset.name} was not removed completely: {in_words(error)}")

    def _cell(self, block: int, position: int, cell: Cell, setup: Setup, group: BuildGroup) -> bool:
        """Measure one cell until nothing more of it is wanted; False where the path does not come up for it."""
        path, probe, uut = setup.path, self.platforms.probe_of(cell), self.machines.machine("uut")
        lost = 0
        while (wanted := self.mode.next(block, cell, self.state)) is not None:
            facts = path.facts or self._open(path, group)
            if facts is None:
                return False
            guests = path.guest_states()
            fallen = [
                ending(state, None, called(name)) for name, state in guests.items() if not state.answers
            ]
            if fallen:
                self._take_down(path, cell, f"between trials, {'; '.join(fallen)}")
                lost += 1
                if lost == STARTS:
                    return True
                continue
            number = self.state.last_trial + 1
            self.progress.trial_started(number, wanted.key)
            finished = setup.measure(wanted, number, guests, probe, self.state.band)
            place: Row = {
                "block": block,
                "position": position,
                "repetition": block,
                "attempt": self.state.attempts(block, wanted.place),
                "search": wanted.search,
                "step": wanted.step,
                "run": wanted.run,
                "accelerator": probe.accelerator,
                "emulated": probe.emulated,
                "hello_s": facts.hello_s,
                "ready_s": facts.ready_s,
            }
            try:
                rows = finished.rows(place, uut.name)
                self.writer.check(rows)
            except UNTENABLE as error:
                finished = finished.failed(error)
                rows = finished.rows(place, uut.name)
            judgement = finished.judgement
            rows.environment = environment_rows(self.machines, path.bridge_netfilter())
            self.state.add(Trial.of(rows))
            self.state.band.add(rows.canary)
            rows.searches = self.mode.found(block, cell, self.state)
            self.writer.commit(rows)
            self.progress.trial_finished(number, str(judgement.verdict), finished.headline)
            if judgement.verdict is Verdict.INVALID:
                self.reasons.setdefault(cell.key, judgement.reasons[0])
            if finished.broken:
                self._take_down(path, cell, "; ".join(judgement.reasons))
        return True

    def _take_down(self, path: Path, cell: Cell, happened: str) -> None:
        """Take a path down that is of no more use; the next trial that is wanted builds it anew."""
        self.reasons.setdefault(cell.key, happened)
        self.progress.note(f"{cell.platform}: {happened}; it is taken down\n{path.last_words()}".rstrip())
        self._close(path)
