"""A command that reads a result has given up its rights: what takes it over reaches the result, and nothing else."""

import os
import signal
from pathlib import Path

import pytest

from tests.helpers.confined import python, taken_over, taking_over, vtax
from tests.helpers.results.builder import make
from tests.helpers.results.forwarding import blocks
from vtax.cli import main
from vtax.confinement import landlock
from vtax.confinement.reading import BROWSER_SINCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock"),
]

REFUSED = {
    "read another file": "opened(given[1] / 'secret', os.O_RDONLY)",
    "list another directory": "os.listdir(given[1])",
    "list the home directories": "os.listdir('/home')",
    "read passwords": "opened('/etc/shadow', os.O_RDONLY)",
    "read another process's memory": "opened(f'/proc/{os.getppid()}/mem', os.O_RDONLY)",
    "write another file": "opened(given[1] / 'secret', os.O_WRONLY)",
    "make a file": "opened(given[1] / 'new', os.O_WRONLY | os.O_CREAT)",
    "make a directory": "os.mkdir(given[1] / 'new')",
    "make a link": "os.symlink('/', given[1] / 'new')",
    "remove a file": "os.unlink(given[1] / 'secret')",
    "rename a file": "os.rename(given[1] / 'secret', given[1] / 'new')",
    "truncate a file": "os.truncate(given[1] / 'secret', 0)",
    "write into the result": "opened(given[0] / 'campaign.json', os.O_WRONLY)",
    "make a file in the result": "opened(given[0] / 'new', os.O_WRONLY | os.O_CREAT)",
    "write vtax's code": "opened(landlock.__file__, os.O_WRONLY)",
    "start a program": "os.execv('/bin/sh', ['sh', '-c', 'exit'])",
}
ALLOWED = {
    "read the result": "opened(given[0] / 'campaign.json', os.O_RDONLY)",
    "list the result": "os.listdir(given[0]) and None",
    "read vtax's code": "opened(landlock.__file__, os.O_RDONLY)",
    "throw away": "opened('/dev/null', os.O_WRONLY)",
}


@pytest.fixture
def result(tmp_path: Path) -> Path:
    return make(tmp_path / "home/result", blocks([90.0, 91.0, 92.0])).directory


@pytest.fixture
def other(tmp_path: Path) -> Path:
    directory = tmp_path / "other"
    directory.mkdir()
    (directory / "secret").write_text("secret")
    return directory


def test_what_takes_a_reader_over_reaches_the_result_alone(result: Path, other: Path) -> None:
    answers = taken_over({**REFUSED, **ALLOWED}, result, other)
    assert answers == dict.fromkeys(REFUSED, "EACCES") | dict.fromkeys(ALLOWED, "done")
    assert (other / "secret").read_text() == "secret"


def test_what_it_starts_reaches_no_more(result: Path, other: Path) -> None:
    """Threads and processes that begin later are confined with it."""
    tries = {
        "a thread": "in_thread(lambda: opened(given[1] / 'secret', os.O_RDONLY))",
        "a process": "in_process(lambda: opened(given[1] / 'secret', os.O_RDONLY))",
    }
    prepare = """
confine(given[:1])
from concurrent.futures import ThreadPoolExecutor
def in_thread(act):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act).result()
def in_process(act):
    pid = os.fork()
    if not pid:
        os._exit(tried(act) == "EACCES")
    return "EACCES" if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) else "done"
"""
    assert taken_over(tries, result, other, prepare=prepare) == dict.fromkeys(tries, "EACCES")


@pytest.mark.skipif(landlock.version() < landlock.PORTS_SINCE, reason="this kernel's Landlock knows no ports")
def test_it_connects_to_nothing(result: Path) -> None:
    tries = {
        "connect": "socket.socket().connect(('127.0.0.1', 1))",
        "listen": "socket.socket().bind(('127.0.0.1', 0))",
    }
    assert taken_over(tries, result) == dict.fromkeys(tries, "EACCES")


