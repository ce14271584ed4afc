"""Handing out blocks, on workers in this process: each block is collected once, whatever testbeds do."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster, get_worker
from tornado.ioloop import PeriodicCallback

from vtax.cluster import engine
from vtax.cluster.engine import Engine
from vtax.cluster.errors import ClusterError
from vtax.cluster.work import RESOURCE, BlockFailedError, UnfitTestbedError

BLOCKS = range(7)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(engine, "LOOK_S", 0.1)
    monkeypatch.setattr(engine, "STRAGGLES", 10_000.0)  # a busy machine makes no straggler
    with (
        LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=False,
            resources={RESOURCE: 1},
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as made,
    ):
        yield made


class Behaviour:
    """What testbeds do; the tasks find it here, for they run in this process."""

    act: Callable[[int, str], None]
    free = threading.Event()
    lock = threading.Lock()
    tried: list[tuple[int, str]]
    at_once: int
    most: int


def behave(act: Callable[[int, str], None]) -> None:
    Behaviour.act, Behaviour.tried = staticmethod(act), []
    Behaviour.free.clear()


def measure(block: int) -> bytes:
    testbed = str(get_worker().name)
    with Behaviour.lock:
        Behaviour.tried.append((block, testbed))
    Behaviour.act(block, testbed)
    return f"{block} from {testbed}".encode()


class Collected:
    def __init__(self) -> None:
        self.blocks: dict[int, str] = {}
        self.notes: list[str] = []

    def take(self, block: int, testbed: str, content: bytes) -> None:
        assert block not in self.blocks
        assert content == f"{block} from {testbed}".encode()
        self.blocks[block] = testbed


def hand_out(client: Client, collect: Any = None) -> Collected:
    collected = Collected()
    try:
        Engine(client, lambda: client, measure, collect or collected.take, collected.notes.append).run(BLOCKS)
    finally:
        Behaviour.free.set()
    assert set(collected.blocks) == set(BLOCKS) or collect
    return collected


def test_each_block_is_measured_once(client: Client) -> None:
    behave(lambda block, testbed: None)
    collected = hand_out(client)
    assert sorted(block for block, _ in Behaviour.tried) == list(BLOCKS)
    assert collected.notes == []


def test_a_testbed_has_one_block_at_a_time(client: Client) -> None:
    own: dict[str, threading.Lock] = {}

    def alone(block: int, testbed: str) -> None:
        lock = own.setdefault(testbed, threading.Lock())
        assert lock.acquire(blocking=False)
        try:
            assert not Behaviour.free.wait(0.05)
        finally:
            lock.release()

    behave(alone)
    assert hand_out(client).notes == []


def test_no_testbed_is_missed_while_dask_asks_for_itself(client: Client) -> None:
    """Dask's client asks from time to time how many workers there are, and keeps the answer where others look."""

    def take_time(block: int, testbed: str) -> None:
        assert not Behaviour.free.wait(0.3)

    often = PeriodicCallback(client._update_scheduler_info, 1)
    client.loop.add_callback(often.start)
    behave(take_time)
    try:
        assert hand_out(client).notes == []
    finally:
        client.loop.add_callback(often.stop)


def test_a_block_that_fails_is_handed_out_again(client: Client) -> None:
    def fail_once(block: int, testbed: str) -> None:
        if block == 2 and [tried for tried, _ in Behaviour.tried].count(2) == 1:
            raise BlockFailedError("the host is in use")

    behave(fail_once)
    (note,) = hand_out(client).notes
    assert note.startswith("block 2 failed on ")
    assert note.endswith(": the host is in use")


def test_a_block_that_fails_everywhere_stops_the_campaign(client: Client) -> None:
    def fail(block: int, testbed: str) -> None:
        if block == 2:
            raise BlockFailedError("no such thing")

    behave(fail)
    with pytest.raises(
        ClusterError, match=r"no testbed is left|block 2 failed 3 times, at last: no such thing"
    ):
        hand_out(client)


def test_an_unfit_testbed_gets_no_other_block(client: Client) -> None:
    def unfit(block: int, testbed: str) -> None:
        if testbed == "1":
            raise UnfitTestbedError("it has another vtax")

    behave(unfit)
    collected = hand_out(client)
    assert [testbed for _, testbed in Behaviour.tried].count("1") == 1
    assert collected.notes == ["1 gets no blocks: it has another vtax"]


def test_a_testbed_whose_disk_fails_gets_no_other_block(client: Client) -> None:
    """Dask's own errors, by which a testbed is known to be gone, are OSErrors too."""

    def full(block: int, testbed: str) -> None:
        if testbed == "1":
            raise OSError(28, "No space left on device")

    behave(full)
    collected = hand_out(client)
    assert [testbed for _, testbed in Behaviour.tried].count("1") == 1
    assert collected.notes == ["1 gets no blocks: [Errno 28] No space left on device"]


def test_a_campaign_without_testbeds_says_so_once_and_goes_on_when_one_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "LOOK_S", 0.05)
    monkeypatch.setattr(engine, "ALONE_S", 0.2)
    behave(lambda block, testbed: None)
    collected = Collected()
    worker = {"threads_per_worker": 1, "resources": {RESOURCE: 1}}
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None, **worker) as cluster,
        Client(cluster) as client,
    ):

        def note(text: str) -> None:
            collected.notes.append(text)
            cluster.scale(1)

        Engine(client, lambda: client, measure, collected.take, note).run(BLOCKS)
    assert set(collected.blocks) == set(BLOCKS)
    assert collected.notes == ["no testbed has been there for 0 s; the blocks left wait for one"]


def test_without_a_fit_testbed_the_campaign_stops(client: Client) -> None:
    def unfit(block: int, testbed: str) -> None:
        raise UnfitTestbedError("it has another vtax")

    behave(unfit)
    with pytest.raises(ClusterError, match=r"no testbed is left: .*1: it has another vtax"):
        hand_out(client)


def test_a_delivery_that_is_no_result_is_measured_again(client: Client) -> None:
    behave(lambda block, testbed: None)
    taken: list[int] = []

    def collect(block: int, testbed: str, content: bytes) -> None:
        taken.append(block)
        if block == 4 and taken.count(4) == 1:
            raise ValueError("block 4 is not whole")

    hand_out(client, collect)
    assert sorted(taken) == sorted([*BLOCKS, 4])


def test_a_late_block_is_measured_elsewhere_and_kept_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "STRAGGLES", 2.0)

    def late(block: int, testbed: str) -> None:
        if block == 1 and [tried for tried, _ in Behaviour.tried].count(1) == 1:
            Behaviour.free.wait()

    behave(late)
    collected = hand_out(client)
    slow = next(testbed for block, testbed in Behaviour.tried if block == 1)
    assert collected.blocks[1] != slow
    assert f"block 1 takes {slow} long; another testbed has it too" in collected.notes
    assert f"block 1 is not waited for any more from {slow}" in collected.notes


def test_a_full_disk_stops_the_campaign(client: Client) -> None:
    behave(lambda block, testbed: None)

    def collect(block: int, testbed: str, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        hand_out(client, collect)
