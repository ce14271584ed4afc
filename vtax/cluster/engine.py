"""Hands blocks to testbeds until all are collected: Dask runs them there, watches the workers and carries the results.

A testbed has one block at a time. One that is lost with its worker or with the scheduler is handed out again; so is one
that takes much longer than others did, as soon as nothing else is left for a testbed that is free. Whichever comes
first is kept.
"""

import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from statistics import median
from time import monotonic
from typing import TypedDict

from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

from vtax.cluster.errors import ClusterError
from vtax.cluster.work import RESOURCE, BlockFailedError

LOOK_S = 1.0
"""How often the scheduler is asked which testbeds there are."""
PATIENCE_S = 600.0
"""How long a scheduler may be away."""
ALONE_S = 30.0
"""After so long without any testbed the user is told."""
STRAGGLES = 2.0
"""A block is handed out again when it takes so many times the median of those that came."""
MOST_FAILURES = 3
"""Of a block, before the campaign stops; a testbed gets no further block after two in a row."""
AWAY = (OSError, CommClosedError, TimeoutError, CancelledError)
"""What Dask raises where the scheduler, or a worker, is not there. A CommClosedError is an OSError in some versions."""


class KnownWorker(TypedDict, total=False):
    """What a scheduler tells of a worker."""

    name: str | int
    resources: dict[str, float]
    status: str | None


@dataclass(frozen=True)
class Handed:
    """A block that a testbed has."""

    block: int
    address: str
    testbed: str
    future: Future
    since: float = field(default_factory=monotonic)


