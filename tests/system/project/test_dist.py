"""The wheel that `make dist` builds: where there is neither cargo nor the source tree, it measures real frames."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.bills import wrong_with
from tests.helpers.paths import ROOT
from vtax.results import Result

pytestmark = [
    pytest.mark.dist,
    pytest.mark.system,
    pytest.mark.usefixtures("leaves_nothing"),
]


@pytest.fixture(scope="module")
def wheel() -> Path:
    (wheel,) = (ROOT / "dist").glob("vtax-*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and what it needs by its hashes."""
    environment = tmp_path_factory.mktemp("wheel") / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements.lock"], check=True)
    subprocess.run([*pip, "--no-deps", wheel], check=True)
    return environment


def vtax(installed: Path, directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """vtax as of the wheel, elsewhere, with a search path that has the system's commands and no compiler of ours."""
    path = f"{installed}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert shutil.which("cargo", path=path) is None
    environment = {"PATH": path, "HOME": str(directory), "TERM": "xterm"} | {
        name: value for name, value in os.environ.items() if name == "VTAX_CACHE"
    }
    command = [installed / "bin/vtax", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=directory, env=environment, timeout=240
    )


def test_it_holds_the_package_and_the_agent_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        files = opened.infolist()
    names = {file.filename for file in files}
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"vtax"}
    tracked = subprocess.run(
        ["git", "ls-files", "vtax"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert names >= {*tracked, "vtax/bin/vtax-agent", "vtax/bin/vtax-xstate.so"}
    (agent,) = (file for file in files if file.filename == "vtax/bin/vtax-agent")
    assert agent.external_attr >> 16 & 0o111, "it can be executed"


def test_its_bill_names_what_the_agent_is_built_from(wheel: Path) -> None:
    """As the agent's own bytes tell: places in the sources of crates, and versions of what else is in it."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        (name,) = (name for name in names if "/sboms/" in name)
        document = json.loads(opened.read(name))
        agent = opened.read("vtax/bin/vtax-agent")
    assert name.endswith(".dist-info/sboms/vtax.cdx.json")
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert wrong_with(document) == []
    components = {each["purl"]: each for each in document["components"]}
    crates = {
        each["name"]: each["version"] for purl, each in components.items() if purl.startswith("pkg:cargo/")
    }
    inside = {place.decode() for place in re.findall(rb"registry/src/[^/]+/([\w.+-]+)/", agent)}
    assert len(inside) > 10
    assert inside <= {f"{name}-{version}" for name, version in crates.items()}
    for name, told in {"rust": rb"rustc version ([0-9.]+)", "glibc": rb"GLIBC ([0-9]+\.[0-9]+)"}.items():
        versions = {version.decode() for version in re.findall(told, agent)}
        assert versions == {each["version"] for each in components.values() if each["name"] == name}
    (zlib,) = (each["version"] for each in components.values() if each["name"] == "zlib")
    assert zlib.encode() in agent


def test_its_bill_is_of_the_locks(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if "/sboms/" in name)
        components = json.loads(opened.read(name))["components"]
    lock = tomllib.loads((ROOT / "agent/Cargo.lock").read_text())["package"]
    digests = {(each["name"], each["version"]): each.get("checksum") for each in lock}
    for each in components:
        if each["purl"].startswith("pkg:cargo/") and each["name"] != "vtax-agent":
            assert each["hashes"] == [{"alg": "SHA-256", "content": digests[each["name"], each["version"]]}]
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    python = {(each["name"], each["version"]) for each in components if each["purl"].startswith("pkg:pypi/")}
    assert python == {*pinned}


def test_it_measures_where_there_is_no_compiler(installed: Path, tmp_path: Path, scenario: Path) -> None:
    options = ["--platform", "raw,container", "--set", "intended_mbps=5", "--repetitions", "1"]
    done = vtax(installed, tmp_path, "run", str(scenario), *options, "--out", "out")
    assert done.returncode in (0, 3), done.stderr
    result = Result.open(tmp_path / "out")
    rows = result.query(
        "SELECT platform, sum(frames_received) AS frames FROM trials JOIN flows USING (trial_id) GROUP BY ALL"
    ).to_pylist()
    assert {row["platform"]: row["frames"] > 0 for row in rows} == {"raw": True, "container": True}
    assert "container" in done.stdout
    if done.returncode == 0:  # with nothing usable there is nothing to draw
        assert (tmp_path / "out/report.html").stat().st_size > 1_000_000
    assert str(ROOT) not in done.stdout + done.stderr


def test_a_lost_agent_comes_back_by_the_remedy(installed: Path, wheel: Path, tmp_path: Path) -> None:
    (agent,) = installed.glob("lib/python3*/site-packages/vtax/bin/vtax-agent")
    agent.unlink()
    lacking = agent_check(installed, tmp_path)
    assert not lacking["usable"]
    assert str(wheel) in lacking["fix"]
    subprocess.run(shlex.split(lacking["fix"]), check=True, capture_output=True, cwd=tmp_path)
    assert agent_check(installed, tmp_path)["usable"]


def agent_check(installed: Path, directory: Path) -> dict[str, Any]:
    """What the doctor says of the agent."""
    done = vtax(installed, directory, "doctor", "--json")
    return next(check for check in json.loads(done.stdout)["checks"] if check["subject"] == "agent")
