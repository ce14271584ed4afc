"""Every key of a scenario file: its kind, bounds and meaning. docs/scenario.md is checked against this."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
)
from pydantic_core import PydanticKnownError

from vtax.scenario.encapsulation import Encapsulation
from vtax.scenario.lengths import IMIX, Lengths, is_mix, lengths_of
from vtax.units import fps

Scalar = str | int | float | bool

PLATFORM_KEY = r"[a-z][a-z0-9_]*"
"""The pattern of a key of a platform kind; what the kinds allow is checked where the kinds are known."""

FRAME_BYTES_BEYOND_MTU = Encapsulation().beyond_mtu_bytes
"""The Ethernet header: a link of mtu 1500 carries frames of up to 1514 bytes."""
LEAST_FRAME_BYTES = Encapsulation().least_frame_bytes
"""The shortest frame of all encapsulations."""
GREATEST_FRAME_BYTES = 9000 + Encapsulation(vlan=1).beyond_mtu_bytes
IPV6_LEAST_MTU = 1280
"""RFC 8200, section 5; Linux has no IPv6 on an interface with less."""
ENCAPSULATION_KEYS = ("ip_version", "vlan")
"""Keys of the workload that the interfaces of the testbed and the guest are set up for."""


class Keys(BaseModel):
    """A mapping with a fixed set of keys and no conversion between kinds of values."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _key(meaning: str, allowed: str, **constraints: Any) -> Any:
    return Field(description=meaning, json_schema_extra={"allowed": allowed}, **constraints)


def _named(name: str, unit: str) -> BeforeValidator:
    """Reads the word `name` as None, the value that has no number."""

    def read(value: Any) -> Any:
        if value == name:
            return None
        if value is None or isinstance(value, str):
            shown = "null" if value is None else f'"{value}"'
            raise ValueError(f"{shown} is not a number of {unit}; allowed: a number alone, or {name}")
        return value

    return BeforeValidator(read)


def _written(name: str) -> PlainSerializer:
    return PlainSerializer(lambda value: name if value is None else value, when_used="json")


def _scalar(value: Any) -> Any:
    if isinstance(value, str | int | float | bool):
        return value
    kind = "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "null"
    raise ValueError(f"{kind} is not a plain value; allowed: text, a number, true or false")


def _slug(pattern: str, example: str) -> AfterValidator:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f'"{value}" is not such a name; allowed: lower-case words as in {example}')
        return value

    return AfterValidator(check)


def _frame_bytes(value: Any) -> int | str:
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


