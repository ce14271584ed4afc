"""Files of the user's own that guests start from: what is asked, refused and recorded of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from vtax.campaign.needs import needs_of
from vtax.campaign.platform_set import PlatformSet, find_files, probe, resolve
from vtax.cli import main
from vtax.inputs import InputError
from vtax.inputs.own_file import FoundFile
from vtax.platforms import PlatformConfig, Probe, presets
from vtax.platforms.preset import kinds, load_kind
from vtax.results.own_files import file_hashes
from vtax.scenario import Scenario, load_scenario
from vtax.testbed.machines import ThisMachine

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def built(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes an executable of that name, with that in it."""

    def write(name: str, content: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)
        return str(path)

    return write


class Uut(ThisMachine):
    """This machine, on which every platform is what its binary's last letters say."""

    def prepare(self, kind: str, config: PlatformConfig, packages: Sequence[str] | None) -> Probe:
        return Probe("none", {"version": f"version {getattr(config, 'binary', '')[-1:]}"})

    def check_protocols(self, kind: str, config: PlatformConfig, protocols: Sequence[str]) -> None:
        pass


@dataclass
class Here:
    """The machines of a testbed that is this machine."""

    uut: Uut

    def machine(self, host: str) -> Uut:
        return self.uut


def looked_at(
    scenario: Scenario, recorded: Mapping[str, Mapping[str, str]] | None = None, uut: Uut | None = None
) -> PlatformSet:
    cells = scenario.cells()
    platforms = resolve(scenario, cells)
    uut = uut or Uut()
    find_files(platforms, scenario, cells, uut, recorded or {})
    probe(platforms, cells, Here(uut))  # type: ignore[arg-type]
    return platforms


def asked(*sets: str, platform: str = "container") -> Scenario:
    return load_scenario("quick").override([platform], ["intended_mbps=10", "frame_bytes=64", *sets])


def test_every_kind_that_starts_a_program_takes_another() -> None:
    having = {kind for kind in kinds() if "binary" in load_kind(kind).Config.model_fields}
    assert {"container", "lxc", "qemu"} <= having
    assert not {"raw", "uml", "attached", "libvirt", "xen"} & having


