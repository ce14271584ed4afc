"""scripts/supply: what vtax is made of is allowed, and what is not is named; the wheel's bill names it."""

import base64
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from scripts.supply.crates import Crate, checksums, compiled_in, lock_problems
from scripts.supply.policy import permits, read_policy
from scripts.supply.sbom import Toolchain, bill
from scripts.supply.wheel_file import add_to_wheel
from scripts.supply.wheels import EXCEPTIONS, installed_of, licence_problems, locked
from scripts.supply.wheels import lock_problems as python_lock_problems
from tests.helpers.bills import wrong_with
from tests.helpers.paths import ROOT

POLICY = read_policy()
LOCKS = sorted(ROOT.glob("requirements*.lock"))
LOCK = (ROOT / "agent/Cargo.lock").read_text()
(INDEX,) = POLICY.registries
REGISTRY = f'source = "registry+{INDEX}"'
ELSEWHERE = "https://example.org"


def test_pythons_packages_are_allowed_and_locked() -> None:
    names = {package.name for path in LOCKS for package in locked(path.read_text())}
    installed = list(installed_of(names))
    assert {"numpy", "pytest", "typing-extensions"} <= {re.sub("_", "-", each.name) for each in installed}
    assert list(licence_problems(POLICY, installed)) == []
    assert list(python_lock_problems(ROOT)) == []


def test_an_exception_is_for_a_package_that_is_used() -> None:
    assert EXCEPTIONS.keys() <= {package.name for path in LOCKS for package in locked(path.read_text())}


def test_the_crates_are_of_the_registry() -> None:
    assert list(lock_problems(LOCK, POLICY)) == []


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        (
            f'source = "git+{ELSEWHERE}/serde#0123"',
            f"source git+{ELSEWHERE}/serde#0123 is not allowed",
        ),
        (
            f'source = "registry+{ELSEWHERE}/index"',
            f"source registry+{ELSEWHERE}/index is not allowed",
        ),
        ("", "it comes from a directory"),
        (REGISTRY, "it has no checksum"),
    ],
)
def test_a_crate_from_elsewhere_is_named(planted: str, said: str) -> None:
    lock = f'{LOCK}\n[[package]]\nname = "planted"\nversion = "1.0.0"\n{planted}\n'
    assert list(lock_problems(lock, POLICY)) == [f"crate planted 1.0.0: {said}"]


def test_a_banned_crate_is_named() -> None:
    lock = f'[[package]]\nname = "openssl-sys"\nversion = "1.0.0"\n{REGISTRY}\nchecksum = "00"\n'
    assert list(lock_problems(lock, POLICY)) == ["crate openssl-sys 1.0.0: it is banned"]


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        ("MIT", True),
        ("AGPL-3.0-only", False),
        ("AGPL-3.0-only OR MIT", True),
        ("AGPL-3.0-only/MIT", True),
        ("Apache-2.0 / MIT", True),
        ("AGPL-3.0-only AND MIT", False),
        ("(MIT OR AGPL-3.0-only) AND Unicode-3.0", True),
        ("MIT AND (AGPL-3.0-only OR BUSL-1.1)", False),
        ("MIT OR Apache-2.0 AND AGPL-3.0-only", True),
        ("AGPL-3.0-only AND MIT OR AGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0 OR AGPL-3.0-only", False),
        ("mit", False),
    ],
)
def test_a_licence_expression(expression: str, permitted: bool) -> None:
    assert permits(expression, POLICY.licences) is permitted


@pytest.mark.parametrize("expression", ["", "MIT OR", "MIT Apache-2.0", "(MIT", "MIT)", "AND MIT"])
def test_what_is_no_licence_expression_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"parenthesis|no licence expression"):
        permits(expression, POLICY.licences)


