"""Keys of the kinds whose trials can be traced: where on the hosts their packets spend their time."""

from collections.abc import Iterator
from typing import Literal

from vtax.agent_api import GREATEST_SAMPLE_EVERY, MOST_PACKETS, MOST_TRAIL_ENDS
from vtax.keys.fields import key
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import Refusal, TimedKeys

MOST_WAYS = MOST_TRAIL_ENDS
"""Ways that lead to one place and are still told apart: guests on a link, streams of a guest."""


class TracedKeys(TimedKeys):
    """What a trial's packets are followed by. Tracing costs time, so that a traced trial tells of stages alone."""

    trace: Literal["none", "stages"] = key(
        "whether packets are followed through the hosts; a traced trial is in no view of throughput or response time",
        "none, stages",
        default="none",
        short=True,
    )
    trace_every: int = key(
        "of so many packets one is followed, chosen by what identifies it",
        f"1 to {GREATEST_SAMPLE_EVERY}",
        default=64,
        ge=1,
        le=GREATEST_SAMPLE_EVERY,
    )
    trace_packets: int = key(
        "followed packets of a trial whose moments are kept one by one",
        f"0 to {MOST_PACKETS}",
        default=32,
        ge=0,
        le=MOST_PACKETS,
    )

    @property
    def is_traced(self) -> bool:
        """Whether its packets are followed."""
        return self.trace == "stages"

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """More guests than can be followed at once."""
        if self.is_traced and testbed.guests > MOST_WAYS:
            problem = f"more ways than are followed at once; allowed with trace: stages: 1 to {MOST_WAYS}"
            yield Refusal("testbed", "guests", testbed.guests, problem)
        yield from super().refusals(testbed)
