"""Code that runs in a process of the command line after it gave up its rights, as if a parser had been taken over."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.helpers.paths import ROOT

TAKEN_OVER = """
import ctypes, errno, json, os, socket, sys
from pathlib import Path
from vtax.confinement import Process, landlock, reading
from vtax.confinement.reading import confine, writing_directory, writing_file

def tried(act):
    try:
        found = act()
        return "done" if found is None else found
    except OSError as error:
        return errno.errorcode[error.errno]

def opened(path, flags):
    os.close(os.open(path, flags, 0o600))

Process.is_own = True
if {without_landlock}:
    landlock.version = lambda: 0
    reading.code = lambda: [Path("/usr")]
given = [Path(text) for text in sys.argv[1:]]
{prepare}
tries = {tries}
print(json.dumps({{name: tried(act) for name, act in tries.items()}}))
"""


def taking_over(
    tries: Mapping[str, str], *, prepare: str = "confine(given[:1])", without_landlock: bool = False
) -> str:
    """Return code that gives up rights as a command that reads the first path, and prints what comes of each try.

    A try is an expression, which may name the paths as `given`. `without_landlock` is as on a kernel that has none,
    where Python lies so that all may read it.
    """
    acts = ", ".join(f"{name!r}: lambda: {act}" for name, act in tries.items())
    return TAKEN_OVER.format(prepare=prepare, tries=f"{{{acts}}}", without_landlock=without_landlock)


def taken_over(
    tries: Mapping[str, str],
    *given: Path,
    prepare: str = "confine(given[:1])",
    without_landlock: bool = False,
) -> dict[str, object]:
    """Run that code, and return what came of each try: what it returned, done where that is nothing, or an errno."""
    code = taking_over(tries, prepare=prepare, without_landlock=without_landlock)
    done = python("-c", code, *given)
    assert done.returncode == 0, done.stderr
    answers: dict[str, object] = json.loads(done.stdout)
    return answers


def python(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Python with this tree's vtax."""
    command: Sequence[str] = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def vtax(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, which gives up its rights."""
    return python("-m", "vtax", *arguments, cwd=cwd)
