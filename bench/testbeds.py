"""What a campaign over several testbeds costs beside its trials: hand-out, collection, the scheduler, and a merge."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from distributed import Client, Future

from bench import large_result, simulated
from bench.figure import Figure, Section, sample_text
from vtax.cluster.certificates import Certificates, make_certificates
from vtax.cluster.collect import take
from vtax.cluster.engine import Engine
from vtax.results import Delivered, MergedWriter, merge

BLOCKS = 16
SHARED = (1, 2, 4)
LEAST_SPEEDUP = 3.6
"""Of four testbeds against one: nine tenths of what they could do."""
CROWDS = (10, 100, 1000)
A_PROCESS = 250
"""As many workers as share a process where there are very many."""
ROUNDS = 2
IDLE_S = 10.0
MERGED = 4
TEXT = f"""
Testbeds are simulated: workers of Dask, with TLS, whose {simulated.TRIALS} trials a block last
{simulated.TRIAL_S:g} s each and are committed, packed, carried and merged by the code of real campaigns.
*Speed-up* is the wall time of {BLOCKS} blocks on one testbed over that on several.

*Scheduler's load* is the CPU time of its process in /proc (100 % is one CPU), first for {IDLE_S:g} s in which that many
testbeds have nothing to do, then while each has {ROUNDS} blocks of {simulated.WAIT_S:g} s; its memory is the most that
was resident. *Hand-out* is the time from the controller's submitting a block until the testbed begins it; in the first
round all are submitted at once. Up to {A_PROCESS} workers share a process and its event loop, each with TLS connections
of its own; what a worker does for itself alone (profiling, watching its loop and load) is off or rare. All of them run
on the CPUs that the scheduler has too.

The merge is of {MERGED} results with 250,000 trials each.
"""


def run(directory: Path) -> Section:
    """Measure all of it; files go below `directory`."""
    return Section("Testbeds", TEXT, (*speedups(directory), *loads(directory), *merging(directory)))


def speedups(directory: Path) -> list[Figure]:
    """One campaign on one testbed, two, and four."""
    took_s = {count: _campaign_s(directory / f"share-{count}", count) for count in SHARED}
    figures = []
    for count, seconds in took_s.items():
        speedup = took_s[1] / seconds
        figures.append(
            Figure(
                f"{count} testbed{'s' if count > 1 else ''}: {BLOCKS} blocks",
                f"{seconds:.1f} s, efficiency {speedup / count:.0%}",
                "none",
                f"at least {LEAST_SPEEDUP:g}" if count == 4 else "",
                speedup,
                None,
                None,
                speedup >= LEAST_SPEEDUP if count == 4 else None,
            )
        )
    return figures


def loads(directory: Path, crowds: tuple[int, ...] = CROWDS) -> list[Figure]:
    """The scheduler's load, and how soon a block begins, by the number of testbeds."""
    figures = []
    for count in crowds:
        load = _load(directory / f"crowd-{count}", count)
        scheduler = (
            f"{100 * load.idle:.0f} % of a CPU idle, {100 * load.busy:.0f} % with blocks of {simulated.WAIT_S:g} s, "
            f"{load.memory_bytes / 2**20:.0f} MiB"
        )
        first, later = (sample_text((1000 * each for each in waits), "ms", 0) for waits in load.waits_s)
        hand_out = f"first round {first}; later {later}"
        for what, text in (("scheduler's load", scheduler), ("hand-out", hand_out)):
            figures.append(Figure(f"{count} testbeds: {what}", text, "none", "", None, None, None, None))
    return figures


def merging(directory: Path, trials: int = large_result.TRIALS) -> list[Figure]:
    """Time to merge a million trials, and the volume of what comes of it."""
    parts = []
    for number in range(MERGED):
        made = directory / f"part-{number}"
        if not made.exists():
            large_result.make(made, trials, number, share=(number, MERGED))
        parts.append(made)
    begun = time.perf_counter()
    merged = directory / "merged"
    merge([Delivered.open(part, f"testbed-{number}") for number, part in enumerate(parts)], merged)
    seconds = time.perf_counter() - begun
    megabytes = sum(path.stat().st_size for path in merged.rglob("*")) / 1e6
    return [
        Figure(f"merge, {trials:,} trials", f"{seconds:.1f} s", "none", "", None, None, None, None),
        Figure(f"result of {trials:,} trials", f"{megabytes:.0f} MB", "none", "", None, None, None, None),
    ]