@pytest.mark.skipif(landlock.version() < landlock.SCOPE_SINCE, reason="this kernel's Landlock has no scopes")
def test_it_signals_nobody(result: Path) -> None:
    assert taken_over({"signal": "os.kill(os.getppid(), 0)"}, result) == {"signal": "EPERM"}


def test_a_file_is_written_through_what_was_opened_before(result: Path, other: Path) -> None:
    """Beside it nothing can be written, not even under its own name, and nothing stays of one that is not put."""
    target = other / "page"
    tries = {
        "write beside it": "opened(given[1] / 'new', os.O_WRONLY | os.O_CREAT)",
        "write it": "opened(given[1] / 'page', os.O_WRONLY | os.O_CREAT)",
        "put it": "outlet.put([b'whole'])",
    }
    prepare = "stack = writing_file(given[:1], given[1] / 'page'); outlet = stack.__enter__()"
    answers = taken_over(tries, result, other, prepare=prepare)
    assert answers == {"write beside it": "EACCES", "write it": "EACCES", "put it": "done"}
    assert target.read_text() == "whole"
    target.unlink()
    taken_over({"nothing": "None"}, result, other, prepare=prepare)
    assert [path.name for path in other.iterdir()] == ["secret"]
    killed = "print((given[1] / outlet._temporary).exists(), flush=True); os.kill(os.getpid(), 9)"
    done = python("-c", taking_over({}, prepare=f"{prepare}; {killed}"), result, other)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "True\n"), done.stderr
    assert [path.name for path in other.iterdir()] == ["secret"]


def test_a_directory_is_written_and_nothing_beside_it(result: Path, other: Path) -> None:
    tries = {
        "write there": "opened(given[1] / 'out/new', os.O_WRONLY | os.O_CREAT)",
        "write beside it": "opened(given[1] / 'new', os.O_WRONLY | os.O_CREAT)",
        "move out of it": "os.rename(given[1] / 'out/new', given[1] / 'new')",
        "link into it": "os.link(given[1] / 'secret', given[1] / 'out/secret')",
    }
    prepare = "stack = writing_directory(given[:1], given[1] / 'out'); stack.__enter__()"
    answers = taken_over(tries, result, other, prepare=prepare)
    assert answers.pop("write there") == "done"
    assert set(answers.values()) <= {"EACCES", "EXDEV"}
    assert sorted(path.name for path in other.iterdir()) == ["out", "secret"]


@pytest.mark.skipif(
    landlock.version() < BROWSER_SINCE, reason="this kernel's Landlock confines no reader that draws figures"
)
def test_what_draws_figures_reaches_no_more(result: Path, other: Path) -> None:
    """Nor does what it starts: it may start a browser, and so any program of the system."""
    refused = {
        "read another file": "opened(given[1] / 'secret', os.O_RDONLY)",
        "list another directory": "os.listdir(given[1])",
        "read passwords": "opened('/etc/shadow', os.O_RDONLY)",
        "write another file": "opened(given[1] / 'secret', os.O_WRONLY)",
        "write beside it": "opened(given[0] / 'new', os.O_WRONLY | os.O_CREAT)",
        "write the result": "opened(given[0] / 'campaign.json', os.O_WRONLY)",
        "start a program of another directory": "os.execv(given[1] / 'program', ['program'])",
        "have a program read another file": "by_program(given[1] / 'secret')",
    }
    allowed = {
        "read the result": "opened(given[0] / 'campaign.json', os.O_RDONLY)",
        "write a figure": "opened(given[0] / 'fig/new', os.O_WRONLY | os.O_CREAT)",
        "have a program read the result": "by_program(given[0] / 'campaign.json')",
    }
    prepare = """
stack = writing_directory(given[:1], given[0] / 'fig', browser=True)
stack.__enter__()
import subprocess
def by_program(path):
    if subprocess.run(["/usr/bin/cat", path], capture_output=True).returncode:
        raise PermissionError(errno.EACCES, "refused")
"""
    (other / "program").write_text("#!/bin/sh\n")
    (other / "program").chmod(0o755)
    answers = taken_over({**refused, **allowed}, result, other, prepare=prepare)
    assert answers == dict.fromkeys(refused, "EACCES") | dict.fromkeys(allowed, "done")
    assert (other / "secret").read_text() == "secret"


