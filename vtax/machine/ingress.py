"""An ingress with a context of its own: a veth end polled by a pinned NAPI thread, as a NIC's queue would be.

Left alone, a veth runs its receiver inside the sender's send(): no loss can appear and the UUT's CPU time is
charged to the sender. GRO makes the veth end use NAPI, `threaded` moves the polling into a kernel thread.
"""

import contextlib
import os
import time
from pathlib import Path

from vtax.machine.emulation import patience
from vtax.machine.namespace import Namespace
from vtax.machine.napi import polling_threads
from vtax.machine.offloads import set_offload

APPEAR_TIMEOUT_S = 2.0
BEGIN_TIMEOUT_S = 2.0
LOOK_S = 0.001
SLEEPS = "S"
"""A state that waits for something and can be interrupted (proc(5), field 3 of stat)."""

_kept: dict[str, set[int]] = {}
"""Threads by the device they poll: kernels before 6.17 keep them, and their names, when a device is not polled so."""


def thread_ingress(namespace: Namespace, interface: str, cpus: list[int]) -> list[int]:
    """Give each queue of `interface` (up) a NAPI thread pinned to `cpus`; returns the threads' process ids.

    Raises OSError when the kernel has no threaded NAPI (before 5.12) or no thread appears.
    """
    set_offload(namespace, interface, "rx-gro", True)
    device = namespace.run(lambda: _device(interface), private_sysfs=True)
    before = _napi_threads(interface)
    switch_threads(namespace, interface, True)
    threads = (
        namespace.run(lambda: polling_threads(interface))
        or _kept.get(device, set()) & _napi_threads()
        or _await_threads(interface, before)
    )
    if device:
        _kept[device] = threads
    for pid in threads:
        _await_begun(pid)
        os.sched_setaffinity(pid, cpus)
    return sorted(threads)


def _await_threads(interface: str, before: set[int]) -> set[int]:
    """Threads of an interface that were not there before; those that were, where none appears. Raises OSError."""
    deadline = time.monotonic() + patience(APPEAR_TIMEOUT_S)
    while time.monotonic() < deadline:
        if appeared := _napi_threads(interface) - before:
            return appeared
        time.sleep(0.005)
    if kept := before & _napi_threads(interface):
        return kept
    raise OSError(f"{interface}: no NAPI thread appeared within {APPEAR_TIMEOUT_S} s of switching it on")


def _await_begun(pid: int) -> None:
    """Wait until a thread has been idle, at most so long: then it has begun.

    A kernel thread that was started and has not had a CPU yet is refused by cgroups (EINVAL), and on machines with
    isolated CPUs it loses the CPU it was given (kthread.c). It sleeps first in its own function. One that is never
    idle has begun.
    """
    deadline = time.monotonic() + patience(BEGIN_TIMEOUT_S)
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # whoever wants it then will see
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != SLEEPS:
            if time.monotonic() > deadline:
                return
            time.sleep(LOOK_S)


def _device(interface: str) -> str:
    """What an interface is of, empty for a virtual one."""
    device = Path(f"/sys/class/net/{interface}/device")
    return str(device.resolve()) if device.exists() else ""


def switch_threads(namespace: Namespace, interface: str, enabled: bool) -> None:
    """Have an interface polled by threads of its own, or not."""

    def act() -> None:
        Path(f"/sys/class/net/{interface}/threaded").write_text(str(int(enabled)))

    try:
        namespace.run(act, private_sysfs=True)
    except FileNotFoundError as error:
        raise OSError(f"{interface}: this kernel has no threaded NAPI; Linux 5.12 or later has it") from error


def _napi_threads(interface: str | None = None) -> set[int]:
    """Kernel threads that poll an interface of this name, in whatever namespace; any, where none is named."""
    threads = set()
    prefix = "napi/" if interface is None else f"napi/{interface}-"[:15]
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text(errors="replace").startswith(prefix):
                threads.add(int(comm.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return threads
