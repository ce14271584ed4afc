"""The presets of a machine that vtax emulates: one path wherever KVM works."""

import pytest

from vtax.platforms import presets, qemu
from vtax.testbed import machines

pytestmark = pytest.mark.system


@pytest.mark.parametrize("name", ["kvm-virtio", "kvm-vhost", "kvm-e1000"])
def test_kvms_presets_are_one_path_wherever_kvm_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What starts their guests knows nothing of an emulated machine, which only bears its mark in results."""
    for found in ("known_accelerator", "tried_accelerator"):
        monkeypatch.setattr(qemu, found, lambda *_: "kvm")
    monkeypatch.setattr(qemu, "has_device", lambda: True)
    monkeypatch.setitem(qemu.BACKENDS, "vhost", lambda: None)
    preset = presets()[name]
    config = preset.resolve({})
    for emulated, told in ((False, "kvm"), (True, "emulated")):
        monkeypatch.setattr(machines, "is_emulated", lambda emulated=emulated: emulated)
        here = machines.ThisMachine()
        assert here.prepare(preset.kind, config, None).accelerator == told
        assert preset.platform().prepare(config).accelerator == "kvm"