def test_links_in_a_result_lead_nowhere(result: Path, other: Path, tmp_path: Path) -> None:
    (result / "campaign.json").replace(other / "campaign.json")
    (result / "campaign.json").symlink_to(other / "campaign.json")
    shown = vtax("show", result)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == f"{result}/campaign.json: cannot be read (is no regular file)\n"
    link = tmp_path / "link"
    (result / "campaign.json").unlink()
    (other / "campaign.json").replace(result / "campaign.json")
    link.symlink_to(result)
    assert vtax("show", link).returncode == 0  # what the user names may be a link


COMMANDS = [
    ["show", "A"],
    ["show", "A", "--json"],
    ["diagnose", "A"],
    ["sql", "A", "SELECT count(*) FROM cells"],
    ["compare", "A", "B"],
    ["compare", "A", "B", "--junit", "junit.xml"],
    ["compare", "A", "B", "--earlier", "."],
    ["claims", "A"],
    ["history", "."],
    ["history", ".", "--out", "elsewhere/page.html", "--json"],
    ["export", "A", "--format", "json"],
    ["export", "A", "--format", "openmetrics", "--out", "elsewhere/metrics"],
    ["export", "A", "--format", "csv", "--out", "elsewhere/csv"],
    ["report", "A"],
    ["report", "A", "elsewhere/page"],
    ["merge", "a=A", "b=A2", "--out", "elsewhere/merged"],
    ["show", "none"],
    ["report", "none"],
    ["export", "none", "--format", "csv", "--out", "elsewhere/csv"],
    ["compare", "A", "A"],
    ["history", "elsewhere"],
    ["history", ".", "--out", "none/page.html"],
    ["report", "A", "--format", "png"],
]


WATCHED = """
import os, sys
from vtax.confinement import landlock
from vtax.confinement.reading import BROWSER_SINCE
from vtax.cli import main

restrict = landlock.restrict

def watched(rules):
    parsers = {"pyarrow", "duckdb", "numpy", "sqlite3", "plotly", "kaleido"} & sys.modules.keys()
    print(len(os.listdir("/proc/self/task")), *parsers, file=sys.stderr)
    restrict(rules)

landlock.restrict = watched
sys.exit(main())
"""


@pytest.mark.parametrize(
    "arguments", [["merge", "a=A", "--out", "new"], *COMMANDS[:13], COMMANDS[-1]], ids=" ".join
)
def test_nothing_that_parses_is_loaded_before(arguments: list[str], tmp_path: Path) -> None:
    """Nor is there a second thread, which would keep its rights."""
    (tmp_path / "elsewhere").mkdir()
    done = python("-c", WATCHED, *arguments, cwd=tmp_path)
    assert done.stderr.splitlines()[0] == "1", done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_confined_command_does_and_says_the_same(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = {name: tmp_path / name for name in ("confined", "free")}
    for home in homes.values():
        for number, name in enumerate("AB"):
            scenario = {
                "name": "schlosser2011/dedicated",
                "source": {"paper": "schlosser2011", "section": "1"},
            }
            created = f"2026-01-0{number + 1}T00:00:00+00:00"
            trials = [*blocks([90.0, 92.0, 91.0]), *blocks([60.0, 62.0, 61.0 - number], platform="container")]
            make(home / name, trials, scenario=scenario, seed=number, created_at=created)
        (home / "elsewhere").mkdir()
    done = vtax(*arguments, cwd=homes["confined"])
    monkeypatch.chdir(homes["free"])
    status = main(arguments)
    printed = capsys.readouterr()
    assert (done.returncode, done.stdout, done.stderr) == (status, printed.out, printed.err)
    confined, free = ({str(path.relative_to(home)) for path in home.rglob("*")} for home in homes.values())
    assert confined == free
    assert os.access(homes["confined"] / "A", os.W_OK)
