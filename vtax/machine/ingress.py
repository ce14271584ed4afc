"""An ingress with a context of its own: a veth end polled by a pinned NAPI thread, as a NIC's queue would be.

Left alone, a veth runs its receiver inside the sender's send(): no loss can appear and the UUT's CPU time is
charged to the sender. GRO makes the veth end use NAPI, `threaded` moves the polling into a kernel thread.
"""

import os
import time
from pathlib import Path

from vtax.machine.namespace import Namespace
from vtax.machine.offloads import set_offload

APPEAR_TIMEOUT_S = 2.0


def thread_ingress(namespace: Namespace, interface: str, cpus: list[int]) -> int:
    """Give `interface` (up) a NAPI thread pinned to `cpus`; returns the thread's process id.

    Raises OSError when the kernel has no threaded NAPI (before 5.12) or no thread appears.
    """
    set_offload(namespace, interface, "rx-gro", True)
    before = _napi_threads(interface)

    def act() -> None:
        Path(f"/sys/class/net/{interface}/threaded").write_text("1")

    try:
        namespace.run(act, private_sysfs=True)
    except FileNotFoundError as error:
        raise OSError(f"{interface}: this kernel has no threaded NAPI; Linux 5.12 or later has it") from error
    deadline = time.monotonic() + APPEAR_TIMEOUT_S
    while time.monotonic() < deadline:
        appeared = _napi_threads(interface) - before
        if appeared:
            pid = min(appeared)
            os.sched_setaffinity(pid, cpus)
            return pid
        time.sleep(0.005)
    raise OSError(f"{interface}: no NAPI thread appeared within {APPEAR_TIMEOUT_S} s of switching it on")


def _napi_threads(interface: str) -> set[int]:
    """Kernel threads that poll an interface of this name, in whatever namespace."""
    threads = set()
    prefix = f"napi/{interface}-"[:15]
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().startswith(prefix):
                threads.add(int(comm.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return threads
