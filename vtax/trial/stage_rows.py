"""What a traced trial found out as rows of the tables `stages` and `packets`."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from vtax.results import Row
from vtax.stages import Event, StageTimes
from vtax.trial.observed import Observed
from vtax.trial.tracing.path import TracePath
from vtax.trial.tracing.tracer import Traced

TOTAL, UNATTRIBUTED = "total", "unattributed"
QUANTILES = {"p50_ns": 20, "p90_ns": 100, "p99_ns": 1000}
"""With how many packets each is told at least: 10 / (1 - q)."""


def stage_rows(measured: Observed) -> list[Row]:
    """A row for each stage of each path, and one for all of it; none of a trial that is not traced."""
    traced = measured.traced
    if traced is None:
        return []
    of_trial: Row = {
        "trial_id": measured.trial,
        "strayed": traced.reading.unattributed,
        "lost_events": traced.reading.lost,
        "hook_ns": _hook_ns(traced),
    }
    rows: list[Row] = []
    for path, reading in zip(traced.paths, traced.reading.trails, strict=True):
        whose: Row = {**of_trial, "host": path.host, "guest": path.guest, "way": path.trail.name}
        rows += [
            {
                **whose,
                "direction": stage.direction,
                "stage": stage.name,
                "position": position,
                **_times(times),
            }
            for position, (stage, times) in enumerate(zip(path.trail.stages, reading.stages, strict=True))
        ]
        rows.append({**whose, "direction": path.trail.direction, "stage": TOTAL, **_times(reading.total)})
    return rows


def unattributed_row(measured: Observed, mean_ns: float, leg_of: Callable[[TracePath], object]) -> list[Row]:
    """What of a mean delay of the trial no stage has; none where a path had no packet.

    Ways of the same leg are of packets that go side by side, of which the mean counts once.
    """
    traced = measured.traced
    if traced is None or not all(reading.total.count for reading in traced.reading.trails):
        return []
    legs: dict[object, list[StageTimes]] = defaultdict(list)
    for path, reading in zip(traced.paths, traced.reading.trails, strict=True):
        legs[leg_of(path)].append(reading.total)
    in_stages = sum(_mean(totals) for totals in legs.values())
    row: Row = {
        "trial_id": measured.trial,
        "direction": "through",
        "stage": UNATTRIBUTED,
        "count": sum(reading.total.count for reading in traced.reading.trails),
        "mean_ns": mean_ns - in_stages,
    }
    return [row]


def packet_rows(measured: Observed) -> list[Row]:
    """A row for each moment of each packet that was kept, in the order in which packets came."""
    traced = measured.traced
    if traced is None:
        return []
    paths = {path.trail.name: path for path in traced.paths}
    numbers = _numbers(traced.events)
    return [
        {"trial_id": measured.trial, "packet": numbers[event.identity], **moment}
        for event in traced.events
        for moment in _moments(event, paths[event.trail.name])
    ]


def _moments(event: Event, path: TracePath) -> Iterator[Row]:
    trail = path.trail
    stages = [None, *(stage.label for stage in trail.stages)]
    for position, (point, stage, at_ns) in enumerate(zip(trail.points, stages, event.at_ns, strict=True)):
        yield {
            "host": path.host,
            "guest": path.guest,
            "way": trail.name,
            "position": position,
            "stage": stage,
            "function": point.hook,
            "interface": point.place.name,
            "at_ns": at_ns,
        }


def _numbers(events: Iterable[Event]) -> dict[str, int]:
    """Packets by when they were seen first: one has the same identity wherever it is."""
    firsts: dict[str, int] = {}
    for event in events:
        firsts[event.identity] = min(event.at_ns[0], firsts.get(event.identity, event.at_ns[0]))
    return {identity: number for number, identity in enumerate(sorted(firsts, key=lambda each: firsts[each]))}


def _times(times: StageTimes) -> Row:
    quantiles = {"p50_ns": times.p50_ns, "p90_ns": times.p90_ns, "p99_ns": times.p99_ns}
    return {
        "count": times.count,
        "min_ns": times.min_ns,
        "mean_ns": times.mean_ns,
        **{name: ns if times.count >= QUANTILES[name] else None for name, ns in quantiles.items()},
        "max_ns": times.max_ns,
        "histogram": times.histogram,
    }


def _mean(totals: Sequence[StageTimes]) -> float:
    return sum(total.sum_ns for total in totals) / sum(total.count for total in totals)


def _hook_ns(traced: Traced) -> float | None:
    """The mean over all runs of all hooks."""
    timed = [(hits, ns) for hits, ns in traced.reading.hooks.values() if ns is not None]
    runs = sum(hits for hits, _ in timed)
    return sum(hits * ns for hits, ns in timed) / runs if runs else None
