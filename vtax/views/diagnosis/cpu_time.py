"""Who had the CPU time that a loss is made of, and who waited for it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import numpy as np

from vtax.model.diagnosed import DELIVERED, Diagnosed
from vtax.views.diagnosis.candidate import Candidate, CauseKind
from vtax.views.diagnosis.effects import Affected, differences
from vtax.views.diagnosis.evidence import CellEvidence
from vtax.views.diagnosis.trials import UNNAMED, Account, Column, Metric, Trials

ALWAYS_READY_PERCENT = 90.0
"""A thread that ran, or was ready to, for so much of the time leaves its stage no CPU time to spare."""
NO_IDLE_PERCENT = 95.0
"""All CPUs of the unit under test together leave none to any."""
NS_PER_PERCENT = 1e7
"""CPU time in a second that is one percent of a CPU."""


def of_throughput(
    affected: Affected, diagnosed: Diagnosed, waiting: float, cpus: int | None
) -> Iterator[Candidate]:
    """Accounts that had more for each piece of work, or more at all at another load; none where time was to spare.

    With some thread always ready the rate is the inverse of the CPU time that all accounts together had meanwhile.
    `waiting` is the part of the loss, 0 to 1, that shows in queues before the work: a CPU that is busy with what others
    do with the time left over explains nothing of a loss behind it.
    """
    pair = affected.pair
    if not _lacks_time(pair.cell, cpus):
        return
    had = {account: differences(pair, _percent(affected, account)) for account in _accounts(affected)}
    if affected.effects[0].quantity is DELIVERED:
        costs, unit = had, "%"
    else:
        costs = {
            account: differences(pair, _per_piece(_percent(affected, account), diagnosed)) for account in had
        }
        unit = _unit(diagnosed)
    total = sum(fmean(more.values()) for more in costs.values() if more)
    for account, more in costs.items():
        if not more:
            continue
        share = waiting * fmean(more.values()) / total if total > 0 else None
        if _is_others(account):
            yield Candidate(CauseKind.TAKEN, had[account], "%", share, behind=True, account=account)
        else:
            yield Candidate(CauseKind.SPENT, more, unit, share, behind=True, account=account)
    for account in _threads(pair.cell):
        if more := differences(pair, _wait(account)):
            yield Candidate(CauseKind.WAITED, more, "%", None, shows=True, account=account)


def of_time(affected: Affected, diagnosed: Diagnosed) -> Iterator[Candidate]:
    """What a piece of work took longer: CPU time of its own, and waiting for a CPU, which others had meanwhile.

    Streams of data have many pieces under way at once, whose times do not add up: nothing is told of them.
    """
    if diagnosed.is_of_streams:
        return
    pair, effect = affected.pair, affected.effects[0]
    lost, unit = fmean(effect.by_block.values()), _unit(diagnosed)
    waited = 0.0
    for account in _threads(pair.cell):
        if more := differences(pair, _per_piece(_wait(account), diagnosed)):
            share = fmean(more.values()) / lost
            waited += max(0.0, share)
            yield Candidate(CauseKind.WAITED, more, unit, share, shows=True, account=account)
    accounts = _accounts(affected)
    others = [account for account in accounts if _is_others(account)]
    for account in accounts:
        more = differences(pair, _per_piece(_percent(affected, account), diagnosed))
        if more and account != UNNAMED and account not in others:
            yield Candidate(CauseKind.SPENT, more, unit, fmean(more.values()) / lost, account=account)
    taken = {account: differences(pair, _percent(affected, account)) for account in others}
    percents = {account: max(0.0, fmean(more.values())) for account, more in taken.items() if more}
    for account, percent in percents.items():
        part = min(1.0, waited) * percent / sum(percents.values()) if percent else None
        yield Candidate(CauseKind.TAKEN, taken[account], "%", part, behind=True, account=account)


def is_sampled(affected: Affected) -> bool:
    """Whether both sides have a ledger."""
    return affected.pair.cell.trials.is_sampled and affected.pair.reference.trials.is_sampled


def _lacks_time(cell: CellEvidence, cpus: int | None) -> bool:
    """Whether some stage of the cell's work had all the CPU time there was for it."""
    ready = [cell.by_block(_ready(account)) for account in _threads(cell)]
    if any(fmean(percents.values()) >= ALWAYS_READY_PERCENT for percents in ready if percents):
        return True
    busy = cell.by_block(lambda trials: trials.busy_percent)
    return bool(busy and cpus and fmean(busy.values()) >= NO_IDLE_PERCENT * cpus)


def _accounts(affected: Affected) -> list[Account]:
    """Those of the ledger where both sides have one, else of the kernel's counts."""
    sampled = is_sampled(affected)
    sides = (affected.pair.cell.trials, affected.pair.reference.trials)
    return list(
        dict.fromkeys(account for side in sides for account in (side.sampled if sampled else side.counted))
    )


def _threads(cell: CellEvidence) -> list[Account]:
    """The named threads that do a cell's work."""
    return [account for account in cell.trials.waits if not _is_others(account)]


def _is_others(account: Account) -> bool:
    """Whether an account's time is no part of the work."""
    domain, _, component = account
    return domain in ("neighbour", "steal") or (domain == "host" and component == "foreign")


def _percent(affected: Affected, account: Account) -> Metric:
    """CPU time of an account; one that a trial's table does not have had nothing in it."""
    sampled = is_sampled(affected)
    return lambda trials: trials.percent(trials.sampled if sampled else trials.counted, account)


def _wait(account: Account) -> Metric:
    return lambda trials: trials.percent(trials.waits, account)


def _ready(account: Account) -> Metric:
    return lambda trials: sum(
        (np.nan_to_num(table[account]) for table in (trials.counted, trials.waits) if account in table),
        np.zeros(len(trials)),
    )


def _per_piece(percent: Metric, diagnosed: Diagnosed) -> Metric:
    """Nanoseconds of it for each piece of work."""

    def metric(trials: Trials) -> Column:
        rate = _rate(trials, diagnosed)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rate != 0, percent(trials) * NS_PER_PERCENT / rate, np.nan)

    return metric


def _rate(trials: Trials, diagnosed: Diagnosed) -> Column:
    """Pieces of work done in a second."""
    return trials.taken_in_fps if diagnosed.is_of_frames else trials.value(diagnosed.per_s)


def _unit(diagnosed: Diagnosed) -> str:
    return f"ns {diagnosed.piece}"
