"""The largest answers of agents: what it takes to read one as its type, beside the standard library's JSON."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from msgspec import to_builtins

from bench.figure import Figure, Section, sample_text
from bench.histograms import as_filed, encode_all
from vtax.agent_api import (
    MOST_CAPTURED_FRAMES,
    CapturedFrame,
    Durations,
    RelaySamplesAnswer,
    SinkCaptureAnswer,
    SinkHistogramsAnswer,
)
from vtax.agent_message import Message
from vtax.machine.agent import _parsed, read_answer
from vtax.statistics.paired import paired_ratio

ROUNDS = 300
LINES = {"relay": 1500, "capture": 100}
"""What an answer holds at most, since a line has 64 KiB."""
RELAY_ITERATIONS, STREAMS, SAMPLES = 10_000, 8, 10_000
LINE_LIMIT_BYTES = 1 << 20
GREATEST_RATIO = 1.0
TEXT = f"""
All answers that a trial has of one kind, as lines: each is read as its type, with every bound checked. The peer is
`json.loads` of the same lines, which checks nothing. {ROUNDS} times each by turns.
"""


def run(directory: Path) -> Section:
    """Read the answers in turns."""
    rng = np.random.default_rng(1)
    return Section(
        "Answers of agents",
        TEXT,
        (
            _read("Relay run of 10,000 rounds", "relay.samples", relay(rng)),
            _read("Histograms of eight streams", "sink.histograms", histograms(rng)),
            _read("1,024 captured frames", "sink.capture", captures()),
        ),
    )


def relay(rng: np.random.Generator) -> list[Message]:
    """The rounds of a run, about 100 µs each."""
    ns = [int(each) for each in rng.lognormal(np.log(100_000), 0.3, RELAY_ITERATIONS)]
    pieces = [ns[at : at + LINES["relay"]] for at in range(0, len(ns), LINES["relay"])]
    return [RelaySamplesAnswer(iterations=RELAY_ITERATIONS, ns=piece, undone=[]) for piece in pieces]


def histograms(rng: np.random.Generator) -> list[Message]:
    """All times of each stream's frames."""
    shape = len(SinkHistogramsAnswer.__struct_fields__) * STREAMS, SAMPLES
    texts = iter(encode_all(as_filed(rng.lognormal(np.log(10_000), 0.5, shape).astype(np.int64))))
    return [
        SinkHistogramsAnswer(
            **{name: _durations(next(texts)) for name in SinkHistogramsAnswer.__struct_fields__}
        )
        for _ in range(STREAMS)
    ]


def _durations(histogram: str) -> Durations:
    return Durations(
        count=SAMPLES,
        histogram=histogram,
        max_ns=99_000,
        mean_ns=11_331.5,
        min_ns=1_200,
        p50_ns=10_048,
        p90_ns=18_944,
        p99_ns=32_000,
        p999_ns=47_000,
    )


def captures() -> list[Message]:
    """All frames that a sink may keep of a stream, with 256 bytes each."""
    frames = [
        CapturedFrame(bytes="A" * 344, frame_bytes=1514, time_ns=10**15 + number)
        for number in range(MOST_CAPTURED_FRAMES)
    ]
    size = LINES["capture"]
    return [
        SinkCaptureAnswer(captured=len(frames), clock_offset_ns=10**18, frames=frames[at : at + size])
        for at in range(0, len(frames), size)
    ]


def _read(name: str, method: str, answers: Sequence[Message]) -> Figure:
    """Microseconds that reading all of them takes, over what the peer takes."""
    lines = [_line(answer) for answer in answers]
    kind = type(answers[0])

    def ours() -> None:
        for line in lines:
            read_answer("agent", method, _parsed(line, LINE_LIMIT_BYTES).result, kind)

    def theirs() -> None:
        for line in lines:
            json.loads(line)

    taken: dict[Callable[[], None], dict[int, float]] = {ours: {}, theirs: {}}
    for number in range(ROUNDS):
        for read in (ours, theirs) if number % 2 else (theirs, ours):
            began = time.perf_counter()
            read()
            taken[read][number] = 1e6 * (time.perf_counter() - began)
    ratio = paired_ratio(taken[ours], taken[theirs])
    assert ratio is not None  # noqa: S101 - no time is zero
    return Figure(
        name,
        sample_text(taken[ours].values(), "µs", 0),
        f"json.loads: {sample_text(taken[theirs].values(), 'µs', 0)}",
        f"at most {GREATEST_RATIO:g} x",
        ratio.mean,
        ratio.low,
        ratio.high,
        ratio.high is not None and ratio.high <= GREATEST_RATIO,
    )


def _line(answer: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": to_builtins(answer)}).encode() + b"\n"
