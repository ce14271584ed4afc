"""Which emulator a domain's definition may have started: libvirt starts it as root, and as soon as it probes it."""

import re
import stat
from collections.abc import Collection
from pathlib import Path
from xml.etree.ElementTree import Element

from vtax.inputs import one_line
from vtax.inputs.trust import ROOT, distrust
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.emulator import installed_emulator
from vtax.platforms.libvirt.definition import Definition

SYSTEM_DIRECTORIES = tuple(
    Path("/usr") / name for name in ("bin", "sbin", "libexec", "lib", "lib64", "local/bin", "local/libexec")
)
NAMES = re.compile(r"qemu-system-[A-Za-z0-9_.-]+|qemu-kvm|kvm")
"""What distributions call QEMU: root's other programs are no emulators."""
REMEDY = "needs a package's, or a copy that root makes in /usr/local/bin, or --set platform.without=emulator"


class UntrustedEmulatorError(PlatformUnusable):
    """The emulator that a definition names could be another's program than root's; the element names it."""

    def __init__(self, element: Element, problem: str) -> None:
        super().__init__(f"its <emulator> {_shown(element)} {problem}", REMEDY)
        self.element = element


def named_emulator(definition: Definition, without: Collection[str]) -> Path | None:
    """Return the emulator that a definition names, by a path without links; None for libvirt's own choice.

    It is the one that vtax finds itself, or QEMU in a directory of the system, and root's alone. Raises
    UntrustedEmulatorError where it could be another's, PlatformUnusable where none is there.
    """
    element = definition.root.find("devices/emulator")
    if element is None or element.tag in without or not (text := (element.text or "").strip()):
        return None
    if not text.startswith("/"):
        raise UntrustedEmulatorError(element, "is no absolute path")
    try:
        path = Path(text).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # the last for links in a circle
        raise PlatformUnusable(
            f"its <emulator> {_shown(element)} is not on this machine",
            "needs it installed, or libvirt's own choice by --set platform.without=emulator",
        ) from None
    if path != Path(installed_emulator()).resolve() and (problem := _distrust(path)) is not None:
        raise UntrustedEmulatorError(element, f"would run as root, but {one_line(problem)}")
    return path


def _shown(element: Element) -> str:
    return one_line((element.text or "").strip())


def _distrust(path: Path) -> str | None:
    """Return why root should not run a program at a path without links; None where it may."""
    if not any(path.is_relative_to(directory) for directory in SYSTEM_DIRECTORIES):
        return f"{path} is in no directory for the system's programs"
    if not NAMES.fullmatch(path.name) or not stat.S_ISREG(path.stat().st_mode):
        return f"{path} is not QEMU"
    return next(
        (problem for place in (path, *path.parents) if (problem := distrust(place, {ROOT})) is not None), None
    )
