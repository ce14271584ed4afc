"""A cell of the grid, resolved to what a trial needs."""

from dataclasses import dataclass, replace
from typing import TypeVar

from vtax.keys.fields import Scalar
from vtax.keys.frames import FrameLoad
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import WorkloadKeys

Work = TypeVar("Work", bound=WorkloadKeys)
"""The keys of a kind of workload, or of several kinds."""


@dataclass(frozen=True)
class Cell:
    """One combination of the factors' values, resolved.

    `key` is the factors' text in factor order, `platform=raw streams=1 frame_bytes=64 intended_mbps=max`.
    `factors` holds the values by column name, None where `intended_mbps` is `max` or `frame_bytes` a mix. Cells of
    one `plot` share a built testbed and a guest: the text of the platform and of each `testbed.*` and `platform.*`
    factor. A trial of a search is a cell of its own, `step` from 0 of the search named by the key of the grid's cell;
    so is each of several trials in a row, `run` from 0.
    """

    key: str
    factors: dict[str, Scalar | None]
    workload: WorkloadKeys
    testbed: TestbedSettings
    platform: str
    platform_overrides: dict[str, Scalar]
    plot: str
    search: str | None = None
    step: int | None = None
    run: int | None = None

    def of(self, kind: type[Work]) -> Work:
        """Its workload, which is of that kind: for those who know it is."""
        if not isinstance(self.workload, kind):
            raise TypeError(f"{self.key} is {self.workload.kind}, not {kind.__name__}")
        return self.workload

    @property
    def guests(self) -> int:
        """Guests on the UUT's host that are measured."""
        own = self.workload.own_guests
        return self.testbed.guests if own is None else own

    @property
    def streams(self) -> int:
        """Parallel streams of frames: of its one guest, or one of each guest."""
        return self.workload.streams_through(self.testbed)

    @property
    def frame_load(self) -> FrameLoad:
        """The frames of each stream, of a workload that is known to have such."""
        if (load := self.workload.frame_load) is None:
            raise TypeError(f"{self.key} is {self.workload.kind}, which sends no frames of its own")
        return load

    @property
    def source_threads(self) -> int:
        """Threads of each source that send its frames."""
        return 1 if (load := self.workload.frame_load) is None else load.threads

    @property
    def place(self) -> str:
        """What is measured once in a block: the cell, this step of its search, or this of its runs."""
        if self.search is not None:
            return f"{self.search} step={self.step}"
        return self.key if self.run is None else f"{self.key} run={self.run}"

    @property
    def trials(self) -> "list[Cell]":
        """What is measured of it in a block: itself, or each of its runs."""
        in_a_row = self.workload.trials_in_a_row
        return [self] if in_a_row == 1 else [replace(self, run=run) for run in range(in_a_row)]

    def at_step(self, step: int, intended_mbps: float, duration_s: float) -> "Cell":
        """The trial that a search of this cell makes at its step."""
        return replace(
            self,
            key=f"{self.key} intended_mbps={intended_mbps:.6g}",
            workload=self.workload.model_copy(
                update={"intended_mbps": intended_mbps, "duration_s": duration_s}
            ),
            search=self.key,
            step=step,
        )
