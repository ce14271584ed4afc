"""The table of the machines that a campaign was measured on."""

from __future__ import annotations

from vtax.model.table import UNKNOWN, Column, Number, Table, sections
from vtax.views.summary import Summary


def machines_table(summary: Summary) -> Table:
    """What each machine did, and what it is; nothing of a campaign that had one."""
    machines = summary.provenance.hosts
    return Table(
        name="machines",
        title="Machines",
        note="",
        columns=(
            Column("machine"),
            Column("roles"),
            Column("CPU"),
            Column("CPUs", numeric=True),
            Column("kernel"),
        ),
        sections=sections(
            machines.items() if len(machines) > 1 else (),
            lambda machine: "",
            lambda machine: (
                machine[0],
                str(machine[1].get("roles") or UNKNOWN),
                str(machine[1].get("cpu_model") or UNKNOWN),
                Number(str(machine[1].get("cpus") or UNKNOWN)),
                str(machine[1].get("kernel") or UNKNOWN),
            ),
        ),
    )
