"""Tables of verdicts: trials by reason, and cells that lack trials."""

from __future__ import annotations

from vtax.model.table import LEFT_OUT, UNKNOWN, Column, Number, Table, left_out, sections
from vtax.views.summary import Summary
from vtax.views.tables import EMULATED_HEADING, by_setting, heading, level_column


def verdict_table(summary: Summary) -> Table:
    """Trials by verdict and reason."""
    return Table(
        name="verdicts",
        title="Verdicts",
        note="The means include suspect trials and exclude invalid ones. A trial with several reasons counts for each.",
        columns=(Column("platform"), Column("verdict"), Column("reason"), Column("trials", numeric=True)),
        sections=sections(
            summary.verdicts,
            lambda row: EMULATED_HEADING if summary.emulated(row.platform) else "",
            lambda row: (row.platform, row.verdict, row.reason or UNKNOWN, Number(str(row.trials))),
        ),
    )


def left_out_table(summary: Summary) -> Table:
    """Cells with invalid or suspect trials."""
    return Table(
        name="left-out",
        title="Cells with invalid or suspect trials",
        note="All other cells have valid trials only.",
        columns=(
            Column("platform"),
            level_column(summary),
            Column("recorded", numeric=True),
            Column("suspect", numeric=True),
            Column("invalid", numeric=True),
            LEFT_OUT,
            Column(""),
        ),
        sections=sections(
            by_setting(cell for cell in summary.cell_verdicts if cell.invalid or cell.suspect),
            lambda cell: heading(summary, cell),
            lambda cell: (
                cell.platform,
                cell.label,
                Number(str(cell.recorded)),
                Number(str(cell.suspect)),
                Number(str(cell.invalid)),
                left_out(cell.left_out),
                "" if cell.usable else "no usable trial",
            ),
        ),
    )
