"""Rounds in which every sender has its turn, and what they say of vtax against a peer."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.figure import Figure, sample_text
from bench.ground import Ground
from bench.senders import Sender
from vtax.statistics import paired_ratio

ROUNDS = 7


@dataclass
class Rates:
    """Frames a second of each sender by round, and the last words of those that sent none, once a round."""

    fps: dict[str, dict[int, float]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A sender's median, least, greatest and n, in Mpps; or that there is none."""
        return mpps_text(self.fps[name].values()) if self.fps.get(name) else f"{name}: not measured"


def in_rounds(ground: Ground, senders: Sequence[Sender], frame_bytes: int) -> Rates:
    """The rate of each at the far end, by turns; each round begins with another one.

    A round before the first counts for nothing: in it, programs are read from the disk.
    """
    rates = Rates()
    for number in range(-1, ROUNDS):
        first = number % len(senders)
        for sender in (*senders[first:], *senders[:first]):
            with ground.counting(frame_bytes) as counter:
                words = sender.flood(ground, frame_bytes)
                fps = counter.read().fps
            if number < 0:
                continue
            if fps is None:
                rates.words.setdefault(sender.name, []).append(words)
            else:
                rates.fps.setdefault(sender.name, {})[number] = fps
    return rates


def against(
    name: str, rates: Rates, ours: Sender, peers: Iterable[Sender], least: float | None = None
) -> Figure:
    """vtax against the fastest of the peers; at least so many times as fast, where that is required."""
    measured = [peer for peer in peers if rates.fps.get(peer.name)]
    silent = [
        f"{peer.name} sent nothing in {len(words)} of {ROUNDS} rounds: `{words[-1]}`"
        for peer in peers
        if (words := rates.words.get(peer.name))
    ]
    required = "" if least is None else f"at least {least:g} x"
    note = ". ".join(silent) or None
    if not measured or not rates.fps.get(ours.name):
        holds = None if least is None else False
        return Figure(name, rates.text(ours.name), "", required, None, None, None, holds, note)
    best = max(measured, key=lambda peer: statistics.median(rates.fps[peer.name].values()))
    ratio = paired_ratio(rates.fps[ours.name], rates.fps[best.name])
    if ratio is None:
        raise ArithmeticError(f"{name}: no round has both {ours.name} and {best.name}")
    holds = None if least is None else ratio.low is not None and ratio.low >= least
    peer_text = f"{best.name}: {rates.text(best.name)}"
    return Figure(
        name,
        f"{ours.name}: {rates.text(ours.name)}",
        peer_text,
        required,
        ratio.mean,
        ratio.low,
        ratio.high,
        holds,
        note,
    )


def mpps_text(values: Iterable[float]) -> str:
    """Median, least, greatest and n of rates in frames a second."""
    return sample_text((value / 1e6 for value in values), "Mpps", 3)
