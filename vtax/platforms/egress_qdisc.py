"""The queueing discipline that a guest's kernel sends through, in the words of tc-netem(8) and tc-tbf(8).

A tax of known size: what netem loses, delays or duplicates, and what a token bucket lets through, vtax has to find.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Annotated

import msgspec
from pydantic import AfterValidator, Field

from vtax import agent_api
from vtax.agent_api import (
    GREATEST_EGRESS_BPS,
    GREATEST_EGRESS_DELAY_NS,
    GREATEST_EGRESS_OVERHEAD_BYTES,
    GREATEST_QUEUE_BYTES,
    GREATEST_QUEUE_PACKETS,
    LEAST_BUCKET_BYTES,
    LEAST_EGRESS_BPS,
)
from vtax.machine.cpu_weight import can_be_enabled, find_cpu_controller
from vtax.platforms.contract import Fact, PlatformConfig, PlatformUnusable

DEFAULT = "default"
EXAMPLES = f"{DEFAULT}, netem delay 1ms 200us loss 1%, tbf rate 50mbit burst 8kb limit 64kb overhead 24"

TIMES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
SIZES = {"b": 1, "kb": 1024, "mb": 1024**2}
"""As tc has it: kb are kilobytes of 1024."""
RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}


@dataclass(frozen=True)
class Netem:
    """`netem`: every packet lost, duplicated, delayed, or sent at once while the others are delayed."""

    limit_packets: int = 1000
    delay_ns: int = 0
    jitter_ns: int = 0
    loss_ratio: float = 0.0
    duplicate_ratio: float = 0.0
    reorder_ratio: float = 0.0
    kind: str = field(default="netem", init=False)

    def __post_init__(self) -> None:
        """Raise ValueError for what netem would understand in another way than it reads."""
        if self.jitter_ns > self.delay_ns:
            raise ValueError("netem: a jitter beyond the delay; allowed: at most the delay")
        if self.reorder_ratio and not self.delay_ns:
            raise ValueError(
                "netem: reorder without delay reorders nothing; allowed: delay TIME reorder PERCENT"
            )


@dataclass(frozen=True)
class Tbf:
    """`tbf`: a token bucket. `overhead_bytes` count with every frame: 24 make the rate one of layer 1."""

    rate_bps: int
    burst_bytes: int
    limit_bytes: int
    overhead_bytes: int = 0
    kind: str = field(default="tbf", init=False)


Qdisc = Netem | Tbf


@dataclass(frozen=True)
class _Value:
    """A value after an option's word: the field it sets, how it is written, its bounds."""

    field: str
    form: str
    read: Callable[[str], Fraction | None]
    low: int
    high: int
    optional: bool = False

    def parse(self, word: str) -> int | float:
        """The field's value; ValueError where `word` is none."""
        number = self.read(word)
        if number is None:
            raise ValueError(f"{word!r} is not {self.form}")
        if self.field.endswith("_ratio"):
            if not 0 < number <= 1:
                raise ValueError(f"{word!r} is out of bounds; allowed: more than 0%, at most 100%")
            return float(number)
        if number.denominator != 1 or not self.low <= number <= self.high:
            unit = self.field.rpartition("_")[2]
            raise ValueError(f"{word!r} is out of bounds; allowed: whole {unit}, {self.low} to {self.high}")
        return int(number)


def _number(units: dict[str, int]) -> Callable[[str], Fraction | None]:
    """A reader of decimal numbers with one of `units` behind them."""

    def read(word: str) -> Fraction | None:
        found = re.fullmatch(rf"([0-9]+(?:\.[0-9]+)?)({'|'.join(units)})", word, re.ASCII)
        return Fraction(found[1]) * units[found[2]] if found else None

    return read


def _percent(word: str) -> Fraction | None:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", word)
    return Fraction(found[1]) / 100 if found else None


def _count(word: str) -> Fraction | None:
    return Fraction(word) if re.fullmatch("[0-9]+", word) else None


def _time(name: str, optional: bool = False) -> _Value:
    return _Value(
        name, "a time as in 1ms (s, ms, us, ns)", _number(TIMES), 0, GREATEST_EGRESS_DELAY_NS, optional
    )


def _share(name: str) -> _Value:
    return _Value(name, "a percentage as in 1%", _percent, 0, 1)


def _size(name: str, low: int) -> _Value:
    return _Value(name, "a size as in 8kb (b, kb, mb)", _number(SIZES), low, GREATEST_QUEUE_BYTES)