class Installed(Distribution):
    """A package that is installed, by its metadata."""

    def __init__(self, **fields: str) -> None:
        self._fields = fields

    @property
    def metadata(self) -> Message:  # type: ignore[override]
        message = Message()
        for name, value in {"Name": "planted", **self._fields}.items():
            message[name.replace("_", "-")] = value
        return message

    def read_text(self, filename: str) -> None:
        return None

    def locate_file(self, path: object) -> Path:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "MIT"}, None),
        ({"License_Expression": "AGPL-3.0-only"}, "AGPL-3.0-only"),
        ({"Classifier": "License :: OSI Approved :: MIT License"}, None),
        ({"Classifier": "License :: OSI Approved :: GNU Affero GPL"}, "GNU Affero GPL"),
        ({"License": "Apache 2.0"}, None),
        ({"License": "MIT License\n\nCopyright"}, None),
        ({"License": "You may look at it."}, "You may look at it."),
        ({}, "unknown"),
        ({"Name": "diptest", "License": "GPLv2+"}, None),
        ({"Name": "diptest", "License_Expression": "AGPL-3.0-only"}, "AGPL-3.0-only"),
    ],
)
def test_a_package_with_another_licence_is_named(fields: dict[str, str], licence: str | None) -> None:
    name = fields.get("Name", "planted")
    expected = [f"package {name}: licence {licence} is not allowed"] if licence else []
    assert list(licence_problems(POLICY, [Installed(**fields)])) == expected


@pytest.mark.parametrize(
    "line",
    [
        "planted==1.0",
        "planted>=1.0 --hash=sha256:" + "0" * 64,
        f"planted @ {ELSEWHERE}/planted.whl --hash=sha256:" + "0" * 64,
        f"git+{ELSEWHERE}/planted",
        f"--index-url {ELSEWHERE}/simple",
        f"--extra-index-url {ELSEWHERE}/simple",
        "-e .",
    ],
)
def test_a_lock_has_versions_and_hashes_alone(line: str, tmp_path: Path) -> None:
    lock = (ROOT / "requirements.lock").read_text()
    (tmp_path / "requirements.lock").write_text(f"{lock}\n{line}\n")
    (problem,) = python_lock_problems(tmp_path)
    assert problem.startswith("requirements.lock: ")


def metadata(directory: Path, licence: str = "MIT", tests: str = "MIT", **more: str) -> str:
    """What `cargo metadata` prints of an agent with three crates, one of them for its tests, and more."""
    source = f"registry+{INDEX}"
    names = {
        "vtax-agent": "Apache-2.0",
        "libbpf-sys": "BSD-2-Clause",
        "serde": licence,
        "proptest": tests,
        **more,
    }
    packages = [
        {
            "id": f"{name}#1",
            "name": name.partition("~")[0],
            "version": f"1.0.{number}+v1",
            "license": of,
            "source": None if name == "vtax-agent" else source,
            "manifest_path": str(directory / name / "Cargo.toml"),
        }
        for number, (name, of) in enumerate(names.items())
    ]
    needed = {
        "vtax-agent": {"libbpf-sys": None, "serde": None, "proptest": "dev", **dict.fromkeys(more)},
        "libbpf-sys": {"serde": "build"},
    }
    nodes = [
        {
            "id": f"{name}#1",
            "deps": [
                {"pkg": f"{other}#1", "dep_kinds": [{"kind": kind}]}
                for other, kind in needed.get(name, {}).items()
            ],
        }
        for name in names
    ]
    return json.dumps({"packages": packages, "resolve": {"root": "vtax-agent#1", "nodes": nodes}})


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({}, ""),
        ({"licence": "AGPL-3.0-only"}, "crate serde 1.0.2+v1: licence AGPL-3.0-only is not allowed"),
        ({"tests": "BUSL-1.1"}, "crate proptest 1.0.3+v1: licence BUSL-1.1 is not allowed"),
        ({"unstated": ""}, "crate unstated 1.0.4+v1: licence unknown is not allowed"),
        ({"serde~2": "MIT"}, "crate serde: it is there in 2 versions"),
        ({"syn": "MIT", "syn~2": "MIT"}, ""),
    ],
)
def test_make_check_fails_on_what_is_not_allowed(planted: dict[str, str], said: str, tmp_path: Path) -> None:
    """As `make check-rust` calls it: by the system's Python, without any package."""
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-S", "-m", "scripts.supply", "crates"],
        input=metadata(tmp_path, **planted),
        capture_output=True,
        check=False,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    assert (done.returncode, done.stderr.partition(";")[0]) == (bool(said), said)


