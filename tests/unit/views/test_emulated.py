"""Emulated platforms are held against each other only: against raw where that was emulated as well."""

import pytest

from vtax.model.platform import Platform, references


def platform(name: str, emulated: bool) -> Platform:
    return Platform(name, name, "kind", "emulated" if emulated else "none", emulated, None, None)


@pytest.mark.parametrize(
    ("emulated", "expected"),
    [
        ({"raw": False, "uml": False, "qemu-virtio": True}, {"uml": "raw"}),
        ({"raw": False, "kvm-vhost": True, "qemu-e1000": True}, {"qemu-e1000": "kvm-vhost"}),
        ({"xen-pv": True, "raw": True, "xen-pvh": True}, {"xen-pv": "raw", "xen-pvh": "raw"}),
    ],
)
def test_a_platforms_reference_is_of_its_group(emulated: dict[str, bool], expected: dict[str, str]) -> None:
    assert references([platform(*each) for each in emulated.items()]) == expected