OPTIONS: dict[str, dict[str, tuple[_Value, ...]]] = {
    "netem": {
        "limit": (_Value("limit_packets", "a number of packets", _count, 1, GREATEST_QUEUE_PACKETS),),
        "delay": (_time("delay_ns"), _time("jitter_ns", optional=True)),
        "loss": (_share("loss_ratio"),),
        "duplicate": (_share("duplicate_ratio"),),
        "reorder": (_share("reorder_ratio"),),
    },
    "tbf": {
        "rate": (
            _Value(
                "rate_bps",
                "a rate as in 50mbit (bit, kbit, mbit, gbit)",
                _number(RATES),
                LEAST_EGRESS_BPS,
                GREATEST_EGRESS_BPS,
            ),
        ),
        "burst": (_size("burst_bytes", LEAST_BUCKET_BYTES),),
        "limit": (_size("limit_bytes", 1),),
        "overhead": (
            _Value("overhead_bytes", "a number of bytes", _count, 0, GREATEST_EGRESS_OVERHEAD_BYTES),
        ),
    },
}
NEEDED = {"netem": (), "tbf": ("rate", "burst", "limit")}


def parse_qdisc(text: str) -> Qdisc | None:
    """The discipline that `text` describes, None for the kernel's own; ValueError says what is allowed."""
    kind, *words = text.split() or [""]
    if kind == DEFAULT and not words:
        return None
    if kind not in OPTIONS:
        raise ValueError(
            f"{text!r} is no queueing discipline; allowed: {DEFAULT}, netem ..., tbf ..., as in {EXAMPLES}"
        )
    numbers: dict[str, int] = {}
    ratios: dict[str, float] = {}
    given: set[str] = set()
    while words:
        option = words.pop(0)
        values = OPTIONS[kind].get(option)
        if values is None or option in given:
            problem = "twice" if option in given else "unknown"
            raise ValueError(
                f"{kind}: {option!r} is {problem}; allowed, once each: {', '.join(OPTIONS[kind])}"
            )
        given.add(option)
        for value in values:
            if value.optional and (not words or words[0] in OPTIONS[kind]):
                continue
            if not words:
                raise ValueError(f"{kind}: {option} needs {value.form}")
            try:
                number = value.parse(words.pop(0))
            except ValueError as error:
                raise ValueError(f"{kind}: {option}: {error}") from None
            if isinstance(number, float):
                ratios[value.field] = number
            else:
                numbers[value.field] = number
    if lacking := [option for option in NEEDED[kind] if option not in given]:
        raise ValueError(f"{kind} needs {', '.join(lacking)}, as in {EXAMPLES.rpartition(', ')[2]}")
    if kind == "tbf":
        return Tbf(**numbers)
    loss, duplicate, reorder = (ratios.get(f"{name}_ratio", 0.0) for name in ("loss", "duplicate", "reorder"))
    return Netem(**numbers, loss_ratio=loss, duplicate_ratio=duplicate, reorder_ratio=reorder)


def _checked(text: str) -> str:
    parse_qdisc(text)
    return text


class GuestConfig(PlatformConfig):
    """Keys of every guest that sends through interfaces of its own."""

    egress_qdisc: Annotated[str, AfterValidator(_checked)] = Field(
        DEFAULT,
        description="queueing discipline of the NICs that frames leave by, in tc's words",
        json_schema_extra={"allowed": f"as in {EXAMPLES}"},
    )
    host_weight: int = Field(
        1, ge=1, le=100, description="CPU weight of the host's packet work against each guest's"
    )

    pinned: bool = Field(
        False, description="each virtual CPU has one CPU of the guests' in turn; else it floats over all"
    )

    @property
    def egress(self) -> agent_api.Qdisc | None:
        """The discipline as the agent takes it."""
        qdisc = parse_qdisc(self.egress_qdisc)
        return msgspec.convert(asdict(qdisc), type=agent_api.Qdisc) if qdisc else None

    @property
    def egress_words(self) -> str | None:
        """The discipline as the preset or the scenario has it."""
        return self.egress_qdisc if self.egress else None

    @property
    def qdisc_modules(self) -> tuple[str, ...]:
        """What a kernel of the guest's own needs for it."""
        qdisc = parse_qdisc(self.egress_qdisc)
        return (f"sch_{qdisc.kind}",) if qdisc else ()

    @property
    def weight_of_host(self) -> int | None:
        """The weight of the host's ingress threads, where that of a guest is 1."""
        return self.host_weight

    @property
    def pinned_vcpus(self) -> int:
        """One, for all that runs in one piece."""
        return int(self.pinned)

    def check_scheduling(self) -> None:
        """Raise PlatformUnusable for a weight that the scheduler cannot be told of."""
        if self.host_weight != 1 and find_cpu_controller() is None:
            raise PlatformUnusable(
                f"host_weight={self.host_weight}, but cgroups cannot have weights of CPU time here",
                "echo +cpu > /sys/fs/cgroup/cgroup.subtree_control"
                if can_be_enabled()
                else "needs the cgroup controller cpu, mounted to be written",
            )

    @property
    def facts(self) -> dict[str, Fact]:
        """What the probes of all kinds state of these keys."""
        controller = find_cpu_controller()
        return {
            "host_weight": self.host_weight,
            "weighed_by": controller.file if controller else None,
            "pinned": self.pinned,
        }
