"""The template of a trial: how it is made on a path, judged, and written down.

A trial goes through open, arm, go, observe, collect and close; then it is judged by what was found, and becomes rows.
A kind of workload fills in what is its own, mostly by way of WindowTrial or RunTrial.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Generic, TypeVar

from vtax.machine.cpu_latency import cpu_latency_held
from vtax.results import Row, TrialRecord
from vtax.testbed.guest_state import GuestState
from vtax.trial.canary import Band, canary_findings, canary_rows
from vtax.trial.cpu.crosscheck import ledger_findings
from vtax.trial.cpu.rows import counted_rows, ledger_rows
from vtax.trial.guest import guest_findings, is_broken
from vtax.trial.interference import interference_findings
from vtax.trial.observe import observe
from vtax.trial.observed import Observed
from vtax.trial.path import Path
from vtax.trial.stage_rows import packet_rows, stage_rows
from vtax.trial.trial_rows import trial_row
from vtax.trial.untenable import UNTENABLE, check_rows, untenable
from vtax.trial.verdict import Finding, Judgement, failed, judged

P = TypeVar("P", bound=Path)


@dataclass(frozen=True)
class Finished:
    """A trial that was made, and how it was judged."""

    judgement: Judgement
    headline: str
    """Its key figure, for whoever watches."""
    broken: bool
    """Whether the path can serve no other trial."""
    rows: Callable[[Row, str], TrialRecord]
    """Its rows, by the columns of `trials` that place it and by the name of the UUT's machine."""
    failed: Callable[[BaseException], "Finished"]
    """The same trial where what agents answered makes no sense, as that error shows: it is invalid."""


class Trial(ABC, Generic[P]):
    """A trial of one kind of workload.

    `run` and what follows it in this class are a kind's own. All but `run`, `columns`, `phases_s` and
    `instrument_is_lost` are asked of a complete trial only, whose instrument did not fail.
    """

    keeps_cpus_awake: ClassVar[bool] = False
    """Whether idle CPUs of the host are kept out of deep states: guests cannot ask for that, as agents on it do."""

    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        self.band = Band()
        """How fast the CPUs were in the campaign's earlier trials."""

    def measure(self, path: P, guests: Mapping[str, GuestState]) -> None:
        """Make the trial on a ready path whose guests stand so. Never raises for what agents do: it failed then."""
        observed = self.observed
        with cpu_latency_held() if self.keeps_cpus_awake else contextlib.nullcontext():
            observe(path, observed, guests, lambda: self.run(path))
        if observed.failure is None:
            observed.failure = self.instrument_failure()

    def finish(self) -> Finished:
        """Judge the trial once it is made; see vtax.trial.untenable."""
        try:
            judgement = self.judgement()
            broken = is_broken(self.observed) or self.instrument_is_lost()
            rows = partial(self._checked_record, judgement)
            return Finished(judgement, self.headline(), broken, rows, self._fail)
        except UNTENABLE as error:
            if self.observed.failure is not None:  # nothing of it is evaluated: this is no agent's doing
                raise
            return self._fail(error)

    def judgement(self) -> Judgement:
        """Return its verdict by all that was found."""
        if self.observed.failure is not None:
            return failed(self.observed.failure)
        return judged(self._all_findings(), self.marks(), self.uut_context())

    def headline(self) -> str:
        """Return its key figure in words, or why there is none."""
        failure = self.observed.failure
        return self.key_figure() if failure is None else failure.splitlines()[0]

    def record(self, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
        """Return all its rows. `place` holds the columns of `trials` that place it (block, repetition ...)."""
        observed, complete = self.observed, self.observed.failure is None
        common = trial_row(
            observed,
            judgement,
            place,
            self.phases_s,
            drain_s=self.drain_s if complete else 0.0,
            start_spread_ms=self.start_spread_ms if complete else None,
        )
        trial: Row = {**common, **observed.cell.workload.asked(), **self.columns()}
        if not complete:
            return TrialRecord(trial=trial)
        own = self.rows()
        return replace(
            own,
            trial={**trial, **own.trial},
            flows=[*own.flows, *observed.beside.flows],
            cpu=[*counted_rows(observed), *own.cpu, *ledger_rows(observed, machine)],
            canary=canary_rows(observed),
            stages=[*stage_rows(observed), *own.stages],
            packets=packet_rows(observed),
        )

    def _all_findings(self) -> Iterator[Finding]:
        yield from self.findings()
        yield from interference_findings(self.observed)
        yield from self.interference()
        yield from ledger_findings(self.observed)
        yield from canary_findings(self.observed, self.band)
        yield from guest_findings(self.observed)
        yield from self.observed.beside.findings

    def _checked_record(self, judgement: Judgement, place: Row, machine: str) -> TrialRecord:
        made = self.record(judgement, place, machine)
        check_rows(made)
        return made

    def _fail(self, error: BaseException) -> Finished:
        self.observed.failure = untenable(error, self.observed.guests)
        return self.finish()

    @abstractmethod
    def run(self, path: P) -> None:
        """Go through all phases on a ready path; raises what agents raise."""

    def instrument_failure(self) -> str | None:
        """Return what made the instrument fail though its agents answered."""
        return None

    def instrument_is_lost(self) -> bool:
        """Return whether what measures is no longer in place for a later trial."""
        return False

    @property
    @abstractmethod
    def phases_s(self) -> tuple[float, float]:
        """How long warm-up and measurement were."""

    @property
    def drain_s(self) -> float:
        """How long the last of what was sent was waited for after that."""
        return 0.0

    @property
    def start_spread_ms(self) -> float | None:
        """Between the first and the last start of what was to start together; None where that is not known."""
        return None

    def uut_context(self) -> str | None:
        """Return who did the UUT's work, `own` or `sender`; None where that is not asked."""
        return None

    def marks(self) -> tuple[str, ...]:
        """Return its marks, which are no blame."""
        return ()

    def findings(self) -> Iterator[Finding]:
        """Yield what its instrument found."""
        yield from ()

    def interference(self) -> Iterator[Finding]:
        """Yield what else interfered with it than what any trial is asked for."""
        yield from ()

    def columns(self) -> Row:
        """Return its own columns of `trials`, beside what was asked."""
        return {}

    @abstractmethod
    def rows(self) -> TrialRecord:
        """Return its own rows, with the columns of `trials` that only a complete trial has."""

    @abstractmethod
    def key_figure(self) -> str:
        """Return its most telling number in words."""
