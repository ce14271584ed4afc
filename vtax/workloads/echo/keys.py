"""Kind `echo`: one router among many is asked to pass ICMP echoes on, while the others rest or forward TCP."""

from collections.abc import Iterator
from typing import Annotated, Literal

from vtax.agent_api import LEAST_ECHO_BYTES, LONGEST_INTERVAL_MS
from vtax.keys.fields import key
from vtax.keys.streams import StreamSpec
from vtax.keys.testbed import TestbedSettings
from vtax.keys.workload import Refusal, TimedKeys, shared_uplink

ICMP_HEADERS_BYTES = 28


class Echo(TimedKeys):
    """Round trips through the first guest, a router, to the host behind it (anhalt2009, IV.C.2)."""

    kind: Annotated[Literal["echo"], key("guests are routers; echoes through the first are timed", "echo")]
    payload_bytes: int = key(
        "payload of an echo, beside 28 bytes of headers",
        f"{LEAST_ECHO_BYTES} to testbed.mtu - {ICMP_HEADERS_BYTES}",
        default=56,
        ge=LEAST_ECHO_BYTES,
        short=True,
        unit="byte",
    )
    interval_ms: float = key(
        "one echo in each, somewhere in it, whether the one before was answered or not",
        f"1 to {LONGEST_INTERVAL_MS}, at most duration_s",
        default=10.0,
        ge=1,
        le=LONGEST_INTERVAL_MS,
        short=True,
        unit="ms",
    )
    others: Literal["idle", "tcp"] = key(
        "what the other guests do: nothing, or each forwards a stream of TCP as fast as it goes",
        "idle, tcp",
        default="idle",
        short=True,
        unit="",
    )

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """Guests that are no routers on one link, echoes that no packet holds or that never come."""
        yield from shared_uplink(self.kind, testbed)
        most = testbed.mtu - ICMP_HEADERS_BYTES
        if self.payload_bytes > most:
            problem = (
                f"{self.payload_bytes} does not fit a packet of mtu {testbed.mtu}; "
                f"allowed: {LEAST_ECHO_BYTES} to {most}"
            )
            yield Refusal("workload", "payload_bytes", self.payload_bytes, problem)
        if self.interval_ms > 1000 * self.duration_s:
            problem = f"{self.interval_ms:g} ms are longer than the measurement; allowed: at most duration_s"
            yield Refusal("workload", "interval_ms", self.interval_ms, problem)

    @property
    def stress(self) -> StreamSpec:
        """What each of the other guests forwards where these are not idle."""
        return StreamSpec(self.warmup_s, self.duration_s)