class Engine:
    """One campaign's blocks.

    `connect` gives another client where `client` has lost its scheduler for good. `measure` runs on a worker
    and takes a block's number; `collect` gets the block, the testbed's name and what `measure` returned, and raises
    ValueError for what is no result.
    """

    def __init__(
        self,
        client: Client,
        connect: Callable[[], Client],
        measure: Callable[[int], bytes],
        collect: Callable[[int, str, bytes], None],
        note: Callable[[str], None],
    ) -> None:
        self._connect, self._measure, self._collect, self._note = connect, measure, collect, note
        self.client = client
        self._testbeds: dict[str, str] = {}  # names by the workers' addresses
        self._waiting: deque[int] = deque()
        self._left: set[int] = set()
        self._handed: dict[str, Handed] = {}
        self._set_aside: dict[str, str] = {}
        self._in_a_row: Counter[str] = Counter()
        self._failures: Counter[int] = Counter()
        self._took_s: list[float] = []
        self._events: SimpleQueue[str] = SimpleQueue()
        self._looked = self._seen = self._joined = float("-inf")
        self._alone = False

    def run(self, blocks: Iterable[int]) -> None:
        """Have all these blocks measured and collected.

        Raises ClusterError where that cannot be, and whatever `collect` raises but ValueError; testbeds then end what
        they have at hand.
        """
        self._waiting = deque(sorted(blocks))
        self._left = set(self._waiting)
        self._seen = self._joined = monotonic()
        try:
            while self._left:
                self._look()
                self._hand_out()
                self._take()
        finally:
            for handed in self._handed.values():
                handed.future.cancel()

    def _look(self) -> None:
        """See which testbeds there are; the blocks of those that are gone wait again."""
        if monotonic() - self._looked < LOOK_S:
            return
        try:
            if self.client.status == "closed":
                self.client = self._connect()
            told = self._workers()
        except AWAY as error:
            if monotonic() - self._seen > PATIENCE_S:
                raise ClusterError(f"the scheduler has been away for {PATIENCE_S:.0f} s ({error})") from None
            told = {}
        else:
            self._seen = monotonic()
        self._looked = monotonic()
        self._testbeds = {
            address: str(worker["name"])
            for address, worker in told.items()
            if worker.get("resources", {}).get(RESOURCE) and worker.get("status") in (None, "running")
        }
        for key, handed in list(self._handed.items()):
            if handed.address not in self._testbeds:
                self._lose(key)
        self._tell_if_alone()

    def _tell_if_alone(self) -> None:
        """Once an absence: a testbed may still come, from a batch system's queue for instance."""
        if self._testbeds:
            self._joined, self._alone = monotonic(), False
        elif not self._alone and monotonic() - self._joined > ALONE_S:
            self._alone = True
            self._note(f"no testbed has been there for {ALONE_S:.0f} s; the blocks left wait for one")

    def _workers(self) -> dict[str, KnownWorker]:
        """Those that the scheduler has, by address.

        Client.scheduler_info would keep the answer where the client itself puts one without workers now and then.
        """
        scheduler = self.client.scheduler
        if scheduler is None:
            raise CommClosedError("not connected")
        workers: dict[str, KnownWorker] = self.client.sync(scheduler.identity)["workers"]
        return workers

    def _hand_out(self) -> None:
        busy = {handed.address for handed in self._handed.values()}
        for address, testbed in self._testbeds.items():
            if address in busy or testbed in self._set_aside:
                continue
            block = self._waiting.popleft() if self._waiting else self._straggler()
            if block is None:
                return
            key = f"block-{block}-{uuid.uuid4().hex}"
            try:
                future = self.client.submit(
                    self._measure, block, key=key, workers=[address], resources={RESOURCE: 1}, pure=False
                )
            except (*AWAY, RuntimeError):  # the latter of a client that closes just now
                self._waiting.appendleft(block)
                return
            self._handed[key] = Handed(block, address, testbed, future)
            future.add_done_callback(lambda done: self._events.put(done.key))

    def _straggler(self) -> int | None:
        """The block that is longest under way, where it is for very long and only one testbed has it."""
        if not self._took_s:
            return None
        patience_s = max(LOOK_S, STRAGGLES * median(self._took_s))
        copies = Counter(handed.block for handed in self._handed.values())
        late = [
            handed
            for handed in self._handed.values()
            if copies[handed.block] == 1 and monotonic() - handed.since > patience_s
        ]
        if not late:
            return None
        slowest = min(late, key=lambda handed: handed.since)
        self._note(f"block {slowest.block} takes {slowest.testbed} long; another testbed has it too")
        return slowest.block

    def _take(self) -> None:
        """Wait a moment for a block that has ended, however, and take note of it."""
        try:
            key = self._events.get(timeout=LOOK_S)
        except Empty:
            return
        handed = self._handed.get(key)
        if handed is None:
            return
        try:
            content = handed.future.result()
        except Exception as error:
            own = handed.future.status == "error"  # what the block met there may be of Dask's classes, too
            if isinstance(error, KilledWorker) or (isinstance(error, AWAY) and not own):
                self._lose(key)
            else:
                del self._handed[key]
                self._fail(handed, error)
        else:
            del self._handed[key]
            self._arrived(handed, content)

    def _arrived(self, handed: Handed, content: bytes) -> None:
        if handed.block not in self._left:
            self._note(f"block {handed.block} came from {handed.testbed} too; the first one is kept")
            return
        try:
            self._collect(handed.block, handed.testbed, content)
        except ValueError as error:
            self._fail(handed, error)
            return
        self._left.remove(handed.block)
        self._in_a_row.pop(handed.testbed, None)
        self._took_s.append(monotonic() - handed.since)
        for key, other in list(self._handed.items()):
            if other.block == handed.block:
                del self._handed[key]
                other.future.cancel()
                self._note(f"block {other.block} is not waited for any more from {other.testbed}")

    def _lose(self, key: str) -> None:
        """Its worker or the scheduler is gone, and with it the task; the testbed is no one until it is seen again."""
        handed = self._handed.pop(key)
        self._testbeds.pop(handed.address, None)
        handed.future.cancel()
        self._note(f"block {handed.block} was lost with {handed.testbed}; it is handed out again")
        self._wait_again(handed.block)

    def _fail(self, handed: Handed, error: Exception) -> None:
        """A testbed that is unfit, or fails twice in a row, gets no other block."""
        reason = str(error) or type(error).__name__
        self._in_a_row[handed.testbed] += 1
        if not isinstance(error, BlockFailedError | ValueError) or self._in_a_row[handed.testbed] > 1:
            self._set_aside[handed.testbed] = reason
            self._note(f"{handed.testbed} gets no blocks: {reason}")
        else:
            self._failures[handed.block] += 1
            self._note(f"block {handed.block} failed on {handed.testbed}: {reason}")
        if self._failures[handed.block] == MOST_FAILURES:
            raise ClusterError(f"block {handed.block} failed {MOST_FAILURES} times, at last: {reason}")
        self._wait_again(handed.block)
        if self._testbeds and all(name in self._set_aside for name in self._testbeds.values()):
            reasons = "; ".join(f"{name}: {why}" for name, why in self._set_aside.items())
            raise ClusterError(f"no testbed is left: {reasons}")

    def _wait_again(self, block: int) -> None:
        held = any(handed.block == block for handed in self._handed.values())
        if block in self._left and not held:
            self._waiting.appendleft(block)
