"""The wheel that `make dist` builds: where there is neither cargo nor the source tree, it measures real frames."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from vtax.results import Result

ROOT = Path(__file__).resolve().parent.parent
WHEELS = sorted((ROOT / "dist").glob("vtax-*.whl"))

pytestmark = [
    pytest.mark.dist,
    pytest.mark.soak,  # make test builds none
    pytest.mark.system,
    pytest.mark.skipif(len(WHEELS) != 1, reason="there is no wheel: make dist builds it"),
    pytest.mark.usefixtures("leaves_nothing"),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and what it needs by its hashes."""
    environment = tmp_path_factory.mktemp("wheel") / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements.lock"], check=True)
    subprocess.run([*pip, "--no-deps", *WHEELS], check=True)
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


def test_it_holds_the_package_and_the_agent_and_nothing_else() -> None:
    with zipfile.ZipFile(WHEELS[0]) as wheel:
        files = wheel.infolist()
    names = {file.filename for file in files}
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"vtax"}
    tracked = subprocess.run(
        ["git", "ls-files", "vtax"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert names >= {*tracked, "vtax/bin/vtax-agent", "vtax/bin/vtax-xstate.so"}
    (agent,) = (file for file in files if file.filename == "vtax/bin/vtax-agent")
    assert agent.external_attr >> 16 & 0o111, "it can be executed"


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
    assert (tmp_path / "out/report.html").stat().st_size > 1_000_000
    assert str(ROOT) not in done.stdout + done.stderr


def test_what_it_lacks_is_said_with_commands_that_need_no_source_tree(
    installed: Path, tmp_path: Path
) -> None:
    (agent,) = installed.glob("lib/python3*/site-packages/vtax/bin/vtax-agent")
    hidden = agent.rename(agent.with_name("hidden"))
    try:
        done = vtax(installed, tmp_path, "doctor")
    finally:
        hidden.rename(agent)
    assert "-m pip install --force-reinstall --no-deps vtax" in done.stdout
    assert str(ROOT) not in done.stdout
