"""Root reads another user's result with that user's rights, whether the kernel has Landlock or not."""

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.confined import taken_over, vtax
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from vtax.confinement import landlock
from vtax.results.files import LOCK

pytestmark = pytest.mark.system

UID = 12_345
"""A user that the machine has no name for."""
NO_GROUP = 65_534
LOGGED_IN = {"groups": [], "gid": NO_GROUP, "uid": UID}
LANDLOCK = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
EITHER = pytest.mark.parametrize(
    "without_landlock", [pytest.param(False, marks=LANDLOCK), True], ids=["landlock", "none"]
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A directory of that user's, where all may pass."""
    directory = Path("/var/tmp") / f"vtax-{os.getpid()}-home"  # noqa: S108 - pytest's own are closed to others
    directory.mkdir(mode=0o755)
    os.chown(directory, UID, UID)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def result(home: Path) -> Path:
    """A result of that user's."""
    directory = make(
        home / "result",
        [*blocks([90.0, 91.0]), *blocks([60.0, 61.0], platform="container")],
        created_at="2026-01-01T00:00:00+00:00",
    ).directory
    give(directory, UID)
    return directory


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """A directory that root alone may enter."""
    directory = tmp_path / "roots"
    directory.mkdir(mode=0o700)
    (directory / "secret").write_text("secret")
    return directory


def give(directory: Path, uid: int) -> None:
    for path in (directory, *directory.rglob("*")):
        os.chown(path, uid, uid)


def owner(path: Path) -> int:
    return path.stat().st_uid


@EITHER
def test_what_takes_a_reader_over_is_that_user(result: Path, roots: Path, without_landlock: bool) -> None:
    tries = {
        "user": "os.getresuid()",
        "group": "os.getresgid()",
        "groups": "os.getgroups()",
        "read the result": "opened(given[0] / 'campaign.json', os.O_RDONLY)",
        "read root's file": "opened(given[1] / 'secret', os.O_RDONLY)",
        "write root's file": "opened(given[1] / 'secret', os.O_WRONLY)",
        "read passwords": "opened('/etc/shadow', os.O_RDONLY)",
        "be root again": "os.setresuid(0, 0, 0)",
        "gain rights by a program": "ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 0",
    }
    assert taken_over(tries, result, roots, without_landlock=without_landlock) == {
        "user": [UID] * 3,
        "group": [NO_GROUP] * 3,
        "groups": [],
        "read the result": "done",
        "read root's file": "EACCES",
        "write root's file": "EACCES",
        "read passwords": "EACCES",
        "be root again": "EPERM",
        "gain rights by a program": False,
    }


@EITHER
def test_what_takes_a_reader_of_roots_result_over_is_nobody(
    result: Path, roots: Path, without_landlock: bool
) -> None:
    """It may read what Landlock leaves, and without that all; it owns nothing that it could open to others."""
    shutil.move(result, roots / "result")
    give(roots, 0)
    tries = {
        "user": "os.getresuid()",
        "read the result": "opened(given[0] / 'campaign.json', os.O_RDONLY)",
        "read root's file": "opened(given[1] / 'secret', os.O_RDONLY)",
        "write root's file": "opened(given[1] / 'secret', os.O_WRONLY)",
        "open it to all": "os.chmod(given[1] / 'secret', 0o666)",
        "be root again": "os.setresuid(0, 0, 0)",
    }
    assert taken_over(tries, roots / "result", roots, without_landlock=without_landlock) == {
        "user": [NO_GROUP] * 3,
        "read the result": "done",
        "read root's file": "done" if without_landlock else "EACCES",
        "write root's file": "EACCES",
        "open it to all": "EPERM",
        "be root again": "EPERM",
    }


@EITHER
def test_what_takes_a_writer_of_roots_over_has_lost_capabilities(
    result: Path, without_landlock: bool
) -> None:
    give(result, 0)
    prepare = "stack = writing_directory(given[:1], given[0] / 'csv'); stack.__enter__()"
    tries = {
        "change another's file": f"os.chown(given[0], {UID}, {UID})",
        "be another": f"os.setresuid({UID}, {UID}, {UID})",
        "mount": "None if ctypes.CDLL(None).mount(b'none', b'/mnt', b'tmpfs', 0, None) == 0 else os.stat('')",
    }
    answers = taken_over(tries, result, prepare=prepare, without_landlock=without_landlock)
    assert answers == {"change another's file": "EPERM", "be another": "EPERM", "mount": "ENOENT"}


@LANDLOCK
def test_a_user_without_rights_is_confined_as_well(result: Path, home: Path) -> None:
    own = home / "own"
    own.write_text("own")
    os.chown(own, UID, UID)
    tries = {
        "read the result": "opened(given[0] / 'campaign.json', os.O_RDONLY)",
        "write the result": "opened(given[0] / 'campaign.json', os.O_WRONLY)",
        "read a file of one's own": "opened(given[1], os.O_RDONLY)",
        "write a file of one's own": "opened(given[1], os.O_WRONLY)",
    }
    given_up = "".join(f"os.set{what}({argument}); " for what, argument in LOGGED_IN.items())
    answers = taken_over(tries, result, own, prepare=f"{given_up}confine(given[:1])")
    assert answers == dict.fromkeys(tries, "EACCES") | {"read the result": "done"}


def test_several_users_results_are_read_with_neithers_rights(result: Path, home: Path) -> None:
    second = make(home / "second", blocks([90.0])).directory
    give(second, UID + 1)
    second.chmod(0o700)
    tries = {"user": "os.getuid()", "read": "os.listdir(given[1]) and None"}
    assert taken_over(tries, result, second, prepare="confine(given)") == {"user": NO_GROUP, "read": "done"}


def test_where_a_user_may_not_read_it_landlock_is_needed(result: Path, roots: Path) -> None:
    """Root has been given it, in a directory that its user may not enter."""
    moved = roots / "result"
    shutil.move(result, moved)
    prepare = """
from vtax.inputs import InputError
try:
    confine(given[:1])
    refused = "no"
except InputError as error:
    refused = str(error)
"""
    answers = taken_over({"refused": "refused"}, moved, prepare=prepare, without_landlock=True)
    assert answers["refused"] == (
        f"{moved}: {UID}, whom it belongs to, may not read it there, or not vtax in /usr; make the result yours: "
        f"chown -R root {moved}"
    )
    if landlock.version():
        shown = vtax("show", moved)
        assert (shown.returncode, shown.stderr) == (0, "")


def test_a_page_in_the_result_is_its_users(result: Path) -> None:
    done = vtax("report", result)
    assert (done.returncode, done.stdout) == (0, f"{result}/report.html\n"), done.stderr
    page = (result / "report.html").stat()
    assert (page.st_uid, stat.S_IMODE(page.st_mode)) == (UID, 0o644)
    assert [path.name for path in result.glob(".*")] == [LOCK]
    history = vtax("history", result.parent)
    assert history.returncode == 0, history.stderr
    assert owner(result.parent / "history.html") == UID


def test_root_names_a_file_that_the_user_may_not_write(result: Path, roots: Path) -> None:
    target = roots / "tables.json"
    done = vtax("export", result, "--format", "json", "--out", target)
    assert (done.returncode, done.stdout) == (0, f"{target}\n"), done.stderr
    assert owner(target) == 0
    assert json.loads(target.read_text())["tables"]["trials"]
    page = vtax("report", result, roots / "page")
    assert page.returncode == 0, page.stderr
    assert owner(roots / "page/report.html") == 0
    (result / "campaign.json").write_text("[")
    assert vtax("report", result, roots / "other").returncode == 2
    assert sorted(path.name for path in roots.iterdir()) == ["page", "secret", "tables.json"]


def test_a_directory_that_the_user_may_not_write_is_refused(result: Path, roots: Path) -> None:
    for arguments in (["export", result, "--format", "csv", "--out"], ["merge", f"a={result}", "--out"]):
        done = vtax(*arguments, roots / "csv")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"{roots}/csv: {UID}, whom {result} belongs to, may not write there; name a directory of theirs, or make "
            f"the result yours: chown -R root {result}\n"
        )
    assert [path.name for path in roots.iterdir()] == ["secret"]
    done = vtax("export", result, "--format", "csv", "--out", result.parent / "csv")
    assert done.returncode == 0, done.stderr
    assert {owner(path) for path in (result.parent / "csv", *(result.parent / "csv").iterdir())} == {UID}


def test_a_user_leads_root_nowhere_by_links(result: Path, roots: Path) -> None:
    """What would be written in the user's own directory lands nowhere else."""
    (result / "report.html").symlink_to(roots / "secret")
    (result / "figures").symlink_to(roots)
    assert vtax("report", result).returncode == 0
    assert not (result / "report.html").is_symlink()
    refused = vtax("report", result, "--format", "svg")
    assert refused.returncode == 2, refused.stdout
    assert [path.name for path in roots.iterdir()] == ["secret"]
    assert (roots / "secret").read_text() == "secret"


def test_figures_are_drawn_with_the_users_rights(
    result: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = home / "tmp"
    temporary.mkdir()
    os.chown(temporary, UID, UID)
    monkeypatch.setenv("TMPDIR", str(temporary))
    done = vtax("report", result, "--format", "svg")
    assert done.returncode == 0, done.stderr
    figures = list((result / "figures").iterdir())
    assert {owner(path) for path in figures} == {UID}
    assert {str(path) for path in figures} == set(done.stdout.split())
    assert not list(temporary.iterdir())