def _campaign_s(directory: Path, count: int) -> float:
    with (
        _workers(directory, count, count) as (client, _),
        MergedWriter.begin(directory / "out", simulated.campaign(BLOCKS)) as writer,
    ):
        return _wall_s(
            client,
            partial(simulated.measure, BLOCKS),
            lambda block, testbed, content: take(writer, block, testbed, content) and None,
            BLOCKS,
        )


@dataclass(frozen=True)
class Load:
    """Of a scheduler: shares of a CPU, the most memory that was resident; seconds from submitting to beginning a block,
    of those of the first round and of later ones."""

    idle: float
    busy: float
    memory_bytes: int
    waits_s: tuple[list[float], list[float]]


class TimedClient(Client):  # type: ignore[misc]
    """Notes when each block was submitted, in seconds of the monotonic clock."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self.submitted_s: dict[int, float] = {}
        super().__init__(*arguments, **options)

    def submit(self, measure: Callable[[int], bytes], block: int, **options: object) -> Future:
        """As Client's."""
        self.submitted_s[block] = time.monotonic()
        return super().submit(measure, block, **options)


def _load(directory: Path, count: int) -> Load:
    with _workers(directory, count, -(-count // A_PROCESS)) as (client, scheduler):
        before_s = _cpu_s(scheduler)
        time.sleep(IDLE_S)
        idle = (_cpu_s(scheduler) - before_s) / IDLE_S
        waits_s: dict[int, float] = {}

        def collect(block: int, _testbed: str, content: bytes) -> None:
            waits_s[block] = simulated.began(content) - client.submitted_s[block]

        before_s = _cpu_s(scheduler)
        wall_s = _wall_s(client, simulated.wait, collect, ROUNDS * count)
        busy = (_cpu_s(scheduler) - before_s) / wall_s
        first, later = range(count), range(count, ROUNDS * count)
        rounds = [waits_s[block] for block in first], [waits_s[block] for block in later]
        return Load(idle, busy, _most_memory_bytes(scheduler), rounds)


def _wall_s(
    client: Client, measure: Callable[[int], bytes], collect: Callable[[int, str, bytes], None], blocks: int
) -> float:
    begun = time.perf_counter()
    Engine(client, lambda: client, measure, collect, print).run(range(blocks))
    return time.perf_counter() - begun


@contextlib.contextmanager
def _workers(directory: Path, count: int, processes: int) -> Iterator[tuple[TimedClient, int]]:
    """A scheduler and workers in processes of their own; yields a client, and the scheduler's process."""
    certificates = make_certificates(directory / "certificates")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a worker has four connections
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        file = Path(scratch) / "scheduler.json"
        scheduler = stack.enter_context(_scheduler(certificates, file))
        address = json.loads(file.read_text())["address"]
        started = []
        for number in range(processes):
            first, last = count * number // processes, count * (number + 1) // processes
            words = [str(first), str(last - first), address, str(certificates.directory)]
            command = [sys.executable, "-m", "bench.simulated", *words]
            started.append(
                stack.enter_context(
                    subprocess.Popen(
                        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                    )
                )
            )
        for process in started:
            if process.stdout is None or process.stdout.readline() != b"up\n":
                raise RuntimeError("a simulated testbed did not come up")
        client = stack.enter_context(
            TimedClient(address, security=certificates.security("client"), timeout=60)
        )
        yield client, scheduler
        client.close()
        for process in started:
            process.communicate()


@contextlib.contextmanager
def _scheduler(certificates: Certificates, file: Path) -> Iterator[int]:
    security = {
        "require_encryption": True,
        "tls_ca_file": str(certificates.authority),
        "tls_scheduler_cert": str(certificates.of("scheduler")),
    }
    options = {"host": "127.0.0.1", "port": 0, "protocol": "tls", "security": security}
    spec = json.dumps(
        {"cls": "vtax.cluster.nodes.Scheduler", "opts": {**options, "scheduler_file": str(file)}}
    )
    command = [sys.executable, "-m", "distributed.cli.dask_spec", "--spec", spec]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not file.exists():
            if process.poll() is not None:
                raise RuntimeError("the scheduler did not come up")
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _most_memory_bytes(pid: int) -> int:
    (line,) = (
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) * 1024
