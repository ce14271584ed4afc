"""What a host is: the facts that a number depends on and that a later reader must be able to compare."""

import hashlib
import json
import platform
from pathlib import Path
from typing import Any

from vtax.machine.bridge_netfilter import read_bridge_netfilter

CHANGING = {"frequency_mhz", "bridge_netfilter", "hash"}
"""Facts of the moment: anybody may change them, and what a trial had is told by itself."""


def host_environment() -> dict[str, Any]:
    """Kernel, mitigations, clock source, CPU model and frequency of this machine; absent facts are null.

    `bridge_netfilter` is of the machine's own bridges: those of the network namespace that vtax runs in.
    """
    facts = {
        "kernel": platform.release(),
        "cpu_model": _cpu_model(),
        "cpus": len(list(Path("/sys/devices/system/cpu").glob("cpu[0-9]*"))),
        "clocksource": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "frequency_mhz": _frequency(),
        "mitigations": {
            path.name: path.read_text().strip()
            for path in sorted(Path("/sys/devices/system/cpu/vulnerabilities").glob("*"))
        },
        "bridge_netfilter": read_bridge_netfilter(),
    }
    facts["hash"] = environment_hash(facts)
    return facts


def environment_columns() -> dict[str, str | None]:
    """The environment as columns of a result's table `environment`: texts, structured ones as JSON."""
    facts = host_environment()
    return {
        "kernel": facts["kernel"],
        "mitigations": json.dumps(facts["mitigations"]),
        "clocksource": facts["clocksource"],
        "frequency_mhz": json.dumps(facts["frequency_mhz"]),
        "own_bridge_netfilter": json.dumps(facts["bridge_netfilter"]),
        "hash": facts["hash"],
    }


def environment_hash(facts: dict[str, Any]) -> str:
    """A short hash of the facts that should stay."""
    stable = {name: value for name, value in facts.items() if name not in CHANGING}
    return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()[:12]


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
