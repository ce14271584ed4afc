"""Which emulators a domain may name: root starts them, so nobody else may have a hand in one."""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree, which

import pytest

from tests.helpers.libvirt_domains import wanted
from vtax.campaign.platform_set import resolve
from vtax.cli import main
from vtax.platforms import PlatformUnusable, libvirt
from vtax.platforms.libvirt import emulators
from vtax.platforms.libvirt.definition import parse_definition, survey
from vtax.platforms.libvirt.emulators import UntrustedEmulatorError, named_emulator
from vtax.platforms.libvirt.transform import transform
from vtax.scenario import load_scenario

NOBODY = 65534
DOMAIN = """<domain type='kvm'>
  <os><type>hvm</type></os>
  <!-- <emulator>/usr/bin/other</emulator> -->
  <devices>
    <emulator>%s</emulator>
    <interface type='user'/>
  </devices>
</domain>
"""
LINE = 5
"""Of the emulator."""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for programs, with an emulator in it: in the hands of root alone, and so is all above it."""
    if os.geteuid():
        pytest.skip("only root can make what is root's")
    directory = Path(tempfile.mkdtemp(prefix="vtax-test-", dir="/var/lib"))
    directory.chmod(0o755)
    monkeypatch.setattr(emulators, "SYSTEM_DIRECTORIES", (directory,))
    (directory / "bin").mkdir()
    program(directory / "bin/qemu-system-x86_64")
    yield directory
    rmtree(directory)


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def named(path: Path | str, *without: str) -> Path | None:
    return named_emulator(parse_definition((DOMAIN % path).encode()), without)


def test_one_that_is_roots_alone_is_taken_by_its_own_path(home: Path, tmp_path: Path) -> None:
    real, link = home / "bin/qemu-system-x86_64", tmp_path / "link"
    link.symlink_to(real)
    assert (named(real), named(link)) == (real, real), "where anybody's link leads now is what runs later"


def test_the_installed_one_is_taken_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = program(tmp_path / "qemu-system-x86_64")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert which("qemu-system-x86_64") == str(own)
    assert named(own) == own


HANDS: dict[str, Callable[[Path], object]] = {
    "bin/qemu-system-x86_64 belongs to nobody": lambda at: os.chown(at / "bin/qemu-system-x86_64", NOBODY, 0),
    "bin/qemu-system-x86_64 may be written by its group": lambda at: (at / "bin/qemu-system-x86_64").chmod(
        0o775
    ),
    "bin/qemu-system-x86_64 may be written by everybody": lambda at: (at / "bin/qemu-system-x86_64").chmod(
        0o757
    ),
    "bin belongs to nobody": lambda at: os.chown(at / "bin", NOBODY, 0),
    "bin may be written by its group": lambda at: (at / "bin").chmod(0o775),
    "bin may be written by everybody": lambda at: (at / "bin").chmod(0o1777),
    "belongs to nobody": lambda at: os.chown(at, NOBODY, 0),
}


@pytest.mark.parametrize("problem", HANDS)
def test_one_that_another_could_replace_is_refused(home: Path, problem: str) -> None:
    HANDS[problem](home)
    with pytest.raises(UntrustedEmulatorError, match=f"would run as root, but {home}.*{problem}") as refused:
        named(home / "bin/qemu-system-x86_64")
    assert "--set platform.without=emulator" in refused.value.fix
    assert named(home / "bin/qemu-system-x86_64", "emulator") is None


def test_a_link_to_anothers_program_is_refused(home: Path, tmp_path: Path) -> None:
    link = home / "bin/qemu-system-i386"
    link.symlink_to(program(tmp_path / "qemu-system-i386"))
    with pytest.raises(UntrustedEmulatorError, match=f"{tmp_path}.* is in no directory for the system's"):
        named(link)


@pytest.mark.parametrize("name", ["sh", "qemu-img", "xqemu-system-x86_64", "qemu-system-"])
def test_another_program_of_roots_is_no_emulator(home: Path, name: str) -> None:
    with pytest.raises(UntrustedEmulatorError, match=f"{name} is not QEMU"):
        named(program(home / "bin" / name))


def test_a_directory_is_no_emulator(home: Path) -> None:
    (home / "qemu-kvm").mkdir()
    with pytest.raises(UntrustedEmulatorError, match="is not QEMU"):
        named(home / "qemu-kvm")


def test_one_without_a_whole_path_is_refused() -> None:
    with pytest.raises(UntrustedEmulatorError, match="qemu-system-x86_64 is no absolute path"):
        named("qemu-system-x86_64")


def test_one_that_is_not_here_is_no_fault_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (tmp_path / "nowhere", tmp_path / "circle"):
        with pytest.raises(PlatformUnusable, match="is not on this machine") as missing:
            named(path)
        assert not isinstance(missing.value, UntrustedEmulatorError)


def test_a_campaign_with_anothers_emulator_does_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started, domain = tmp_path / "started", tmp_path / "domain.xml"
    evil = tmp_path / "qemu-system-x86_64"
    evil.write_text(f"#!/bin/sh\ntouch {started}\n")
    evil.chmod(0o755)
    domain.write_text(DOMAIN % evil)
    asked = ["run", "quick", "--platform", f"libvirt:{domain}", "--out", str(tmp_path / "out")]
    assert main(asked) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{domain}:{LINE}: its <emulator> {evil} would run as root, but {evil} is in no directory" in said
    assert said.endswith("or --set platform.without=emulator")
    assert not started.exists()
    assert not (tmp_path / "out").exists()
    with pytest.raises(PlatformUnusable, match="would run as root"):
        libvirt.Kind().prepare(libvirt.Config(domain=str(domain)))
    assert not started.exists()
    allowed = load_scenario("quick").override([f"libvirt:{domain}"], ["platform.without=emulator"])
    resolve(allowed, allowed.cells())


def test_nothing_of_the_files_own_emulator_is_run() -> None:
    """Libvirt is given the path that was looked at, or none."""
    definition = parse_definition((DOMAIN % "/usr/bin/../bin/evil").encode())
    found = survey(definition)
    for emulator in (None, Path("/usr/bin/qemu-system-x86_64")):
        text = transform(found, replace(wanted(emulated=True), emulator=emulator))
        assert "evil" not in text
        assert ("<emulator>/usr/bin/qemu-system-x86_64</emulator>" in text) == (emulator is not None)
