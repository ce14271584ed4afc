"""What a host is: the facts that a number depends on and that a later reader must be able to compare."""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from vtax.machine.bridge_netfilter import BridgeNetfilter, read_bridge_netfilter

CHANGING = {"frequency_mhz", "bridge_netfilter", "hash"}
"""Facts of the moment: anybody may change them, and what a trial had is told by itself."""


@dataclass(frozen=True)
class HostFacts:
    """What a machine is; what cannot be read is null."""

    kernel: str
    cpu_model: str | None
    cpus: int
    clocksource: str | None
    frequency_mhz: float | None
    mitigations: dict[str, str]
    """Of vulnerabilities of the CPU, in the kernel's words."""
    bridge_netfilter: BridgeNetfilter | None
    """Of the machine's own bridges: those of the network namespace that vtax runs in."""

    @property
    def stable_hash(self) -> str:
        """A short hash of the facts that should stay."""
        stable = {name: value for name, value in asdict(self).items() if name not in CHANGING}
        return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class HostEnvironment(HostFacts):
    """The same, with the hash of what should stay."""

    hash: str


def host_environment() -> HostEnvironment:
    """Kernel, mitigations, clock source, CPU model and frequency of this machine."""
    facts = HostFacts(
        kernel=platform.release(),
        cpu_model=_cpu_model(),
        cpus=len(list(Path("/sys/devices/system/cpu").glob("cpu[0-9]*"))),
        clocksource=_read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency_mhz=_frequency(),
        mitigations={
            path.name: path.read_text().strip()
            for path in sorted(Path("/sys/devices/system/cpu/vulnerabilities").glob("*"))
        },
        bridge_netfilter=read_bridge_netfilter(),
    )
    return HostEnvironment(**asdict(facts), hash=facts.stable_hash)


def environment_columns() -> dict[str, str | None]:
    """The environment as columns of a result's table `environment`: texts, structured ones as JSON."""
    facts = host_environment()
    return {
        "kernel": facts.kernel,
        "mitigations": json.dumps(facts.mitigations),
        "clocksource": facts.clocksource,
        "frequency_mhz": json.dumps(facts.frequency_mhz),
        "own_bridge_netfilter": json.dumps(facts.bridge_netfilter),
        "hash": facts.hash,
    }


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _cpuinfo(field: str) -> str | None:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def _cpu_model() -> str | None:
    return _cpuinfo("model name")


def _frequency() -> float | None:
    mhz = _cpuinfo("cpu MHz")
    return float(mhz) if mhz else None
