"""What sharing costs: goodput against one guest's, paired within blocks (anhalt2009, formula 1, and predictability)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from vtax.model.bound import Limit
from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.model.platform import RAW, Platform
from vtax.views.goodput import aggregate_sample
from vtax.views.stream_cells import StreamCell


@dataclass(frozen=True)
class Efficiency:
    """E throughput: the aggregate goodput as a share of the reference's with one guest.

    The reference is raw; of an emulated platform it is the platform itself, whose emulated CPU is no hypervisor's cost,
    unless raw was emulated as well.
    `problem` says why there is no efficiency, or why it is withheld.
    """

    key: str
    platform: str
    setting: Setting
    guests: int
    emulated: bool
    reference: str
    efficiency: Estimate | None
    problem: str | None


@dataclass(frozen=True)
class Scaling:
    """Predictability: what more guests change of the same platform with one.

    `aggregate_ratio` is that of the aggregate goodput, `host_percent` the CPU time added on the CPUs of host and guests
    in percentage points, 100 = one CPU. `left_out` is the share of trials left out over both sides.
    """

    key: str
    platform: str
    setting: Setting
    guests: int
    aggregate_ratio: Estimate | None
    host_percent: Estimate | None
    left_out: float


def efficiencies(
    cells: Sequence[StreamCell], testbed: Mapping[str, JsonValue], platforms: Sequence[Platform]
) -> list[Efficiency]:
    """A row a cell with usable trials but the references themselves, in the order of `cells`.

    `testbed` is as link_goodput_mbps takes it.
    """
    emulated = {platform.name: platform.emulated for platform in platforms}
    single = _single(cells)
    rows = []
    for cell in cells:
        reference = cell.platform if emulated[cell.platform] and not emulated.get(RAW) else RAW
        if not cell.trials or (cell.guests == 1 and cell.platform == reference):
            continue
        other = single.get((reference, cell.setting))
        found = _ratio(cell, other, testbed) if other else None
        problem: str | None = None
        if found is None:
            problem = f"{reference} has no usable trial with one guest" + (" in its blocks" if other else "")
        elif found.is_withheld:
            problem = f"both {Limit.FAR_END.at}"
        rows.append(
            Efficiency(
                key=cell.key,
                platform=cell.platform,
                setting=cell.setting,
                guests=cell.guests,
                emulated=emulated[cell.platform],
                reference=reference,
                efficiency=found,
                problem=problem,
            )
        )
    return rows


def scalings(cells: Sequence[StreamCell], testbed: Mapping[str, JsonValue]) -> list[Scaling]:
    """A row a cell of several guests whose platform was measured with one as well."""
    single = _single(cells)
    return [
        Scaling(
            key=cell.key,
            platform=cell.platform,
            setting=cell.setting,
            guests=cell.guests,
            aggregate_ratio=_ratio(cell, other, testbed),
            host_percent=_cpu_added(cell, other),
            left_out=_left_out(cell, other),
        )
        for cell in cells
        for other in [single.get((cell.platform, cell.setting))]
        if other is not None and cell.guests > 1 and cell.trials
    ]


def _single(cells: Iterable[StreamCell]) -> Mapping[tuple[str, Setting], StreamCell]:
    return {(cell.platform, cell.setting): cell for cell in cells if cell.guests == 1 and cell.trials}


def _ratio(cell: StreamCell, reference: StreamCell, testbed: Mapping[str, JsonValue]) -> Estimate | None:
    own, other = aggregate_sample(cell, testbed), aggregate_sample(reference, testbed)
    return own.ratio(other) if own and other else None


def _cpu_added(cell: StreamCell, reference: StreamCell) -> Estimate | None:
    own, other = (
        each.sample(lambda trial: trial.host_percent, each.host_resolution, total=True)
        for each in (cell, reference)
    )
    return own.difference(other) if own and other else None


def _left_out(*cells: StreamCell) -> float:
    recorded = sum(cell.recorded for cell in cells)
    return sum(cell.invalid for cell in cells) / recorded if recorded else 0.0
