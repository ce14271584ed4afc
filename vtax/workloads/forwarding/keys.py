"""Kind `forwarding`: frames from a source through the platform to a sink, counted and timed one by one."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import JsonValue, PlainValidator
from pydantic_core import PydanticKnownError

from vtax.agent_api import (
    GREATEST_FPS,
    GREATEST_FRAME_BYTES,
    GREATEST_VLAN,
    LEAST_FRAME_BYTES,
    MOST_CAPTURED_FRAMES,
    MOST_SOURCE_FLOWS,
    MOST_SOURCE_THREADS,
    MOST_STREAMS,
)
from vtax.columns import Column, ColumnType
from vtax.keys.encapsulation import Encapsulation
from vtax.keys.fields import Named, Scalar, key, written
from vtax.keys.frames import FrameLoad, FrameSpec, strands_of
from vtax.keys.lengths import IMIX, is_mix, lengths_of
from vtax.keys.testbed import TestbedSettings
from vtax.keys.traced import MOST_WAYS, TracedKeys
from vtax.keys.workload import Refusal
from vtax.units import fps

FRAME_BYTES_BEYOND_MTU = Encapsulation().beyond_mtu_bytes
"""The Ethernet header: a link of mtu 1500 carries frames of up to 1514 bytes."""
IPV6_LEAST_MTU = 1280
"""RFC 8200, section 5; Linux has no IPv6 on an interface with less."""


def _frame_bytes(value: JsonValue) -> int | str:
    """A frame length, or the text of a mix whose lengths are all within the bounds."""
    frame_bytes: int | str
    match value:
        case str() if is_mix(value):
            frame_bytes = value
        case int() if not isinstance(value, bool):
            frame_bytes = value
        case _:
            raise PydanticKnownError("int_type")
    lengths = lengths_of(frame_bytes)
    if lengths.least < LEAST_FRAME_BYTES:
        raise PydanticKnownError("greater_than_equal", {"ge": LEAST_FRAME_BYTES})
    if lengths.greatest > GREATEST_FRAME_BYTES:
        raise PydanticKnownError("less_than_equal", {"le": GREATEST_FRAME_BYTES})
    return frame_bytes


class Forwarding(TracedKeys):
    """Frames that the platform forwards."""

    has_rate = True
    recorded = (
        Column(
            "frame_bytes",
            ColumnType.INT32,
            "byte",
            "Ethernet frame without FCS; null for a mix",
            is_level=True,
        ),
        Column(
            "frame_mix",
            ColumnType.STRING,
            "",
            "mix of frame lengths, as the scenario has it; null for one length",
            is_level=True,
        ),
        Column("mechanism", ColumnType.STRING, "", "how frames enter the link: raw, gso, af_xdp or pktgen"),
        Column(
            "ceiling_fps",
            ColumnType.DOUBLE,
            "frames/s",
            "what the mechanism reached in its calibration, all streams together: it chose the mechanism and limits "
            "nothing",
        ),
        Column(
            "ceiling_share",
            ColumnType.DOUBLE,
            "ratio",
            "what all streams offered, as a share of ceiling_fps; above 1 the source did more than in its calibration",
        ),
        Column(
            "paused_share",
            ColumnType.DOUBLE,
            "ratio",
            "share of the time that a paced source watched its CPU in which it was not on it, for 5 µs or more; null "
            "of a flood, and where frames were due all the time",
        ),
        Column("longest_pause_ns", ColumnType.DOUBLE, "ns", "longest such pause; null as paused_share"),
        Column("sink_mode", ColumnType.STRING, "", "where the sink counts: xdp-native, xdp-generic or tc"),
        Column(
            "sink_fallback",
            ColumnType.STRING,
            "",
            "why not in a way before it in that list, with the kernel's words; null for the first",
        ),
    )
    kind: Annotated[Literal["forwarding"], key("what the platform does with the packets", "forwarding")]
    streams: int = key(
        "parallel streams, each over a pair of links of its own",
        f"1 to {MOST_STREAMS}",
        default=1,
        ge=1,
        le=MOST_STREAMS,
        short=True,
        unit="streams",
    )
    frame_bytes: Annotated[int | str, PlainValidator(_frame_bytes)] = key(
        "Ethernet frame without FCS (RFC 2544's size less 4), or a mix of several",
        f"{LEAST_FRAME_BYTES} to testbed.mtu + {FRAME_BYTES_BEYOND_MTU}, imix, or COUNT:BYTES as in {IMIX}",
        default=1500,
        short=True,
    )
    ip_version: Literal[4, 6] = key(
        "version of IP",
        "4, 6",
        default=4,
        short=True,
        laid_for=True,
    )
    vlan: Annotated[int | None, Named("none", "a VLAN"), written("none")] = key(
        "VLAN whose 802.1Q tag the frames carry",
        f"1 to {GREATEST_VLAN}, or none",
        default=None,
        ge=1,
        le=GREATEST_VLAN,
        short=True,
        laid_for=True,
    )
    flows: int = key(
        "UDP flows of each stream, by their source ports; frames take turns",
        f"1 to {MOST_SOURCE_FLOWS}",
        default=1,
        ge=1,
        le=MOST_SOURCE_FLOWS,
        short=True,
    )
    intended_mbps: Annotated[float | None, Named("max", "Mbit/s"), written("max")] = key(
        "intended load of each stream at layer 1 (24 bytes of overhead a frame); `max` floods",
        "more than 0, at most 1000000, or max",
        default=None,
        gt=0,
        le=1_000_000,
        short=True,
        unit="Mbit/s",
    )
    mechanism: Literal["auto", "raw", "gso", "af_xdp", "pktgen"] = key(
        "how frames enter the links; `auto` takes the fastest of the first three for floods, and `raw` for what it "
        "reaches with ease",
        "auto, raw, gso, af_xdp, pktgen",
        default="auto",
    )
    source_threads: int = key(
        "threads of each source, a CPU each: streams are dealt to them, and of few streams the flows",
        f"1 to {MOST_SOURCE_THREADS}",
        default=1,
        ge=1,
        le=MOST_SOURCE_THREADS,
        short=True,
    )
    capture_frames: int = key(
        "first frames of each stream that are kept as they came, in a pcap file a trial",
        f"0 to {MOST_CAPTURED_FRAMES}",
        default=0,
        ge=0,
        le=MOST_CAPTURED_FRAMES,
    )

    def asked(self) -> dict[str, Scalar | None]:
        """Return its keys, and the frames' length or the mix of several."""
        return {
            **super().asked(),
            "frame_bytes": None if self.mix else self.frame_bytes,
            "frame_mix": self.mix,
        }

    @property
    def frame_load(self) -> FrameLoad:
        """The frames of a stream, and how many are to be sent."""
        frames = FrameSpec(self.frame_bytes, self.encapsulation, self.flows)
        return FrameLoad(frames, self.warmup_s, self.duration_s, self.intended_mbps, self.source_threads)

    def streams_through(self, testbed: TestbedSettings) -> int:
        """As many as it says, or one of each guest that shares a link."""
        return testbed.guests if testbed.is_shared else self.streams

    @property
    def encapsulation(self) -> Encapsulation:
        """The headers of its frames."""
        return Encapsulation(self.ip_version, self.vlan)

    @property
    def mix(self) -> str | None:
        """The mix of frame lengths as it was written, None where all frames have one length."""
        return self.frame_bytes if isinstance(self.frame_bytes, str) else None

    def refusals(self, testbed: TestbedSettings) -> Iterator[Refusal]:
        """Frames that the links do not carry, rates beyond all sources, trains and traces that cannot be."""
        mtu, lengths = testbed.mtu, self.frame_load.lengths
        least, beyond = self.encapsulation.least_frame_bytes, self.encapsulation.beyond_mtu_bytes
        if (load := self.intended_mbps) is not None and fps(load, lengths.mean) > GREATEST_FPS:
            problem = (
                f"{load:g} Mbit/s of {lengths.mean:g}-byte frames are over {GREATEST_FPS / 1e6:g} million frames a "
                "second; allowed: less, or max for the flood"
            )
            yield Refusal("workload", "intended_mbps", load, problem)
        if lengths.least < least:
            problem = (
                f"{lengths.least} is too small for {self.encapsulation}; allowed: {least} to {mtu + beyond}"
            )
            yield Refusal("workload", "frame_bytes", self.frame_bytes, problem)
        if self.ip_version == 6 and mtu < IPV6_LEAST_MTU:
            problem = f"{mtu} is too small for IPv6; allowed: {IPV6_LEAST_MTU} to 9000"
            yield Refusal("testbed", "mtu", mtu, problem)
        if lengths.greatest > mtu + beyond:
            problem = (
                f"{lengths.greatest} does not fit a link of mtu {mtu}; "
                f"allowed: {least} to {mtu + beyond} (mtu + {beyond})"
            )
            yield Refusal("workload", "frame_bytes", self.frame_bytes, problem)
        if self.mechanism == "gso" and (self.mix is not None or self.flows > 1):
            problem = "a train has frames of one length and flow; allowed with a mix or many flows: auto, raw, af_xdp"
            yield Refusal("workload", "mechanism", "gso", problem)
        if self.mechanism == "pktgen":
            yield from self._beyond_pktgen()
        if (unevenly := self.split_problem(self.streams_through(testbed))) is not None:
            yield Refusal("workload", "source_threads", self.source_threads, unevenly)
        if testbed.is_shared and self.streams > 1:
            problem = (
                "guests behind a shared uplink have a stream each; allowed: 1, with as many testbed.guests"
            )
            yield Refusal("workload", "streams", self.streams, problem)
        if self.is_traced and not testbed.is_shared and self.streams > MOST_WAYS:
            problem = f"more ways than are followed at once; allowed with trace: stages: 1 to {MOST_WAYS}"
            yield Refusal("workload", "streams", self.streams, problem)
        yield from super().refusals(testbed)

    def split_problem(self, *streams: int) -> str | None:
        """Return why its threads cannot share the streams of sources that have so many each; None where they can."""
        possible = [
            threads
            for threads in range(1, MOST_SOURCE_THREADS + 1)
            if (strands := strands_of(threads, *streams)) is not None and self.flows % strands == 0
        ]
        if self.source_threads in possible:
            return None
        counts = " or ".join(map(str, sorted({*streams})))
        return (
            f"{self.source_threads} threads do not get equally many of the whole flows of {counts} "
            f"{'stream' if counts == '1' else 'streams'} a source, with {self.flows} each; "
            f"allowed: {', '.join(map(str, possible))}, or others with more flows or streams"
        )

    def _beyond_pktgen(self) -> Iterator[Refusal]:
        """Yield what frames that the kernel makes cannot be: their ports and its own fields have to tell all."""
        allowed = {
            "frame_bytes": (
                self.mix is not None,
                self.frame_bytes,
                "its frames have one length",
                "one length",
            ),
            "source_threads": (self.source_threads > 1, self.source_threads, "one CPU sends", "1"),
            "flows": (self.flows > 1, self.flows, "its ports tell trial, phase and stream", "1"),
            "ip_version": (
                self.ip_version == 6,
                self.ip_version,
                "it leaves IPv6's checksum to the interface",
                "4",
            ),
            "trace": (self.is_traced, self.trace, "its frames have no field to follow them by", "none"),
        }
        for name, (is_beyond, value, problem, instead) in allowed.items():
            if is_beyond:
                yield Refusal("workload", name, value, f"with pktgen, {problem}; allowed: {instead}")
