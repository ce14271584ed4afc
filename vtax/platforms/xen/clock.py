"""CPU time of domains as Xen counts it, asked through its own library: starting `xl` for it would take dom0's.

xc_vcpu_getinfo of tools/include/xenctrl.h, and what it fills in of xen/include/public/domctl.h.
"""

import ctypes
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from vtax.platforms.contract import PlatformUnusable

VERSION = Path("/sys/hypervisor/version")


class VcpuInfo(ctypes.Structure):
    """xen_domctl_getvcpuinfo."""

    _fields_ = (
        ("vcpu", ctypes.c_uint32),
        ("online", ctypes.c_uint8),
        ("blocked", ctypes.c_uint8),
        ("running", ctypes.c_uint8),
        ("cpu_time", ctypes.c_uint64),
        ("cpu", ctypes.c_uint32),
    )


def check_clock() -> None:
    """Look whether the running Xen's library is there; raises PlatformUnusable."""
    try:
        ctypes.CDLL(_library_name())
    except OSError as error:
        raise PlatformUnusable(
            f"CPU time of domains cannot be told: {error}", "needs Xen's tools of its own version"
        ) from None


def cpu_times(domain: int, vcpus: Iterable[int]) -> dict[int, float]:
    """Seconds that virtual CPUs of a domain have run so far; raises OSError for a domain that is gone."""
    library, handle = _open()
    info, times = VcpuInfo(), {}
    for vcpu in vcpus:
        if library.xc_vcpu_getinfo(handle, domain, vcpu, ctypes.byref(info)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"Xen tells nothing of domain {domain}: {os.strerror(number)}")
        times[vcpu] = info.cpu_time / 1e9
    return times


@cache
def _open() -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    library = ctypes.CDLL(_library_name(), use_errno=True)
    library.xc_interface_open.restype = ctypes.c_void_p
    handle = library.xc_interface_open(None, None, 0)
    if not handle:
        raise OSError(ctypes.get_errno(), "Xen cannot be asked")
    return library, ctypes.c_void_p(handle)


def _library_name() -> str:
    """Its version is the hypervisor's."""
    return (
        f"libxenctrl.so.{(VERSION / 'major').read_text().strip()}.{(VERSION / 'minor').read_text().strip()}"
    )
