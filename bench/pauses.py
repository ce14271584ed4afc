"""How long the machine itself stops a CPU: what a loop sees that does nothing but read the clock there."""

import gc
import os
import time
from dataclasses import dataclass

LOOK_S = 0.3
NOTICED_NS = 5_000


@dataclass(frozen=True)
class Pauses:
    """Pauses beyond NOTICED_NS in so many nanoseconds."""

    lengths_ns: tuple[int, ...]
    elapsed_ns: int

    def share_of_gaps(self, gap_ns: float) -> float:
        """Share of departures, `gap_ns` apart, whose gap these pauses make wrong by more than NOTICED_NS.

        For a source that sends at once what is overdue, as delays that count from when a frame was due need it. A
        pause shorter than the gap meets a departure with the probability of their lengths, and spoils the gap before
        it and the one behind it. A longer one spoils the gap that it begins in; those of the frames that fall due
        meanwhile, since they leave together; and the next, unless little is left of it.
        """
        gaps = self.elapsed_ns / gap_ns
        return sum(self._spoilt(length, gap_ns) for length in self.lengths_ns) / gaps

    @staticmethod
    def _spoilt(length: int, gap_ns: float) -> float:
        if length < gap_ns:
            return 2 * (length - NOTICED_NS) / gap_ns
        if gap_ns <= NOTICED_NS:
            return 1.0
        return length / gap_ns + 1 - NOTICED_NS / gap_ns

    def text(self) -> str:
        """How often and how long, in words."""
        each_s = len(self.lengths_ns) / self.elapsed_ns * 1e9
        longest = max(self.lengths_ns, default=0)
        return (
            f"{each_s:.0f} pauses a second beyond {NOTICED_NS / 1000:g} us, "
            f"{sum(self.lengths_ns) / self.elapsed_ns:.2%} of the time, the longest {longest / 1000:.0f} us"
        )


def pauses(cpu: int) -> Pauses:
    """Read the clock on a CPU for LOOK_S, and nothing else."""
    affinity = os.sched_getaffinity(0)
    collecting = gc.isenabled()
    lengths = []
    try:
        gc.disable()
        os.sched_setaffinity(0, {cpu})
        clock = time.monotonic_ns
        begun = before = clock()
        end = begun + round(LOOK_S * 1e9)
        while before < end:
            now = clock()
            if now - before > NOTICED_NS:
                lengths.append(now - before)
            before = now
        return Pauses(tuple(lengths), before - begun)
    finally:
        os.sched_setaffinity(0, affinity)
        if collecting:
            gc.enable()


def together(looks: list[Pauses]) -> Pauses:
    """Several looks as one."""
    lengths = tuple(length for look in looks for length in look.lengths_ns)
    return Pauses(lengths, sum(look.elapsed_ns for look in looks))
