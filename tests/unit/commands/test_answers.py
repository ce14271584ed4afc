"""What a user reads after an ordinary mistake or accident: through the command line, in a process of its own."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT
from tests.helpers.results.synthetic import make_result

FULL = Path("/dev/full")

pytestmark = pytest.mark.slow

ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["vtax"]
INSTALLED = (
    f"import re, sys\nfrom {ENTRY.partition(':')[0]} import {ENTRY.partition(':')[2]}\nsys.exit(main())\n"
)
"""The script that an installation makes of the entry point."""
WAYS = {"installed": ["-c", INSTALLED], "module": ["-m", "vtax"]}

INTERRUPTED_IMPORT = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
"""
"""A sitecustomize.py: Ctrl-C comes while that module is looked for."""
INTERRUPTED_READING = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "vtax.views":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""
"""The same while a command already reads a result."""
FAILING_CAMPAIGN = """
import sys
import vtax.campaign
from vtax.cli import main

def run(*_, **__):
    raise {error}

vtax.campaign.run = run
sys.exit(main(["run", "quick"]))
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("answers") / "made-up"
    return make_result(
        directory, platforms=["raw"], streams=[1], frame_bytes=[64], loads=[100.0, None], repetitions=2
    )


def vtax(
    *arguments: str | Path,
    way: str = "module",
    stdout: int | None = None,
    environment: Mapping[str, str] | None = None,
    python_path: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, *WAYS[way], *map(str, arguments)],
        check=False,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, filter(None, (python_path, ROOT)))),
            **(environment or {}),
        },
    )


def customised(directory: Path, text: str) -> Path:
    (directory / "sitecustomize.py").write_text(text)
    return directory


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["list"], ["sql", "--help"], ["show"], ["show", "--json"], ["export"]],
)
def test_output_that_cannot_be_written_is_called_that(
    arguments: list[str], buffered: str, result: Path
) -> None:
    if arguments[0] in {"show", "export"}:
        arguments = [arguments[0], str(result), *arguments[1:]]
    if arguments[0] == "export":
        arguments += ["--format", "json"]
    with FULL.open("w") as full:
        done = vtax(*arguments, stdout=full.fileno(), environment={"PYTHONUNBUFFERED": buffered})
    assert done.returncode == 1
    assert done.stderr == (
        "vtax: standard output cannot be written: No space left on device; write it to where there is room\n"
    )


def test_a_reader_that_has_had_enough_is_no_error(result: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = vtax("show", result, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_without_standard_output_a_command_still_does_its_work(result: Path, tmp_path: Path) -> None:
    script = f"exec 1>&-; exec {sys.executable} -m vtax export {result} --format csv --out {tmp_path / 'csv'}"
    done = subprocess.run(
        ["sh", "-c", script], check=False, stderr=subprocess.PIPE, text=True, timeout=120, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "csv/trials.csv").is_file()


@pytest.mark.parametrize(
    ("error", "said", "status"),
    [
        ("KeyboardInterrupt", "vtax: interrupted; completed trials are kept\n", 130),
        (
            f"OSError({errno.ENOSPC}, 'No space left on device', 'results/x/trials')",
            "results/x/trials: No space left on device; completed trials are kept; make room and continue "
            "with --resume\n",
            1,
        ),
    ],
)
def test_only_a_campaign_says_that_its_trials_are_kept(error: str, said: str, status: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILING_CAMPAIGN.format(error=error)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stderr, done.returncode) == (said, status)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("module", ["vtax.cli", "typer", "vtax.commands.run", "vtax.listing"])
def test_ctrl_c_while_modules_are_read_is_one_line(module: str, way: str, tmp_path: Path) -> None:
    place = customised(tmp_path, INTERRUPTED_IMPORT.format(module=module))
    done = vtax("--help", way=way, python_path=place)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "vtax: interrupted\n")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", ["show", "report"])
def test_ctrl_c_in_a_command_that_reads_speaks_of_no_trials(
    command: str, way: str, result: Path, tmp_path: Path
) -> None:
    done = vtax(command, result, way=way, python_path=customised(tmp_path, INTERRUPTED_READING))
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "vtax: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["report", "x", "--format", "PDF"],
            '\'--format\': "PDF" is not allowed; did you mean "pdf"? allowed: html',
        ),
        (["list", "thing"], "'what': \"thing\" is not allowed; allowed: scenarios, platforms"),
        (["list", "platfroms"], '\'what\': "platfroms" is not allowed; did you mean "platforms"? allowed: '),
        (["run", "quick", "--repetitions", "two"], "'--repetitions': \"two\" is not a whole number"),
        (["run", "quick", "--duration", "x"], "'--duration': \"x\" is not a number"),
        (["run", "quick", "--seed", "-1"], "'--seed': \"-1\" is too small; allowed: at least 0"),
        (["trace", "lo", "--sample", "0"], "'--sample': \"0\" is too small; allowed: at least 1"),
        (
            ["trace", "lo", "--sample", "1000001"],
            "'--sample': \"1000001\" is too large; allowed: at most 1000000",
        ),
    ],
)
def test_a_wrong_value_is_named_in_words_of_ours(arguments: list[str], said: str) -> None:
    done = vtax(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"vtax: Invalid value for {said}")
    assert not re.search("value error|input should|valid integer", done.stderr, re.IGNORECASE)


ASCII = [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]


@pytest.mark.parametrize("environment", ASCII)
def test_an_output_in_ascii_has_escapes(environment: dict[str, str], result: Path) -> None:
    done = vtax("show", result, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert r"\xb1" in done.stdout
    utf8 = vtax("show", result, environment={"PYTHONIOENCODING": "utf-8"})
    assert utf8.stdout.encode("ascii", "backslashreplace").decode() == done.stdout


@pytest.mark.parametrize("environment", ASCII)
@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "--json"],
        ["export", "--format", "json"],
        ["sql", "SELECT chr(181) AS unit", "--format", "json"],
    ],
)
def test_json_in_ascii_is_json(arguments: list[str], environment: dict[str, str], result: Path) -> None:
    done = vtax(arguments[0], result, *arguments[1:], environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    in_utf8 = vtax(arguments[0], result, *arguments[1:], environment={"PYTHONIOENCODING": "utf-8"})
    assert json.loads(done.stdout) == json.loads(in_utf8.stdout)


def test_a_query_of_no_text_is_refused(result: Path) -> None:
    done = vtax("sql", result, os.fsdecode(b"SELECT '\xff'"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "query: has bytes that are no text in this locale; type it in UTF-8\n"


def test_an_export_into_a_directory_with_files_is_not_taken_for_a_campaign(
    result: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = vtax("export", result, "--format", "csv", "--out", tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path}: not empty; name a directory that is new or empty\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "{result}", "{out}"],
        ["report", "{result}", "{out}", "--format", "svg"],
        ["export", "{result}", "--format", "csv", "--out", "{out}"],
    ],
)
def test_no_parents_are_made_of_a_directory_that_may_be_mistyped(
    arguments: list[str], result: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "mistyped"
    done = vtax(*(word.format(result=result, out=missing / "page") for word in arguments))
    assert done.returncode == 2
    assert done.stderr == (
        f"{missing / 'page'}: there is no directory {missing}; make it first: mkdir -p {missing}\n"
    )
    assert not missing.exists()


def test_a_report_makes_the_directory_itself(result: Path, tmp_path: Path) -> None:
    done = vtax("report", result, tmp_path / "page")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'page/report.html'}\n")
