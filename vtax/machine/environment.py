"""What a host is: the facts that a number depends on and that a later reader must be able to compare."""

import hashlib
import json
import platform
from pathlib import Path
from typing import Any


def host_environment() -> dict[str, Any]:
    """Kernel, mitigations, clock source, CPU model and frequency of this machine; absent facts are null."""
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
        "hash": facts["hash"],
    }


def environment_hash(facts: dict[str, Any]) -> str:
    """A short hash of the facts that should stay; the frequency of the moment is not one."""
    stable = {name: value for name, value in facts.items() if name not in ("frequency_mhz", "hash")}
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
