"""Which guests run here, at which switches, and on which CPU."""

import shlex

from vtax.doctor.check import Check, unusable
from vtax.machine.fix import load_module
from vtax.platforms import PlatformUnusable, presets
from vtax.platforms.accelerator import has_device, memory_file, remembered_accelerators
from vtax.testbed.ports import PORTS, require_meeting


def switch(name: str) -> Check:
    """Whether guests' NICs can meet the host that way (`testbed.switch`)."""
    try:
        facts = PORTS[name].find()
    except PlatformUnusable as refused:
        return unusable("switches", name, refused.reason, refused.fix)
    told = [PORTS[name].title, *(f"{fact} {value}" for fact, value in facts.items())]
    return Check("switches", name, True, ", ".join(told))


def platform(name: str) -> Check:
    """Whether guests of this preset run here."""
    preset = presets()[name]
    kind, config = preset.platform(), preset.resolve({})
    untried = f" ({preset.untried})" if preset.untried else ""
    try:
        kind.check(config)
        require_meeting(config)
        known = kind.known(config)
    except PlatformUnusable as refused:
        return unusable("platforms", name, f"{refused.reason}{untried}", refused.fix)
    versions = {fact: str(version) for fact, version in known.facts.items()}
    return Check("platforms", name, True, f"{preset.title}{untried}", None, known.accelerator, versions)


def kvm() -> Check:
    """Which CPU guests of emulators get: only a boot shows it, and runs remember it."""
    if not has_device():
        fix = f"{load_module('kvm-intel')} || {load_module('kvm-amd')}"
        return Check("platforms", "KVM", False, "emulated CPU (no /dev/kvm to read and write)", fix)
    shown = list(remembered_accelerators().values())[-1:]
    if not shown:
        return Check("platforms", "KVM", True, "not probed yet: the first run finds out")
    if shown == ["kvm"]:
        return Check("platforms", "KVM", True, "kvm")
    detail = "emulated CPU (KVM did not boot a guest); delete this file to test KVM again"
    return Check("platforms", "KVM", False, detail, f"rm {shlex.quote(str(memory_file()))}")
