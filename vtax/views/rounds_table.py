"""What rounds took, beside what the repeated paper prints; what was timed of a run; and the ladder of null tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vtax.documents.show.published import PublishedRounds
from vtax.model import numbers
from vtax.model.published import with_sources
from vtax.model.runs import run_levels
from vtax.model.table import (
    LEFT_OUT,
    UNKNOWN,
    Column,
    Entry,
    Number,
    Section,
    Table,
    left_out,
    mean_number,
    published_sections,
    ranged_number,
    sections,
)
from vtax.views.rounds import Rounds
from vtax.views.summary import Summary
from vtax.views.tables import heading

RUNS = Column("runs", numeric=True)


def rounds_table(summary: Summary) -> Table:
    """A row a platform: all rounds of all runs (matthews2009, Table 1), and quantiles."""
    times = ("s.d.", "min", "p50", "p90", "p99", "p99.9", "max")
    return Table(
        name="rounds",
        title="Rounds",
        note=with_sources(
            "Mean over the completed rounds of a run; its interval is over the blocks, whose runs share a guest. "
            "Quantiles are over all rounds; a failed round counts as later than any completed one.",
            [row.source for row in summary.runs.published_rounds],
        ),
        columns=(
            Column("platform"),
            Column("mean", "µs", numeric=True),
            *(Column(title, "µs", numeric=True) for title in times),
            Column("failed", "%", numeric=True),
            RUNS,
            LEFT_OUT,
        ),
        sections=(
            *sections(summary.runs.rounds, lambda row: heading(summary, row), _times),
            *_published(summary, len(times)),
        ),
    )


def run_time_table(summary: Summary) -> Table:
    """What of a run's wall time was timed (matthews2009, section 4.1), and how rounds scatter."""
    return Table(
        name="run-times",
        title="Runs: timed share and scatter of rounds",
        note="Timed is the share of a run's wall time spent in rounds: a platform with fast rounds may be slow between "
        "them. Scatter is the standard deviation within a run, relative to the reference's runs. p is the chance of a "
        "ratio this far from 1 if both scatter alike, block by block (Student's test of the logarithms).",
        columns=(
            Column("platform"),
            Column("run", "s", numeric=True),
            Column("timed", "%", numeric=True),
            Column("scatter", numeric=True),
            Column("p", numeric=True),
            Column("to"),
            RUNS,
            LEFT_OUT,
        ),
        sections=sections(
            [row for row in summary.runs.rounds if row.is_usable],
            lambda row: heading(summary, row),
            _run_times,
        ),
    )


def ladder_table(summary: Summary) -> Table:
    """What each rung adds to the one before, where more than the network was timed (matthews2009, section 3.1)."""
    rungs = {run_levels(row.setting).load for row in summary.runs.rounds}
    rows = [row for row in summary.runs.rounds if row.is_usable] if len(rungs) > 1 else []
    return Table(
        name="ladder",
        title="The ladder of null tests",
        note="Each rung adds to the same loop: a system call that writes, or the network. An artifact that first "
        "appears at a rung comes from its addition.",
        columns=(
            Column("timed"),
            Column("median", "µs", numeric=True),
            Column("p99.9", "µs", numeric=True),
            Column("max", "µs", numeric=True),
            Column("s.d.", "µs", numeric=True),
            RUNS,
            LEFT_OUT,
        ),
        sections=sections(
            sorted(rows, key=lambda row: [each.name for each in summary.platforms].index(row.platform)),
            lambda row: f"{row.platform}{': emulated CPU' if summary.emulated(row.platform) else ''}",
            lambda row: (
                row.setting.label,
                *(_time(value) for value in (row.p50_ns, row.p999_ns, row.max_ns, row.deviation_ns)),
                Number(str(row.runs)),
                left_out(row.left_out),
            ),
        ),
    )


def artifacts_table(summary: Summary) -> Table:
    """What was found in the runs, the likeliest to be there first (matthews2009, sections 3 and 4)."""
    return Table(
        name="artifacts",
        title="Timing artifacts",
        note="The findings of a cell hold jointly: at most one cell in a hundred has a false one. p is the chance of "
        "evidence as strong without the artifact. docs/artifacts.md lists the artifacts and their detection rates.",
        columns=(Column("platform"), Column("finding"), Column("p", numeric=True), Column("compared with")),
        sections=sections(
            summary.runs.artifacts,
            lambda row: heading(summary, row),
            lambda row: (row.platform, row.sentence, _number(row.p_value, _chance), row.reference or ""),
        ),
    )


def _chance(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"


def _times(row: Rounds) -> Sequence[Entry]:
    quantiles = (row.min_ns, row.p50_ns, row.p90_ns, row.p99_ns, row.p999_ns, row.max_ns)
    return (
        row.platform,
        mean_number(row.mean_ns, numbers.microseconds),
        _time(row.deviation_ns),
        *(_time(value) for value in quantiles),
        _number(row.failed_ratio, numbers.ratio_as_percent),
        Number(str(row.runs)),
        left_out(row.left_out),
    )


def _run_times(row: Rounds) -> Sequence[Entry]:
    return (
        row.platform,
        mean_number(row.wall_s, lambda value: f"{value:.3f}"),
        mean_number(row.timed_ratio, numbers.ratio_as_percent),
        ranged_number(row.dispersion, numbers.ratio),
        _number(row.dispersion_p, _chance),
        row.reference or "",
        Number(str(row.runs)),
        left_out(row.left_out),
    )


def _published(summary: Summary, times: int) -> tuple[Section, ...]:
    """The paper's rows; it prints no quantiles."""

    def cells(row: PublishedRounds) -> Sequence[Entry]:
        known = {0: row.stddev_us, 1: row.min_us, times - 1: row.max_us}
        return (
            row.platform,
            Number(row.mean_us),
            *(Number(known.get(place, "")) for place in range(times)),
            *[Number("")] * 3,
        )

    return published_sections(
        summary.runs.published_rounds,
        lambda row: f"1 hop, published ({row.section}): {row.hardware}",
        cells,
    )


def _time(value_ns: float | None) -> Number:
    return _number(value_ns, numbers.microseconds)


def _number(value: float | None, form: Callable[[float], str]) -> Number:
    return Number(UNKNOWN if value is None else form(value))
