"""Whether /dev/kvm really runs guests here: a boot under it that says hello in time, and nothing less.

A device node is no proof: some machines show one behind which ordinary kernels hang.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from vtax.machine.emulation import patience
from vtax.platforms.cache import cache_directory, filling_cache, open_shelf, replace_text

DEVICE = Path("/dev/kvm")
BOOT_LIMIT_S = 6.0


def has_device() -> bool:
    """Whether there is a /dev/kvm that this process may use: no proof yet that guests run under it."""
    return os.access(DEVICE, os.R_OK | os.W_OK)


def find_accelerator(key: str, boots: Callable[[float], bool]) -> str:
    """`kvm` when `boots(limit_s)` holds, else `emulated`; the answer is remembered for `key` on this host.

    `key` names what the answer depends on beside the host: emulator and guest kernel versions.
    """
    if not has_device():
        return "emulated"
    known = _load()
    name = f"{_host()} {key}"
    if name not in known:
        known[name] = "kvm" if boots(patience(BOOT_LIMIT_S)) else "emulated"
        open_shelf()
        with filling_cache():
            replace_text(memory_file(), json.dumps(known, indent=2))
    return known[name]


def remembered_accelerators() -> dict[str, str]:
    """What boots on this host have shown, the latest last: key of `find_accelerator` to `kvm` or `emulated`."""
    prefix = f"{_host()} "
    return {name.removeprefix(prefix): known for name, known in _load().items() if name.startswith(prefix)}


def memory_file() -> Path:
    """Where the answers are kept; removing it makes the next run find out again."""
    return cache_directory() / "accelerator.json"


def _load() -> dict[str, str]:
    try:
        known = json.loads(memory_file().read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {name: answer for name, answer in pairs if answer in ("kvm", "emulated")}


def _host() -> str:
    return f"{os.uname().release} {_cpu_model()}"


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown CPU"
