"""From a source to a sink: what frames take, and when it carries them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vtax.campaign.path import PathFailed
from vtax.testbed.host import Host

READY_FRAMES = 200
READY_FPS = 1000
READY_LIMIT_S = 10.0
READY_TRIAL = 0xFFFFFFFF
"""Trial number that readiness frames carry; trials count from 1."""


@dataclass(frozen=True)
class Passage:
    """An agent that has a source open, and one that has its sink."""

    source: Host
    source_agent: str
    sink: Host
    sink_agent: str

    def ask_source(self, method: str, params: dict[str, Any], timeout_s: float = 10.0) -> Any:
        """Call a method of the source's agent."""
        return self.source.call(self.source_agent, method, params, timeout_s)

    def ask_sink(self, method: str, params: dict[str, Any]) -> Any:
        """Call a method of the sink's agent."""
        return self.sink.call(self.sink_agent, method, params)

    def await_ready(self, frame_bytes: int, last_words: Callable[[], str]) -> None:
        """Until 200 consecutive frames at 1000 a second arrived on every stream; raises PathFailed after 10 s."""
        deadline = time.monotonic() + READY_LIMIT_S
        while True:
            runs = self._probe(frame_bytes)
            short = {stream: run for stream, run in runs.items() if run < READY_FRAMES}
            if not short:
                return
            if time.monotonic() > deadline:
                lacking = ", ".join(f"stream {stream}: {run}" for stream, run in short.items())
                raise PathFailed(
                    f"no {READY_FRAMES} consecutive frames came through within {READY_LIMIT_S:g} s ({lacking})\n"
                    f"{last_words()}"
                )

    def _probe(self, frame_bytes: int) -> dict[int, int]:
        """The longest run of consecutive frames on each stream."""
        duration_s = (READY_FRAMES + 10) / READY_FPS
        self.ask_sink("sink.arm", {"trial": READY_TRIAL, "phase": "probe", "frame_bytes": frame_bytes})
        sent = self.ask_source(
            "source.run",
            {
                "trial": READY_TRIAL,
                "frame_bytes": frame_bytes,
                "mechanism": "raw",
                "intended_fps": READY_FPS,
                "probe_fps": READY_FPS,
                "phases": [{"phase": "probe", "duration_s": duration_s}],
            },
        )
        expected = [
            {"stream": stream["stream"], "frames": stream["phases"][0]["frames_sent"]}
            for stream in sent["streams"]
        ]
        got = self.ask_sink("sink.collect", {"expected": expected, "quiet_ms": 50, "limit_ms": 500})
        return {stream["stream"]: stream["longest_run"] for stream in got["streams"]}
