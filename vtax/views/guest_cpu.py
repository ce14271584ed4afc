"""CPU time of guests that share a host: each one's, the host's, and whose all of it was (anhalt2009, Fig. 6 to 12)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vtax.model.estimate import Estimate
from vtax.model.levels import Setting
from vtax.statistics import fair_share
from vtax.views.stream_cells import IDLE, Account, BulkTrial, Metric, StreamCell

GUEST = "guest"


@dataclass(frozen=True)
class GuestCpu:
    """CPU time with so many guests, percent of one CPU.

    `host_percent` is C aggregate: the busy time of the CPUs that host and guests run on. `by_guest_percent` is C i by
    the guest's number, `guest_percent` its mean over the guests. `by_account` is the ledger of the whole machine
    without its idle time, by domain and, of guests, their number; `busy_percent` is its sum.
    """

    key: str
    platform: str
    setting: Setting
    guests: int
    host_percent: Estimate | None
    guest_percent: Estimate | None
    by_guest_percent: dict[int, Estimate]
    busy_percent: Estimate | None
    by_account: dict[Account, Estimate]
    left_out: float


def guest_cpu(cells: Iterable[StreamCell]) -> list[GuestCpu]:
    """A row a cell whose trials tell of CPU time, in the order of `cells`."""
    rows = [
        GuestCpu(
            key=cell.key,
            platform=cell.platform,
            setting=cell.setting,
            guests=cell.guests,
            host_percent=cell.estimate(lambda trial: trial.host_percent, cell.host_resolution, total=True),
            guest_percent=cell.estimate(_mean_of_guests, cell.ledger_resolution, total=True),
            by_guest_percent=cell.by_guest(
                lambda guest: account((GUEST, guest)), cell.ledger_resolution, total=True
            ),
            busy_percent=cell.estimate(_busy, cell.ledger_resolution, total=True),
            by_account=_by_account(cell),
            left_out=cell.left_out,
        )
        for cell in cells
    ]
    return [row for row in rows if row.host_percent or row.by_account]


def account(whose: Account) -> Metric:
    """What an account had in a trial; nothing where the trial's ledger does not name it."""
    return lambda trial: trial.ledger_percent.get(whose, 0.0) if trial.ledger_percent else None


def percent_of_guests(trial: BulkTrial) -> list[float]:
    """C i of every guest of a trial; empty where nothing was sampled."""
    if not trial.ledger_percent:
        return []
    return [trial.ledger_percent.get((GUEST, guest), 0.0) for guest in sorted(trial.goodput_mbps)]


def _mean_of_guests(trial: BulkTrial) -> float | None:
    percents = percent_of_guests(trial)
    return fair_share(percents) if percents else None


def _busy(trial: BulkTrial) -> float | None:
    if not trial.ledger_percent:
        return None
    return sum(percent for whose, percent in trial.ledger_percent.items() if whose != IDLE)


def _by_account(cell: StreamCell) -> dict[Account, Estimate]:
    accounts = {whose: None for trial in cell.trials for whose in trial.ledger_percent if whose != IDLE}
    found = {whose: cell.estimate(account(whose), cell.ledger_resolution, total=True) for whose in accounts}
    return {whose: percent for whose, percent in found.items() if percent is not None}
