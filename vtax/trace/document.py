"""What a trace has shown as the document of `vtax trace`."""

from vtax.documents import trace as documents
from vtax.stages import StageTimes, TrailReading
from vtax.trace.session import Drop, Result
from vtax.trace.tables import remarks, shown_times


def trace_document(result: Result) -> documents.Trace:
    """Return everything, without quantiles of too few packets."""
    reading = result.reading
    return documents.Trace(
        sample_every=result.every,
        elapsed_s=result.elapsed_s,
        followed=reading.followed if reading is not None else 0,
        strayed=reading.unattributed if reading is not None else 0,
        lost_events=reading.lost if reading is not None else 0,
        paths=[_path(each) for each in reading.trails] if reading is not None else [],
        drops=[_drop(drop) for drop in result.drops],
        hook_ns={name: ns for name, (_, ns) in reading.hooks.items()} if reading is not None else {},
        not_observed=remarks(result),
    )


def _path(reading: TrailReading) -> documents.Path:
    trail = reading.trail
    return documents.Path(
        name=trail.name,
        hooks=[
            documents.Hook(hook=point.hook, interface=point.place.name, packets=frames)
            for point, frames in zip(trail.points, reading.frames, strict=True)
        ],
        stages=[
            _stage(stage.label, times) for stage, times in zip(trail.stages, reading.stages, strict=True)
        ],
        total=_delays(reading.total),
    )


def _stage(stage: str, times: StageTimes) -> documents.StageDelays:
    shown = shown_times(times)
    return documents.StageDelays(
        stage=stage,
        count=shown.count,
        min_ns=shown.min_ns,
        mean_ns=shown.mean_ns,
        p50_ns=shown.p50_ns,
        p90_ns=shown.p90_ns,
        p99_ns=shown.p99_ns,
        max_ns=shown.max_ns,
    )


def _delays(times: StageTimes) -> documents.Delays:
    shown = shown_times(times)
    return documents.Delays(
        count=shown.count,
        min_ns=shown.min_ns,
        mean_ns=shown.mean_ns,
        p50_ns=shown.p50_ns,
        p90_ns=shown.p90_ns,
        p99_ns=shown.p99_ns,
        max_ns=shown.max_ns,
    )


def _drop(drop: Drop) -> documents.Drop:
    return documents.Drop(
        interface=drop.interface, arrived=drop.arrived, reason=drop.reason, packets=drop.packets
    )
