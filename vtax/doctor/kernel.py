"""Facilities of the kernel that move work about, or change the speed of a CPU, while trials run: docs/kernel.md."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vtax.doctor.check import Check
from vtax.machine.fix import set_kernel, stop_service

ROOT: Final = Path("/")
CPUFREQ: Final = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"


@dataclass(frozen=True)
class Facility:
    """Files below the root, as a pattern, show whether it is at work; `harm` says what it does to trials then."""

    subject: str
    files: str
    harms: Callable[[str], bool]
    harm: str
    fix: str


def facilities() -> tuple[Facility, ...]:
    """Return all that are looked at, with the commands that end each until the machine boots again."""
    return (
        Facility(
            "clock rate",
            CPUFREQ,
            lambda governor: governor != "performance",
            "the governor changes the clock rate with the load",
            set_kernel("performance", f"/{CPUFREQ}"),
        ),
        Facility(
            "turbo",
            "sys/devices/system/cpu/cpufreq/boost",
            lambda boost: boost == "1",
            "CPUs are faster while others idle",
            set_kernel("0", "/sys/devices/system/cpu/cpufreq/boost"),
        ),
        Facility(
            "turbo (Intel)",
            "sys/devices/system/cpu/intel_pstate/no_turbo",
            lambda no_turbo: no_turbo == "0",
            "CPUs are faster while others idle",
            set_kernel("1", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
        ),
        Facility(
            "same-page merging",
            "sys/kernel/mm/ksm/run",
            lambda run: run == "1",
            "ksmd compares pages of guests, on any CPU",
            set_kernel("0", "/sys/kernel/mm/ksm/run"),
        ),
        Facility(
            "NUMA balancing",
            "proc/sys/kernel/numa_balancing",
            lambda balancing: balancing != "0",
            "the kernel moves pages between nodes, and has processes fault for it",
            set_kernel("0", "/proc/sys/kernel/numa_balancing"),
        ),
        Facility(
            "interrupt balancing",
            "proc/[0-9]*/comm",
            lambda name: name == "irqbalance",
            "irqbalance moves interrupts of NICs from CPU to CPU",
            stop_service("irqbalance"),
        ),
    )


def kernel_checks(root: Path = ROOT) -> list[Check]:
    """Return each facility that is at work, with how to end it, or one line that says that none is."""
    found = [
        Check("machine", facility.subject, False, f"{facility.harm}: trials differ by it", facility.fix)
        for facility in facilities()
        if any(map(facility.harms, _contents(facility, root)))
    ]
    detail = "none of its facilities moves work about, or changes the speed of CPUs"
    return found or [Check("machine", "steady kernel", True, detail)]


def _contents(facility: Facility, root: Path) -> Iterator[str]:
    """Content of each of its files that can be read; a process may be gone by then."""
    for file in sorted(root.glob(facility.files)):
        with suppress(OSError):
            yield file.read_text(errors="replace").strip()