@pytest.fixture
def crates(tmp_path: Path) -> list[Crate]:
    for name, text in {
        "elfutils/configure.ac": f"AC_INIT([elfutils],[0.191],[{ELSEWHERE}])",
        "zlib/zlib.h": '#define ZLIB_VERSION "1.2.13"',
    }.items():
        path = tmp_path / "libbpf-sys" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return compiled_in(
        metadata(tmp_path, "MIT/Apache-2.0", switched_on_by_builds="MIT"),
        f"vtax-agent v1.0.0+v1 ({tmp_path})\nserde v1.0.2+v1\nlibbpf-sys v1.0.1+v1\nserde v1.0.2+v1 (*)\n",
    )


def made(crates: list[Crate], rust: str = "1.95.0") -> str:
    digests = {(crate.name, crate.version): "0" * 64 for crate in crates}
    packages = locked((ROOT / "requirements.lock").read_text())
    return bill("0.1.0", crates, digests, packages, Toolchain(rust, "2.36"), 1_700_000_000)


def test_the_bill_names_what_is_compiled_in_and_what_is_imported(crates: list[Crate]) -> None:
    document = json.loads(made(crates))
    assert wrong_with(document) == []
    named = {component["bom-ref"] for component in document["components"]}
    assert named >= {
        "pkg:cargo/vtax-agent@1.0.0%2Bv1",
        "pkg:cargo/serde@1.0.2%2Bv1",
        "pkg:generic/elfutils@0.191",
        "pkg:generic/zlib@1.2.13",
        "pkg:generic/glibc@2.36",
        "pkg:generic/rust@1.95.0",
    }
    assert not any("proptest" in name for name in named), "it is for tests"
    assert not any("switched_on_by_builds" in name for name in named)
    direct = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {component["name"] for component in document["components"]}
    assert {name.partition(">")[0] for name in direct} <= names
    (serde,) = (each for each in document["components"] if each["name"] == "serde")
    assert serde["licenses"] == [{"expression": "MIT OR Apache-2.0"}]
    assert serde["hashes"] == [{"alg": "SHA-256", "content": "0" * 64}]
    (bindings,) = (each for each in document["dependencies"] if "libbpf-sys" in each["ref"])
    assert bindings["dependsOn"] == ["pkg:generic/elfutils@0.191", "pkg:generic/zlib@1.2.13"]


def test_the_same_parts_make_the_same_bill(crates: list[Crate]) -> None:
    assert made(crates) == made(crates)
    serials = {json.loads(made(crates, rust))["serialNumber"] for rust in ("1.95.0", "1.96.0")}
    assert len(serials) == 2


def test_each_crate_of_the_lock_has_its_checksum() -> None:
    assert len(checksums(LOCK)) == LOCK.count("[[package]]") - 1
    assert all(len(digest) == 64 for digest in checksums(LOCK).values())


def test_a_wheel_with_a_further_file_is_whole(tmp_path: Path) -> None:
    wheel = tmp_path / "vtax-0.1.0-py3-none-any.whl"
    record = "vtax/agent,sha256=x,5\nvtax-0.1.0.dist-info/RECORD,,\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        agent = zipfile.ZipInfo("vtax/agent", (2023, 11, 14, 0, 0, 0))
        agent.external_attr = 0o100755 << 16
        archive.writestr(agent, "agent")
        archive.writestr("vtax-0.1.0.dist-info/RECORD", record)
    add_to_wheel(wheel, "sboms/a.json", b"first")
    add_to_wheel(wheel, "sboms/a.json", b"{}")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "vtax/agent",
            "vtax-0.1.0.dist-info/sboms/a.json",
            "vtax-0.1.0.dist-info/RECORD",
        ]
        assert archive.getinfo("vtax/agent").external_attr >> 16 == 0o100755
        assert archive.read("vtax-0.1.0.dist-info/sboms/a.json") == b"{}"
        lines = list(csv.reader(io.TextIOWrapper(archive.open("vtax-0.1.0.dist-info/RECORD"))))
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"{}").digest()).decode().rstrip("=")
    assert lines == [
        ["vtax/agent", "sha256=x", "5"],
        ["vtax-0.1.0.dist-info/sboms/a.json", f"sha256={digest}", "2"],
        ["vtax-0.1.0.dist-info/RECORD", "", ""],
    ]
