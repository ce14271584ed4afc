"""A controller without rights: the process that measures has them by `run_with`, and the controller keeps none."""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.campaigns import wait_for_line
from tests.helpers.cluster_campaigns import ARRIVED, assert_whole, finish, scenario_of, stop_a_block
from tests.helpers.testbeds import CONTROL, PORT, Ground, ground_of
from vtax.cluster.block import _hand_over
from vtax.cluster.certificates import Certificates

pytestmark = [pytest.mark.system, pytest.mark.cluster, pytest.mark.timeout(600)]

NOBODY = 65534
READING = "dac_read_search"
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
AS_NOBODY += [f"--inh-caps=-all,+{READING}", f"--ambient-caps=-all,+{READING}"]
"""Who may read everything, for Python may be in somebody's home, and has no other right."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of nobody's, with a command that gives its user the rights of root, as sudo would."""
    directory = Path(tempfile.mkdtemp(prefix="vtax-test-"))
    try:
        if os.statvfs(directory).f_flag & os.ST_NOSUID:
            pytest.skip(f"{directory} is on a file system whose programs give no rights")
        rights = directory / "rights"
        shutil.copy(shutil.which("setpriv") or "", rights)
        rights.chmod(0o4755)
        directory.chmod(0o755)
        os.chown(directory, NOBODY, NOBODY)
        yield directory
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ground_of("", tmp_path) as made:
        yield made


def certificates_of_nobody(place: Path, own: Certificates) -> Certificates:
    theirs = Certificates(place / "certificates")
    theirs.directory.mkdir()
    for there, here in ((theirs.authority, own.authority), (theirs.of("worker"), own.of("worker"))):
        shutil.copy(here, there)
        os.chown(there, NOBODY, NOBODY)
    return theirs


def users(pid: int) -> set[str]:
    """Real, effective, saved and file system's user of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {*next(line for line in lines if line.startswith("Uid:")).split()[1:]}


def test_a_controller_without_rights(ground: Ground, place: Path, tmp_path: Path) -> None:
    theirs = certificates_of_nobody(place, ground.certificates)
    testbed = ground.start_host(
        "n",
        lambda address: [
            *AS_NOBODY,
            *("env", "-C", str(place), f"HOME={place}", f"XDG_CACHE_HOME={place}/cache"),
            *(sys.executable, "-m", "distributed.cli.dask_worker", f"tls://{CONTROL}:{PORT}"),
            *("--name", "n", "--nthreads", "1", "--resources", "testbed=1", "--host", address),
            *("--no-dashboard", "--memory-limit", "0", "--worker-class", "vtax.cluster.nodes.Testbed"),
            *("--tls-ca-file", str(theirs.authority), "--tls-cert", str(theirs.of("worker"))),
            *("--local-directory", str(place / "dask")),
        ],
    )
    testbed.cache = place / "cache"
    out, file = tmp_path / "out", tmp_path / "testbeds.yaml"
    told = json.loads(ground.file.read_text())
    rights = [str(place / "rights"), "--reuid=0", "--regid=0", "--clear-groups"]
    file.write_text(json.dumps({**told, "run_with": rights}))
    process = ground.vtax("run", scenario_of(3, tmp_path), "--testbeds", file, "--out", out)
    wait_for_line(process, ARRIVED)
    _, block = stop_a_block(*ground.testbeds.values())
    of_block, of_workers = users(block), [users(pid) for pid in testbed.below("spawn_main")]
    os.kill(block, signal.SIGCONT)
    finish(process)
    assert of_block == {"0"}
    assert of_workers
    assert all(of_worker == {str(NOBODY)} for of_worker in of_workers)
    assert_whole(ground, out, 3)
    assert not list((place / "cache").rglob("block-*")), "what root made, nobody has removed"


def test_what_root_makes_is_handed_over(tmp_path: Path) -> None:
    """Directories too, as of captures: nobody could not empty root's. What links lead to stays whose it was."""
    elsewhere, result = tmp_path / "elsewhere", tmp_path / "result"
    elsewhere.touch()
    (result / "captures").mkdir(parents=True)
    (result / "captures" / "trial.pcap").touch()
    (result / "link").symlink_to(elsewhere)
    os.chown(result, NOBODY, NOBODY)
    _hand_over(result)
    assert {path.lstat().st_uid for path in result.rglob("*")} == {NOBODY}
    assert elsewhere.stat().st_uid == os.geteuid()
