"""What a source did with the measured window: it waited for room, was on its CPU, or was kept off it."""

from dataclasses import dataclass
from statistics import fmean

from vtax.agent_api import ProcessTime, SourceThread
from vtax.trial.frames.answers import StreamSent
from vtax.trial.frames.measured import Measured

FOREIGN = "foreign"
"""The component of a source's CPU time that processes which are not vtax's had."""


@dataclass(frozen=True)
class ThreadShares:
    """One of a source's threads, as shares of the window."""

    ran: float
    """It was on its CPU."""
    kept_off: float
    """It was ready, and something else was on its CPU."""


@dataclass(frozen=True)
class PauseShare:
    """What a paced source saw of pauses: times of 5 µs or more between two looks at the clock with no send or sleep."""

    paused_ns: int
    watched_ns: int
    longest_ns: int

    @property
    def share(self) -> float:
        """Their share of the time that it watched."""
        return self.paused_ns / self.watched_ns


def pauses_of(thread: SourceThread) -> PauseShare | None:
    """Return the pauses of a source's thread; None of a flood, and of one that had frames to send all the time."""
    pauses = thread.pauses
    if pauses is None or not pauses.watched_ns:
        return None
    return PauseShare(pauses.paused_ns, pauses.watched_ns, pauses.longest_ns)


def waited_share(stream: StreamSent) -> float | None:
    """Return the share of the window in which a stream waited for room; None where its mechanism does not report it.

    Of a stream of several strands it is the mean of theirs.
    """
    phase = stream.phase()
    if phase.waited_ns is None:
        return None
    return min(1.0, phase.waited_ns / (phase.end_ns - phase.start_ns) / len(phase.strand_frames))


def thread_shares(measured: Measured, host: str, thread: SourceThread) -> ThreadShares | None:
    """Return what a thread of the source on `host` did; None where its kernel does not account for it."""
    if thread.time is None:
        return None
    phase = next(stream for stream in measured.source.streams if stream.host == host).phase()
    window_ns = phase.end_ns - phase.start_ns
    # The thread is read just outside the window.
    return ThreadShares(
        min(1.0, thread.time.run_ns / window_ns), min(1.0, thread.time.run_delay_ns / window_ns)
    )


def stream_shares(measured: Measured, stream: StreamSent) -> ThreadShares | None:
    """Return what the threads of a stream's strands did, in the mean; None where one of them is not accounted for."""
    threads = {thread.cpu: thread for thread in measured.source.hosts[stream.host].threads}
    found: list[ThreadShares] = []
    for cpu in stream.cpus:
        thread = threads.get(cpu)
        shares = None if thread is None else thread_shares(measured, stream.host, thread)
        if shares is None:
            return None
        found.append(shares)
    if not found:
        return None
    return ThreadShares(fmean(shares.ran for shares in found), fmean(shares.kept_off for shares in found))


def beside_share(measured: Measured, stream: StreamSent) -> float:
    """Return what of a stream's CPUs neighbours' frames take, which leave from the first source's first one."""
    host, source = next(iter(measured.source.hosts.items()))
    if stream.host != host or not source.threads:
        return 0.0
    on_it = sum(cpu == source.threads[0].cpu for cpu in stream.cpus)
    return measured.beside.source_share * on_it / max(1, len(stream.cpus))


def most_beside(thread: SourceThread) -> ProcessTime | None:
    """Return the process that had the CPU of a source's thread longest beside it; None where none is known."""
    return max(thread.others, key=lambda process: process.run_ns) if thread.others else None


def foreign_share(measured: Measured, host: str, thread: SourceThread) -> float | None:
    """Return the share of the window in which processes not of vtax's had the CPU of a thread of the source on `host`.

    None where its kernel does not tell, or nobody can tell whose its machine's processes are: away from the UUT's.
    """
    if thread.others is None or measured.interference is None or host not in measured.beside_uut:
        return None
    foreign = {
        process["pid"] for activity in measured.interference for process in activity["others"].values()
    }
    run_ns = sum(process.run_ns for process in thread.others if process.pid in foreign)
    return min(1.0, run_ns / 1e9 / measured.window_s)
