"""The tax as tables: against raw, and within the emulated group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vtax.model import numbers
from vtax.model.bound import Bound
from vtax.model.dimensions import load_label
from vtax.model.platform import EMULATED_LABEL
from vtax.model.table import LEFT_OUT, UNKNOWN, Column, Entry, N, Number, Table, count, left_out, sections
from vtax.model.table import mean_number as mean
from vtax.model.table import ranged_number as ranged
from vtax.views.capacity import PDR, Capacity
from vtax.views.summary import Summary
from vtax.views.tables import LOAD, MAXIMUM_OVER_LOADS
from vtax.views.tax import CapacityChange, LoadCost


def tax_of_capacity(summary: Summary, emulated: bool = False) -> Table:
    """The change of the PDR against the reference, for one of the two groups."""
    changes = [change for change in summary.loads.changes if change.emulated is emulated]
    return Table(
        name="tax-capacity-emulated" if emulated else "tax-capacity",
        title=f"{PDR.name} against {_reference(changes)}",
        note=(f"{EMULATED_LABEL}. " if emulated else "") + f"Paired within blocks. {MAXIMUM_OVER_LOADS}",
        columns=(
            Column("platform"),
            Column("change", "%", numeric=True),
            N,
            LEFT_OUT,
            Column("PDR", "Mbit/s", numeric=True),
            Column("reference's", "Mbit/s", numeric=True),
            Column("reads as"),
        ),
        sections=sections(changes, lambda change: change.setting.label, _change_row),
    )


def _change_row(change: CapacityChange) -> Sequence[Entry]:
    own, other, found = change.capacity, change.reference_capacity, change.change_percent
    return (
        change.platform,
        ranged(found, numbers.signed(numbers.percent)),
        count(found),
        left_out(found.left_out) if found else Number(UNKNOWN),
        _received(own),
        _received(other),
        change.problem or _reading(change),
    )


def _received(found: Capacity | None) -> Number:
    """What is carried within the goal; what it is less than where no load was."""
    if found is None or found.received_mbps:
        return mean(found.received_mbps if found else None, numbers.mbps)
    return Number(UNKNOWN if found.less_than_mbps is None else f"<{numbers.mbps(found.less_than_mbps)}")


def _reading(change: CapacityChange) -> str:
    found = change.change_percent
    where = f": {change.bounded_by}" if change.bounded_by else ""
    if found is None or not found.has_interval:
        return f"no interval{where}"
    read = found.bound.turned if found.value < 0 else found.bound
    if read is not Bound.AT_MOST and found.includes(0.0):
        return f"no significant difference{where}"
    if read is Bound.EXACT:
        return "carries less" if found.value < 0 else "carries more"
    return f"{read} this {'cost' if found.value < 0 else 'gain'}{where}"


def tax_by_load(summary: Summary, emulated: bool = False) -> Table:
    """Delay and CPU added at each load against the reference, for one of the two groups."""
    costs = [cost for cost in summary.loads.costs if cost.emulated is emulated]
    return Table(
        name="tax-load-emulated" if emulated else "tax-load",
        title=f"Delay and CPU added against {_reference(costs)}",
        note=(f"{EMULATED_LABEL}. " if emulated else "")
        + "Same load, paired within blocks. Delay is the median one-way delay; CPU is the host's total in "
        "percentage points, 100 = one CPU. Not in full: at least one platform lost frames or was offered less.",
        columns=(
            Column("platform"),
            LOAD,
            Column("delay added", "µs", numeric=True),
            N,
            Column("CPU added", "points", numeric=True),
            N,
            LEFT_OUT,
            Column(""),
        ),
        sections=sections(costs, lambda cost: cost.setting.label, _cost_row),
    )


def _cost_row(cost: LoadCost) -> Sequence[Entry]:
    known = cost.added_delay_p50_ns or cost.added_host_percent
    return (
        cost.platform,
        load_label(cost.intended_mbps),
        ranged(cost.added_delay_p50_ns, numbers.signed(numbers.microseconds)),
        count(cost.added_delay_p50_ns),
        ranged(cost.added_host_percent, numbers.signed(numbers.percent)),
        count(cost.added_host_percent),
        left_out(known.left_out) if known else Number(UNKNOWN),
        "" if cost.carried_in_full else "flood" if cost.intended_mbps is None else "not in full",
    )


def _reference(rows: Iterable[CapacityChange | LoadCost]) -> str:
    return next((row.reference for row in rows), "the reference")
