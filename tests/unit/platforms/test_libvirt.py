"""Guests of libvirt: what of a platform and of a URI is taken, and what refused."""

from pathlib import Path

import pytest
import yaml

from tests.helpers.libvirt_domains import DOMAINS
from vtax.cli import main
from vtax.platforms.libvirt import hypervisor as hypervisors
from vtax.platforms.libvirt.hypervisor import EMBEDDED, find_hypervisor

REFUSED_URIS = [
    *("qemu+ssh://host/system", "nonsense", "test:///default", "qemu:///session", "QEMU:///system"),
    *(
        "qemu:///embed?root=/x",
        "qemu:///system?socket=/x",
        "qemu:///system#x",
        "qemu:///system/",
    ),
    *("qemu+ext:///system?command=/bin/false", "qemu+ssh:///system?command=/bin/false"),
    *("qemu+unix:///system", "qemu://localhost/system", "qemu:///system?command=/bin/false"),
]


class TestInput:
    @pytest.mark.parametrize(
        ("platform", "problem"),
        [
            ("libvirt", "no domain is named; allowed: libvirt:FILE.xml"),
            ("libvirt:/nowhere.xml", "/nowhere.xml cannot be read: No such file or directory"),
            ("libvirt:pyproject.toml", "pyproject.toml is not well-formed XML"),
            ("raw:x", "unknown platform"),
        ],
    )
    def test_a_name_without_a_domain_is_refused_in_a_sentence(
        self, platform: str, problem: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", "quick", "--platform", platform]) == 2
        errors = capsys.readouterr().err
        assert problem in errors
        assert len(errors.strip().splitlines()) == 1

    @pytest.mark.parametrize("uri", REFUSED_URIS)
    def test_any_uri_but_two_is_refused(self, uri: str, capsys: pytest.CaptureFixture[str]) -> None:
        domain = DOMAINS / "openstack.xml"
        assert main(["run", "quick", "--platform", f"libvirt:{domain}", "--libvirt-uri", uri]) == 2
        errors = capsys.readouterr().err
        assert "allowed: " in errors
        assert EMBEDDED in errors

    @pytest.mark.parametrize("key", ["platform: {libvirt_uri: %s}", "factors: {platform.libvirt_uri: [%s]}"])
    def test_no_scenario_has_a_program_started_by_a_uri(
        self, key: str, scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        started, evil = tmp_path / "started", tmp_path / "evil"
        evil.write_text(f"#!/bin/sh\ntouch {started}\n")
        evil.chmod(0o755)
        keys = yaml.safe_load(scenario.read_text())
        section, values = next(iter(yaml.safe_load(key % f"'qemu+ext:///system?command={evil}'").items()))
        keys["factors"]["platform"] = [f"libvirt:{DOMAINS / 'openstack.xml'}"]
        keys[section] = {**keys.get(section, {}), **values}
        scenario.write_text(yaml.safe_dump(keys))
        assert main(["run", str(scenario), "--out", str(tmp_path / "out")]) == 2
        assert f'libvirt_uri: "qemu+ext:///system?command={evil}'[:60] in capsys.readouterr().err
        assert not started.exists()
        assert not (tmp_path / "out").exists()

    def test_a_daemon_is_taken_where_one_listens(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hypervisors, "SOCKETS", (tmp_path / "socket",))
        assert find_hypervisor(None).embedded
        (tmp_path / "socket").touch()
        assert find_hypervisor(None).uri == "qemu:///system"
        assert find_hypervisor(EMBEDDED).embedded
