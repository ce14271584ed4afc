"""Why cells lost throughput or time: each against its reference, with what differs for certain along with it.

`trials` is what trials tell, `evidence` those of each cell, `references` what a cell is held against, `effects` what
it lost, `causes` what may be behind that (`places`, `cpu_time`), `ranking` what is and in which order, `words` the
sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtax.model.diagnosed import Diagnosed
from vtax.model.estimate import Estimate
from vtax.registry.catalogues import CATALOGUES
from vtax.results import Result
from vtax.results.stored import listed, mapping
from vtax.views.diagnosis.candidate import CauseKind
from vtax.views.diagnosis.cpu_time import is_sampled
from vtax.views.diagnosis.effects import compared, differences, find_effects, of
from vtax.views.diagnosis.evidence import CellEvidence, read_evidence
from vtax.views.diagnosis.ranking import Cause, Explained, explain
from vtax.views.diagnosis.references import Pair, pair_up
from vtax.views.diagnosis.trials import UNNAMED
from vtax.views.diagnosis.words import LEFT_OVER, sentence
from vtax.views.provenance import Provenance
from vtax.views.served import Served

__all__ = ["DIAGNOSIS", "Diagnosis", "Finding", "Loss", "Uncompared", "diagnose"]

DIAGNOSIS = Served("diagnosis", CATALOGUES)
NO_LEDGER = (
    "CPU time was not sampled and cannot be attributed further: run with --set workload.cpu_samples_hz=499"
)
NO_HOPS = "the hops were not counted, so the place of the loss is unknown: measure again"


@dataclass(frozen=True)
class Loss:
    """What a cell lost of a quantity, whose name holds the unit: `lost` is positive, `measured` its own mean."""

    quantity: str
    lost: Estimate
    measured: Estimate
    reference: Estimate


@dataclass(frozen=True)
class Finding:
    """A cell that lost something for certain, and why.

    `reference` is the cell it is held against. The causes explain the first loss, the one that explains most first;
    `shown` differs along with it, `unexplained` is the part, 0 to 1, that is left over. `missing` says what was not
    recorded and how it is; `remark` what most of its trials that were remarked upon say, and how many those are.
    """

    cell: str
    platform: str
    emulated: bool
    levels: Mapping[str, str]
    reference: str
    losses: tuple[Loss, ...]
    causes: tuple[Cause, ...]
    shown: tuple[Cause, ...]
    unexplained: float
    missing: tuple[str, ...]
    remark: str | None
    text: str

    @property
    def subject(self) -> str:
        """The cell in a list: its platform, and the factors that differ in its campaign."""
        return ", ".join([self.platform, *(f"{name} = {level}" for name, level in self.levels.items())])

    @property
    def further(self) -> tuple[str, ...]:
        """What is said beside the sentence."""
        return (
            *([f"Reported by trials: {self.remark}."] if self.remark else []),
            *(f"Missing: {text}." for text in self.missing),
        )


@dataclass(frozen=True)
class Uncompared:
    """A cell of which nothing can be said, and why."""

    cell: str
    why: str


@dataclass(frozen=True)
class Diagnosis:
    """All cells that lost something, in the order platform, levels.

    `compared` counts those that were held against a reference; intervals of losses are at `confidence`, which allows
    for all comparisons.
    """

    findings: tuple[Finding, ...]
    compared: int
    confidence: float
    uncompared: tuple[Uncompared, ...]

    @property
    def counts(self) -> str:
        """How many cells were looked at, in a sentence."""
        cells = f"{self.compared} cell{'s' if self.compared != 1 else ''} with a reference"
        if not self.findings:
            return f"No significant loss of throughput or time in {cells}."
        confidence = f"intervals at {self.confidence:.2%}, corrected for all comparisons"
        return f"Significant loss of throughput or time in {len(self.findings)} of {cells} ({confidence})."


def diagnose(result: Result, provenance: Provenance) -> Diagnosis:
    """Diagnose every cell. Loads that a search chose for what it saw are compared with none."""
    cells = read_evidence(result, provenance)
    pairs = [] if provenance.search else pair_up(cells, provenance.platforms)
    diagnosed = CATALOGUES[provenance.kind].diagnosed
    losses, confidence = find_effects(pairs, diagnosed)
    cpus = _uut_cpus(provenance)
    varying = _varying(cells)
    return Diagnosis(
        findings=tuple(
            _finding(explained, diagnosed, varying) for explained in explain(losses, diagnosed, cpus)
        ),
        compared=len(pairs),
        confidence=confidence,
        uncompared=tuple(_uncompared(cells, pairs, provenance, diagnosed)),
    )


def _finding(explained: Explained, diagnosed: Diagnosed, varying: Sequence[str]) -> Finding:
    pair = explained.affected.pair
    missing = tuple(_missing(explained, diagnosed))
    cell = pair.cell
    return Finding(
        cell=cell.key,
        platform=cell.platform,
        emulated=cell.emulated,
        levels={name: level for name, level in cell.levels.items() if name in varying},
        reference=pair.reference.key,
        losses=tuple(
            Loss(effect.quantity.column, effect.lost, effect.measured, effect.reference)
            for effect in explained.affected.effects
        ),
        causes=explained.causes,
        shown=explained.shown,
        unexplained=explained.unexplained,
        missing=missing,
        remark=_remark(cell),
        text=sentence(explained),
    )


def _missing(explained: Explained, diagnosed: Diagnosed) -> list[str]:
    """What would have told more."""
    causes = explained.causes
    in_doubt = explained.unexplained >= LEFT_OVER or any(
        cause.account == UNNAMED or cause.kind is CauseKind.WAITED for cause in causes
    )
    missing = []
    if in_doubt and not is_sampled(explained.affected):
        missing.append(NO_LEDGER)
    if diagnosed.is_of_frames and not explained.affected.pair.cell.trials.dropped:
        missing.append(NO_HOPS)
    return missing


def _remark(cell: CellEvidence) -> str | None:
    if not cell.remarks:
        return None
    ((words, trials),) = cell.remarks.most_common(1)
    return f"{words} (in {trials} of {len(cell.trials)} trials)"


def _uncompared(
    cells: Sequence[CellEvidence], pairs: Sequence[Pair], provenance: Provenance, diagnosed: Diagnosed
) -> list[Uncompared]:
    """Cells without usable trials, with what most of them say, and pairs that have no interval."""
    if provenance.search:
        return [Uncompared(cell.key, "a search chose its loads by the trials before") for cell in cells]
    found = []
    for cell in cells:
        if not cell.trials:
            words, trials = (cell.faults.most_common(1) or [("nothing was measured", 0)])[0]
            found.append(Uncompared(cell.key, f"no usable trial: {words} (in {trials} of {cell.recorded})"))
    for pair in pairs:
        blocks = max(len(differences(pair, of(each))) for each in compared(diagnosed, pair.rule))
        if blocks < 2:
            why = f"{blocks} of its repetitions can be compared with {pair.reference.key}; an interval needs two"
            found.append(Uncompared(pair.cell.key, why))
    return found


def _varying(cells: Sequence[CellEvidence]) -> list[str]:
    """The factors that have more than one level, in their order."""
    names = dict.fromkeys(name for cell in cells for name in cell.levels)
    return [name for name in names if len({cell.levels.get(name) for cell in cells}) > 1]


def _uut_cpus(provenance: Provenance) -> int | None:
    """How many CPUs host and guests have; None where the campaign does not say."""
    layout = mapping(provenance.testbed.get("cpus"))
    return len({*listed(layout.get("host")), *listed(layout.get("guests"))}) or None
