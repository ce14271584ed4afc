"""Where a campaign stands: what is committed, and therefore not measured again."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from vtax.results import Result, TrialRecord

ATTEMPTS = 3
"""How often an invalid trial is measured in all."""

_TRIALS = """
    SELECT trial_id, block, cell, search, step, run, intended_mbps, warmup_s, duration_s, wall_s, verdict, marks,
           frames_sent, frames_received, received_mbps
    FROM trials LEFT JOIN (
        SELECT trial_id, sum(frames_sent) AS frames_sent, sum(frames_received) AS frames_received,
               sum(coalesce(received_mbps, goodput_mbps)) AS received_mbps
        FROM flows WHERE role = 'victim' GROUP BY trial_id
    ) USING (trial_id) ORDER BY trial_id
"""


@dataclass(frozen=True)
class Trial:
    """A committed trial, as far as it decides what comes next. Frames and what is received are of all streams.

    Streams of data have no frames, and are received as goodput; echoes have neither.
    """

    number: int
    block: int
    place: str
    usable: bool
    search: str | None = None
    step: int | None = None
    intended_mbps: float = 0.0
    warmup_s: float = 0.0
    duration_s: float = 0.0
    wall_s: float = 0.0
    frames_sent: int = 0
    frames_received: int = 0
    received_mbps: float = 0.0
    marks: tuple[str, ...] = ()

    @classmethod
    def read(cls, row: dict[str, Any]) -> "Trial":
        """From a row of `trials` with the sums of its flows."""
        search, run = row["search"], row.get("run")
        own = row["cell"] if run is None else f"{row['cell']} run={run}"
        return cls(
            number=row["trial_id"],
            block=row["block"],
            place=own if search is None else f"{search} step={row['step']}",
            usable=row["verdict"] != "invalid",
            search=search,
            step=row["step"],
            intended_mbps=row.get("intended_mbps") or 0.0,
            warmup_s=row["warmup_s"] or 0.0,
            duration_s=row["duration_s"] or 0.0,
            wall_s=row["wall_s"] or 0.0,
            frames_sent=int(row["frames_sent"] or 0),
            frames_received=int(row["frames_received"] or 0),
            received_mbps=row["received_mbps"] or 0.0,
            marks=tuple(row["marks"] or ()),
        )

    @classmethod
    def of(cls, record: TrialRecord) -> "Trial":
        """From what is about to be committed; the same as what is read of it afterwards."""
        victim = [flow for flow in record.flows if flow["role"] == "victim"]
        sums: dict[str, float] = {
            name: sum(flow.get(name) or 0 for flow in victim) for name in ("frames_sent", "frames_received")
        }
        sums["received_mbps"] = sum(
            flow.get("received_mbps") or flow.get("goodput_mbps") or 0.0 for flow in victim
        )
        return cls.read({**record.trial, **sums})


class Standing:
    """The committed trials: which places of a block are measured, and with what result."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self.last_trial = 0
        self.wall_s = 0.0
        """Of all trials together."""
        self.usable: set[tuple[int, str]] = set()
        """Block and place of every usable trial."""
        self._attempts: dict[tuple[int, str], int] = defaultdict(int)
        self._received_mbps: dict[str, list[float]] = defaultdict(list)
        self._steps: dict[tuple[int, str], list[Trial]] = defaultdict(list)
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Take note of a committed trial."""
        at = (trial.block, trial.place)
        self.last_trial = max(self.last_trial, trial.number)
        self.wall_s += trial.wall_s
        self._attempts[at] += 1
        if trial.usable:
            self.usable.add(at)
            self._received_mbps[trial.place].append(trial.received_mbps)
            if trial.search is not None:
                self._steps[trial.block, trial.search].append(trial)

    def attempts(self, block: int, place: str) -> int:
        """Trials made at this place of the block."""
        return self._attempts.get((block, place), 0)

    def wants(self, block: int, place: str, attempts: int = ATTEMPTS) -> bool:
        """Whether the place is still to be measured in this block, given how many attempts it has in all."""
        return (block, place) not in self.usable and self.attempts(block, place) < attempts

    def received_mbps(self, place: str) -> list[float]:
        """What its usable trials received, one value a block."""
        return self._received_mbps.get(place, [])

    def steps(self, block: int, search: str) -> list[Trial]:
        """The usable trials of a search in this block, in their order, up to one that was lost."""
        return _whole(self._steps.get((block, search), []))

    def searches(self, search: str) -> list[list[Trial]]:
        """The same of every block."""
        return [_whole(trials) for (_, name), trials in self._steps.items() if name == search]


def _whole(trials: list[Trial]) -> list[Trial]:
    by_step = {trial.step: trial for trial in trials}
    return [by_step[step] for step in takewhile(by_step.__contains__, range(len(by_step)))]


def standing_of(result: Result) -> Standing:
    """The standing of a result."""
    return Standing(Trial.read(row) for row in result.query(_TRIALS).to_pylist())
