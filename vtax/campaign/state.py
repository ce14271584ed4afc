"""Where a campaign stands: what is committed, and therefore not measured again."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

import msgspec
from msgspec import Struct

from vtax.results import Result, Row, TrialRecord, number, whole
from vtax.trial.canary import Band

ATTEMPTS = 3
"""How often an invalid trial is measured in all."""

LOAD_COLUMN = "intended_mbps"
"""What a search varies; kinds of workload that none is made of have no such column."""

_TRIALS = """
    SELECT trial_id, block, cell, search, step, run, {load} AS intended_mbps, warmup_s, duration_s, wall_s, verdict,
           marks, frames_sent, frames_received, received_mbps
    FROM trials LEFT JOIN (
        SELECT trial_id, sum(frames_sent)::BIGINT AS frames_sent,
               sum(frames_received)::BIGINT AS frames_received,
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
    def read(cls, row: Row) -> "Trial":
        """From a row of `trials` with the sums of its flows."""
        read = msgspec.convert(row, _Committed)
        own = read.cell if read.run is None else f"{read.cell} run={read.run}"
        return cls(
            number=read.trial_id,
            block=read.block,
            place=own if read.search is None else f"{read.search} step={read.step}",
            usable=read.verdict != "invalid",
            search=read.search,
            step=read.step,
            intended_mbps=read.intended_mbps or 0.0,
            warmup_s=read.warmup_s or 0.0,
            duration_s=read.duration_s or 0.0,
            wall_s=read.wall_s or 0.0,
            frames_sent=read.frames_sent or 0,
            frames_received=read.frames_received or 0,
            received_mbps=read.received_mbps or 0.0,
            marks=read.marks or (),
        )

    @classmethod
    def of(cls, record: TrialRecord) -> "Trial":
        """From what is about to be committed; the same as what is read of it afterwards."""
        victim = [flow for flow in record.flows if flow["role"] == "victim"]
        sums: Row = {
            "frames_sent": sum(whole(flow.get("frames_sent") or 0) for flow in victim),
            "frames_received": sum(whole(flow.get("frames_received") or 0) for flow in victim),
            "received_mbps": sum(
                number(flow.get("received_mbps") or flow.get("goodput_mbps") or 0.0) for flow in victim
            ),
        }
        return cls.read({**record.trial, **sums})


class _Committed(Struct):
    """The columns that are read of a trial, and the sums of its flows."""

    trial_id: int
    block: int
    cell: str
    verdict: str
    search: str | None = None
    step: int | None = None
    run: int | None = None
    intended_mbps: float | None = None
    warmup_s: float | None = None
    duration_s: float | None = None
    wall_s: float | None = None
    frames_sent: int | None = None
    frames_received: int | None = None
    received_mbps: float | None = None
    marks: tuple[str, ...] | None = None


class CampaignState:
    """The committed trials: which places of a block are measured, and with what result."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        self.last_trial = 0
        self.wall_s = 0.0
        """Of all trials together."""
        self.usable: set[tuple[int, str]] = set()
        """Block and place of every usable trial."""
        self.band = Band()
        """How fast the CPUs were."""
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


def state_of(result: Result) -> CampaignState:
    """Return the state that the committed trials of a result make up."""
    has_loads = LOAD_COLUMN in result.tables["trials"].schema.names
    rows = result.query(_TRIALS.format(load=LOAD_COLUMN if has_loads else "NULL::DOUBLE"))
    state = CampaignState(Trial.read(row) for row in rows.to_pylist())
    state.band.add(result.rows("SELECT * FROM canary ORDER BY trial_id"))
    return state
