"""Platform kind `esxi`, as far as no host is needed: its keys, its secrets, what is refused before anything starts."""

import importlib.util
from pathlib import Path

import pytest
from pydantic import ValidationError

from vtax.cli import main
from vtax.doctor import platforms
from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformUnusable, Probe, presets
from vtax.platforms.esxi import Config
from vtax.platforms.esxi.credentials import find_credentials
from vtax.platforms.esxi.made import Made
from vtax.platforms.esxi.removal import OwnedGuest
from vtax.platforms.esxi.session import Address, check_library

PRESETS = {"esxi-vmxnet3": "vmxnet3", "esxi-e1000": "e1000"}


class TestKeys:
    @pytest.mark.parametrize(("name", "nic_model"), PRESETS.items())
    def test_presets_take_a_host(self, name: str, nic_model: str) -> None:
        config = presets()[f"{name}:esx1.example"].resolve({"datastore": "ssd", "port_groups": "in out"})
        assert isinstance(config, Config)
        assert (config.host, config.nic_model, config.lacking) == ("esx1.example", nic_model, None)

    @pytest.mark.parametrize(
        ("keys", "lacking"),
        [
            ({}, "no ESXi host is named; allowed: esxi-vmxnet3:HOST"),
            ({"host": "esx1"}, "no datastore of esx1 is named; allowed: --set platform.datastore=NAME"),
            ({"host": "esx1", "datastore": "ssd"}, "no port groups of esx1 are named for its NICs"),
        ],
    )
    def test_what_nobody_has_said_is_named(self, keys: dict[str, str], lacking: str) -> None:
        assert lacking in str(Config.model_validate(keys).lacking)

    def test_port_groups_may_have_blanks_in_their_names(self) -> None:
        assert Config(port_groups="VM%20Network out").networks == ["VM Network", "out"]

    @pytest.mark.parametrize(
        "keys",
        [
            {"host": "esx1/sdk"},
            {"host": "-o"},
            {"port_groups": " in"},
            {"credentials": "lower"},
            {"ca_file": "/nowhere/ca.pem"},
            {"serial_port": 23},
            {"nic_model": "virtio"},
        ],
    )
    def test_what_is_out_of_bounds(self, keys: dict[str, object]) -> None:
        with pytest.raises(ValidationError):
            Config.model_validate(keys)


class TestRefused:
    def test_a_campaign_on_this_machines_own_testbed(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        keys = ("platform.datastore=ssd", "platform.port_groups=in out")
        sets = [word for key in keys for word in ("--set", key)]
        out = tmp_path / "out"
        assert main(["run", "quick", "--platform", "esxi-vmxnet3:esx1", *sets, "--out", str(out)]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "its NICs are at port groups of esx1, where no link of the testbed ends" in said
        assert "attached:GUEST" in said
        assert not out.exists()

    def test_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(PlatformUnusable, match=r"no pyvmomi, which speaks with ESXi; make -C .* esxi"):
            check_library()

    @pytest.mark.parametrize("name", [*PRESETS, "virtualbox-virtio", "virtualbox-82540em"])
    @pytest.mark.parametrize("usable", [False, True])
    def test_the_doctor_tells_what_was_never_run(
        self, name: str, usable: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind = type(presets()[name].platform())

        def check(self: object, config: object) -> None:
            if not usable:
                raise PlatformUnusable("it is not there", "needs it")

        monkeypatch.setattr(kind, "check", check)
        monkeypatch.setattr(kind, "known", lambda self, config: Probe("none"))
        row = platforms.platform(name)
        detail = row.detail
        assert row.usable == (usable and name not in PRESETS)  # no link of this machine's ends at ESXi
        assert "never run" in detail
        assert ("tested on a simulator" in detail) == (name in PRESETS)


class TestSecrets:
    def test_they_come_from_the_environment_and_are_not_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LAB_USER", "vtax")
        monkeypatch.setenv("LAB_PASSWORD", "hunter2")
        found = find_credentials("LAB", "esx1")
        assert (found.user, found.password) == ("vtax", "hunter2")
        assert "hunter2" not in repr(found)

    def test_what_is_missing_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LAB_USER", raising=False)
        monkeypatch.setenv("LAB_PASSWORD", "hunter2")
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        with pytest.raises(PlatformUnusable, match="LAB_USER and LAB_PASSWORD in the environment") as refused:
            find_credentials("LAB", "esx1")
        assert "hunter2" not in str(refused.value)


def test_what_cannot_be_removed_is_named_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    record = OwnershipRecord("vtax-test", tmp_path)
    record.open()
    note = record.scratch / "guest.esxi"
    made = Made(Address("esx1.invalid", 443, None, "LAB"), "ssd", "vtax-test-guest", "1-2-3")
    record.add(OwnedGuest("vtax-test-guest on esx1.invalid", str(note)))
    made.note(note)
    record.clean()
    kept, why = record.failed[0]
    assert str(kept) == "ESXi guest vtax-test-guest on esx1.invalid"
    assert "LAB_USER and LAB_PASSWORD" in str(why) or "no pyvmomi" in str(why)
    assert record.path.exists()
    assert note.exists()
