"""Holding a host for one run: the lock, clean-up after killed runs, signals, and the run's own clean-up."""

import contextlib
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from vtax.machine.lock import HostLock
from vtax.machine.ownership import Owned, OwnershipRecord, stale_records

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Cleaned:
    """What was removed, and what could not be: that is in the log, with the reason, and stays in its record."""

    removed: list[Owned]
    failed: list[Owned]


def clean_host() -> Cleaned:
    """Remove what killed runs left here, by their ownership records.

    Raises InputError while a campaign holds the host: what it owns is in use.
    """
    lock = HostLock()
    lock.acquire("vtax clean")
    try:
        records = stale_records()
        removed = [owned for record in records for owned in record.clean()]
        return Cleaned(removed, [owned for record in records for owned, _ in record.failed])
    finally:
        lock.release()


@contextlib.contextmanager
def hold_host(purpose: str, patience_s: float = 0.0) -> Iterator[OwnershipRecord]:
    """Hold this host; yields the record of what the run owns, and removes all of that at the end.

    SIGTERM and SIGHUP end the run as Ctrl-C does. While cleaning, none of them is heard. Raises InputError
    when another campaign holds the host, and still does after `patience_s`.
    """
    lock = HostLock()
    lock.acquire(purpose, patience_s)
    try:
        for stale in stale_records():
            stale.clean()
        record = OwnershipRecord(f"vtax-{uuid.uuid4().hex[:6]}")
        record.open()
        with as_interrupts():
            try:
                yield record
            finally:
                for number in (signal.SIGINT, *ENDING_SIGNALS):
                    signal.signal(number, signal.SIG_IGN)
                record.clean()
    finally:
        lock.release()


@contextlib.contextmanager
def as_interrupts() -> Iterator[None]:
    """Have SIGTERM and SIGHUP end what runs meanwhile as Ctrl-C does, so that it cleans up. In the main thread only."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING_SIGNALS)}
    for number in ENDING_SIGNALS:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
