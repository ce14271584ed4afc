"""Testbeds whose trials last a known time: real workers of Dask, with TLS, that measure nothing.

    python -m bench.simulated FIRST COUNT ADDRESS CERTIFICATES

runs so many of them on the event loop of one process, until its standard input ends. A trial of theirs is slept through
and committed as any other; a block is packed, carried and collected as any other.
"""

import asyncio
import struct
import sys
import tempfile
import time
from pathlib import Path

import dask
from pydantic import JsonValue

import vtax
from vtax.cluster.certificates import Certificates
from vtax.cluster.nodes import Testbed, worker_options
from vtax.cluster.work import pack
from vtax.results import ResultWriter, Row, TrialRecord

TRIALS, TRIAL_S = 10, 0.3
"""Of a block: how many there are, and how long each is."""
WAIT_S = 20.0
"""How long a block without trials is."""
AT_ONCE = 8
"""Workers of a process that start together: each of them takes its CPU for some TLS handshakes."""
OF_THEIR_OWN = {
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.use-file-locking": False,
}
"""What a worker does for itself, and a scheduler never sees: a thousand would fill two CPUs with it. Dask looks whether
its loop is late 50 times a second, samples where its threads are 100 times, and its process's load twice."""


def campaign(blocks: int) -> dict[str, JsonValue]:
    """What campaign.json says of a simulated campaign."""
    return {
        "vtax_version": vtax.__version__,
        "name": "simulated",
        "scenario": {"name": "simulated", "factors": {"platform": ["raw"]}, "repetitions": blocks},
        "factors": ["platform"],
        "seed": 1,
        "status": "complete",
        "hosts": {},
        "testbed": {"name": "local"},
    }


def measure(blocks: int, block: int) -> bytes:
    """A block of the campaign of so many."""
    with tempfile.TemporaryDirectory() as directory:
        with ResultWriter.create(Path(directory) / "block", campaign(blocks)) as writer:
            for number in range(TRIALS):
                time.sleep(TRIAL_S)
                writer.commit(_record(number, block))
        return pack(Path(directory) / "block")


def wait(block: int) -> bytes:
    """A block that costs its testbed nothing but time; tells when it began, in seconds of the monotonic clock."""
    began_s = time.monotonic()
    time.sleep(WAIT_S)
    return struct.pack("d", began_s)


def began(content: bytes) -> float:
    """When a block began that `wait` measured."""
    (seconds,) = struct.unpack("d", content)
    return float(seconds)


def _record(number: int, block: int) -> TrialRecord:
    flow: Row = {"role": "victim", "guest": 0, "stream": 0, "received_mbps": 100.0}
    total: Row = {"host": "local", "domain": "host", "component": "total", "percent": 20.0}
    return TrialRecord(
        {"trial_id": number, "block": block, "cell": "platform=raw", "platform": "raw", "verdict": "valid"},
        [flow],
        cpu=[total],
        environment=[{"host": "local"}],
    )


async def main(first: int, count: int, address: str, certificates: Certificates) -> None:
    """Run the workers."""
    with dask.config.set(OF_THEIR_OWN), tempfile.TemporaryDirectory() as directory:
        options = (
            worker_options(f"sim-{first + number}", certificates, "127.0.0.1") for number in range(count)
        )
        workers = [Testbed(address, **own, local_directory=directory) for own in options]
        for some in range(0, count, AT_ONCE):
            await asyncio.gather(*workers[some : some + AT_ONCE])
        print("up", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await asyncio.gather(*(worker.close(executor_wait=False) for worker in workers))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Certificates(Path(sys.argv[4]))))