ScenarioName = Annotated[
    str, _slug(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*", "schlosser2011/dedicated")
]
PlatformKey = Annotated[str, _slug(PLATFORM_KEY, "memory_bytes")]
PlainScalar = Annotated[Scalar, BeforeValidator(_scalar)]


class Source(Keys):
    """The published experiment that a scenario repeats."""

    paper: str = _key("short name of the paper", "text", min_length=1)
    section: str = _key("its section", 'text, in quotes: "3.3"', min_length=1)


class Workload(Keys):
    """The traffic of a trial."""

    kind: Literal["forwarding"] = _key("what the platform does with the packets", "forwarding")
    warmup_s: float = _key("traffic before the measurement, discarded", "0 to 60", default=1.0, ge=0, le=60)
    duration_s: float = _key("length of the measurement", "0.1 to 3600", default=10.0, ge=0.1, le=3600)
    streams: int = _key(
        "parallel streams, each over a pair of links of its own", "1 to 8", default=1, ge=1, le=8
    )
    frame_bytes: Annotated[int | str, PlainValidator(_frame_bytes)] = _key(
        "Ethernet frame without FCS (RFC 2544's size less 4), or a mix of several",
        f"{LEAST_FRAME_BYTES} to testbed.mtu + {FRAME_BYTES_BEYOND_MTU}, imix, or COUNT:BYTES as in {IMIX}",
        default=1500,
    )
    ip_version: Literal[4, 6] = _key("version of IP", "4, 6", default=4)
    vlan: Annotated[int | None, _named("none", "a VLAN"), _written("none")] = _key(
        "VLAN whose 802.1Q tag the frames carry", "1 to 4094, or none", default=None, ge=1, le=4094
    )
    flows: int = _key(
        "UDP flows of each stream, by their source ports; frames take turns",
        "1 to 65536",
        default=1,
        ge=1,
        le=65536,
    )
    intended_mbps: Annotated[float | None, _named("max", "Mbit/s"), _written("max")] = _key(
        "intended load of each stream at layer 1 (24 bytes of overhead a frame); `max` floods",
        "more than 0, at most 1000000, or max",
        default=None,
        gt=0,
        le=1_000_000,
    )
    mechanism: Literal["auto", "raw", "gso", "af_xdp"] = _key(
        "how frames enter the links; `auto` takes the fastest for floods, and `raw` for what it reaches with ease",
        "auto, raw, gso, af_xdp",
        default="auto",
    )
    capture_frames: int = _key(
        "first frames of each stream that are kept as they came, in a pcap file a trial",
        "0 to 1024",
        default=0,
        ge=0,
        le=1024,
    )

    @property
    def lengths(self) -> Lengths:
        """The lengths of a stream's frames."""
        return lengths_of(self.frame_bytes, self.encapsulation.least_frame_bytes)

    @property
    def encapsulation(self) -> Encapsulation:
        """The headers of its frames."""
        return Encapsulation(self.ip_version, self.vlan)

    @property
    def mix(self) -> str | None:
        """The mix of frame lengths as it was written, None where all frames have one length."""
        return self.frame_bytes if isinstance(self.frame_bytes, str) else None

    @property
    def intended_fps(self) -> float | None:
        """Frames a second of each stream, None for the flood."""
        return None if self.intended_mbps is None else fps(self.intended_mbps, self.lengths.mean)


class TestbedSettings(Keys):
    """The links of the testbed."""

    __test__ = False  # not a pytest class, whatever its name begins with

    link_mbps: Annotated[float | None, _named("unlimited", "Mbit/s"), _written("unlimited")] = _key(
        "layer-1 speed of each link", "1 to 1000000, or unlimited", default=None, ge=1, le=1_000_000
    )
    flow_control: bool = _key(
        "whether a full receiver makes the source wait (802.3x) instead of losing frames",
        "true, false",
        default=False,
    )
    mtu: int = _key("largest IP packet of every link, bytes", "68 to 9000", default=1500, ge=68, le=9000)


class Precision(Keys):
    """When a cell is measured often enough: its 95% interval, which holds at any such moment, is narrow."""

    relative_width: float = _key(
        "width of the interval that is enough, as a share of its estimate",
        "more than 0, at most 1",
        gt=0,
        le=1,
    )
    of: Literal["throughput", "maximum"] = _key(
        "whose interval: every cell's throughput, or the largest over the factor `intended_mbps`",
        "throughput, maximum",
        default="throughput",
    )
    least: int = _key("repetitions that there are at least", "3 to 1000", default=3, ge=3, le=1000)
    budget_s: float | None = _key(
        "wall time of all trials together after which none begins", "more than 0", default=None, gt=0
    )


GoalName = Annotated[str, _slug(r"[A-Za-z][A-Za-z0-9_.-]*", "NDR")]
LossRatio = Annotated[float, Field(ge=0, lt=1)]


class Search(Keys):
    """Loads by their loss (RFC 9971, MLRsearch): each goal's bounds; final trials last `workload.duration_s`."""

    goals: dict[GoalName, LossRatio] = _key(
        "goal loss ratios by name",
        "names and ratios, 0 to less than 1",
        default_factory=lambda: {"NDR": 0.0, "PDR": 0.005},
        min_length=1,
        max_length=8,
    )
    relative_width: float = _key(
        "goal width: upper less lower bound, as a share of the upper one",
        "0.001 to 0.5",
        default=0.01,
        ge=0.001,
        le=0.5,
    )
    exceed_ratio: float = _key(
        "goal exceed ratio: share of trials that may lose more", "0 to 0.9", default=0.5, ge=0, le=0.9
    )
    duration_sum_s: float = _key(
        "goal duration sum: trial time that makes a load a bound",
        "0.1 to 36000",
        default=21.0,
        ge=0.1,
        le=36000,
    )
    min_mbps: float = _key(
        "least load of each stream", "more than 0, at most 1000000", default=1.0, gt=0, le=1_000_000
    )
    max_mbps: Annotated[float | None, _named("link", "Mbit/s"), _written("link")] = _key(
        "largest load of each stream; `link` is `testbed.link_mbps`",
        "more than 0, at most 1000000, or link",
        default=None,
        gt=0,
        le=1_000_000,
    )
    most: int = _key("trials after which a search is given up", "10 to 10000", default=300, ge=10, le=10000)


class ScenarioFile(Keys):
    """A scenario file as it is written: base values, the factors over them, what to repeat and to draw."""

    name: ScenarioName = _key("the scenario's name", "lower-case words, `/` between them")
    title: str = _key("one line for tables and reports", "text", min_length=1)
    question: str = _key("what is asked, in one sentence", "text", min_length=1)
    source: Source | None = _key(
        "the published experiment, if it repeats one", "paper, section", default=None
    )
    workload: Workload = _key("the traffic of a trial", "the keys below")
    testbed: TestbedSettings = _key(
        "the links of the testbed", "the keys below", default_factory=TestbedSettings
    )
    platform: dict[PlatformKey, PlainScalar] = _key(
        "keys of the platforms, changed for every preset of the scenario",
        "keys of the platform kind",
        default_factory=dict,
    )
    factors: dict[str, list[PlainScalar]] = _key(
        "lists of values; every combination is a cell of the grid",
        "factor names and lists; `platform` always",
    )
    repetitions: int = _key("trials of every cell", "1 to 1000", ge=1, le=1000)
    precision: Precision | None = _key(
        "repeat each cell, up to `repetitions`, until its interval is narrow enough",
        "the keys below",
        default=None,
    )
    search: Search | None = _key(
        "search loads by their loss, `repetitions` times in each cell", "the keys below", default=None
    )
    figures: list[str] = _key("figures of the report", "names of figures", default_factory=list)
