"""Holding a host for one run: the lock, clean-up after killed runs, signals, and the run's own clean-up."""

import contextlib
import logging
import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from vtax.inputs import InputError
from vtax.machine.lock import HostLock
from vtax.machine.ownership import Owned, OwnershipRecord, stale_records
from vtax.platforms.preset import kinds

ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
OTHERS_WRITE = 0o022

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cleaned:
    """What was removed, and what could not be: that is in the log, with the reason, and stays in its record."""

    removed: list[Owned]
    failed: list[str]


def clean_host() -> Cleaned:
    """Remove what killed runs left here, by their ownership records.

    Raises InputError while a campaign holds the host: what it owns is in use.
    """
    lock = HostLock()
    lock.acquire("vtax clean")
    try:
        return _clean_stale()
    finally:
        lock.release()


def _clean_stale() -> Cleaned:
    """Go by the records of earlier runs, each as far as that can be done; records that others may write are left."""
    kinds()  # what platforms have made is known once they are imported
    cleaned = Cleaned([], [])
    for record in stale_records():
        try:
            cleaned.removed.extend(record.clean())
        except InputError as refused:
            log.warning("%s", refused)
            cleaned.failed.append(str(record.path))
        cleaned.failed.extend(str(owned) for owned, _ in record.failed)
    return cleaned


@contextlib.contextmanager
def hold_host(purpose: str, patience_s: float = 0.0) -> Iterator[OwnershipRecord]:
    """Hold this host; yields the record of what the run owns, and removes all of that at the end.

    SIGTERM and SIGHUP end the run as Ctrl-C does. While cleaning, none of them is heard. Raises InputError
    when another campaign holds the host, and still does after `patience_s`.
    """
    lock = HostLock()
    lock.acquire(purpose, patience_s)
    try:
        _clean_stale()
        record = OwnershipRecord(f"vtax-{uuid.uuid4().hex[:6]}")
        with _nobody_else_writes(), as_interrupts():
            try:
                record.open()
                yield record
            finally:
                for number in (signal.SIGINT, *ENDING_SIGNALS):
                    signal.signal(number, signal.SIG_IGN)
                record.clean()
    finally:
        lock.release()


@contextlib.contextmanager
def _nobody_else_writes() -> Iterator[None]:
    """Have no file made meanwhile that others may write to, whatever the umask: root acts on many of them."""
    before = os.umask(OTHERS_WRITE)
    os.umask(before | OTHERS_WRITE)
    try:
        yield
    finally:
        os.umask(before)


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