def test_a_platform_without_the_key_names_those_that_have_it(capsys: Captured) -> None:
    options = ["--platform", "raw", "--set", "platform.binary=/usr/sbin/runc"]
    assert main(["run", "quick", *options]) == 2
    having = ", ".join(name for name, preset in presets().items() if "binary" in preset.keys)
    assert capsys.readouterr().err == (
        "--set platform.binary=/usr/sbin/runc: platform.binary: raw: no such key; platforms that have it: "
        f"{having}\n"
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "/nowhere/runc",
            "/nowhere/runc cannot be opened: No such file or directory; name a file that is there",
        ),
        ("/usr", "/usr is no regular file; name the file itself"),
        ("/etc/passwd", "/etc/passwd is not executable; chmod +x /etc/passwd"),
        (
            "build/runc",
            '"build/runc" is not allowed; type {here}/build/runc; allowed: the full path of a file',
        ),
        ("runc", '"runc" is not allowed; allowed: the full path of a file'),
    ],
)
def test_bad_input_starts_nothing(path: str, said: str, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "out"
    options = ["--platform", "container", "--out", str(out), "--budget", "1m", "--fail-on", "throughput<-5%"]
    factor = f"platform.binary=/usr/sbin/runc,{path}"
    assert main(["ab", "quick", "--factor", factor, *options]) == 2
    expected = f"--factor {factor}: factors.platform.binary: {said.format(here=Path.cwd())}\n"
    assert capsys.readouterr().err == expected
    assert not out.exists()


def test_control_characters_of_a_path_reach_no_terminal(capsys: Captured) -> None:
    assert main(["run", "quick", "--platform", "container", "--set", "platform.binary=/no\x1b[31mwhere"]) == 2
    said = capsys.readouterr().err
    assert r"/no\x1b[31mwhere cannot be opened" in said
    assert "\x1b" not in said


def foreign(directory: Path, **changes: Any) -> str:
    keys: dict[str, Any] = {
        "name": "foreign/scenario",
        "title": "A",
        "question": "B?",
        "workload": {"kind": "forwarding", "warmup_s": 0, "duration_s": 1, "frame_bytes": 64},
        "factors": {"platform": ["container"]},
        "repetitions": 1,
    }
    path = directory / "foreign.yaml"
    path.write_text(yaml.safe_dump({**keys, **changes}, sort_keys=False))
    return str(path)


class TestConsent:
    DETAIL = "/opt/evil, started as root in place of the platform's program"

    def test_what_a_file_names_is_listed_and_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = foreign(tmp_path, platform={"binary": "/opt/evil"})
        assert main(["run", path, "--out", str(tmp_path / "out")]) == 2
        assert capsys.readouterr().err.splitlines() == [
            "foreign/scenario needs more than was typed:",
            f"  programs: {self.DETAIL} ({path}:14)",
            "to grant this, add --allow programs",
        ]

    def test_what_is_typed_is_granted(self, tmp_path: Path) -> None:
        typed = load_scenario(foreign(tmp_path)).override(None, ["platform.binary=/opt/evil"])
        assert [(need.detail, need.is_typed) for need in needs_of(typed)] == [(self.DETAIL, True)]

    def test_what_a_result_stores_is_not(self, tmp_path: Path) -> None:
        stored = load_scenario(foreign(tmp_path, platform={"binary": "/opt/evil"})).resolved()
        assert [need.is_typed for need in needs_of(Scenario.from_resolved(stored))] == [False]

    def test_a_factors_levels_are_listed_each(self, tmp_path: Path) -> None:
        path = foreign(tmp_path, factors={"platform": ["container"], "platform.binary": ["/a", "/b"]})
        assert [need.detail.partition(",")[0] for need in needs_of(load_scenario(path))] == ["/a", "/b"]


class TestRecorded:
    def test_hash_and_version_of_each_are_facts(self, built: Callable[[str, str], str]) -> None:
        one, other = built("one/runc-a", "1"), built("other/runc-b", "2")
        platforms = looked_at(asked(f"platform.binary={one},{other}"))
        facts = platforms.facts("container")
        assert facts["files"] == {
            one: {
                "sha256": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
                "version": "version a",
            },
            other: {
                "sha256": "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35",
                "version": "version b",
            },
        }
        assert platforms.file_notes == []

    def test_one_file_under_two_names_is_said_to_be_that(self, built: Callable[[str, str], str]) -> None:
        one, other = built("one/runc", "1"), built("other/runc", "1")
        (note,) = looked_at(asked(f"platform.binary={one},{other}")).file_notes
        assert note == f"{one} and {other} are one file by SHA-256: between them nothing differs (A/A)"

    def test_guests_start_from_what_was_found(self, built: Callable[[str, str], str], tmp_path: Path) -> None:
        real, link = built("runc", "1"), tmp_path / "link"
        link.symlink_to(real)
        scenario = asked(f"platform.binary={link}")
        platforms = looked_at(scenario)
        config = platforms.config(scenario.cells()[0])
        assert config.own_files == {"binary": real}
        assert config.sha256 == {real: "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"}
        assert config.with_memory(1 << 30).sha256 == config.sha256

    def test_a_resumed_campaign_wants_the_same_file(self, built: Callable[[str, str], str]) -> None:
        path = built("runc", "1")
        scenario = asked(f"platform.binary={path}")
        recorded = file_hashes({"container": {"facts": looked_at(scenario).facts("container")}})
        looked_at(scenario, recorded)
        built("runc", "2")
        with pytest.raises(
            InputError, match=r"was measured with another file .* was 6b86b273ff34.* is d4735e3a265e"
        ):
            looked_at(scenario, recorded)

    def test_a_file_is_looked_at_once(self, built: Callable[[str, str], str]) -> None:
        looked: list[str] = []

        class Counted(Uut):
            def find_file(self, kind: str, config: PlatformConfig, key: str) -> FoundFile:
                looked.append(config.own_files[key])
                return super().find_file(kind, config, key)

        path = built("runc", "1")
        looked_at(asked(f"platform.binary={path}", "streams=1,2"), uut=Counted())
        assert looked == [path]


def test_what_stores_no_files_is_of_no_file() -> None:
    for nonsense in (
        None,
        [],
        {"a": None},
        {"a": {"facts": {"files": [1]}}},
        {"a": {"facts": {"files": {"/b": 1}}}},
    ):
        assert not any(file_hashes(nonsense).values())  # type: ignore[arg-type]
