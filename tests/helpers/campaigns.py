"""Campaigns that vtax runs in a process of its own, as for a user, and what they have measured."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.forked import Forked, ended
from tests.helpers.paths import TOLERANT, VTAX
from vtax.results import Result

DISTURBED = ("kept waiting for its CPU", "CPU was away", "were paused", "stolen", "taken from the UUT")
"""What vtax says of a machine that others kept busy."""


def vtax(
    *arguments: str | Path, timeout: float = 600, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return ended(start(*arguments, env=env), timeout)


def start(*arguments: str | Path, env: Mapping[str, str] | None = None) -> "Forked | subprocess.Popen[str]":
    """Begin a command that hears Ctrl-C, also where the tests themselves run in a shell's background and do not."""
    words = [str(argument) for argument in arguments]
    if TOLERANT in os.environ:
        return Forked(words, env)
    command = ["env", "--default-signal=INT", str(VTAX), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def interrupt(process: "subprocess.Popen[str]") -> None:
    """End a command by Ctrl-C. One that ignores it is terminated before the error is raised."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate(timeout=120)
        raise


def assert_measured(done: "subprocess.CompletedProcess[str]") -> None:
    """Every cell was measured, or the machine below was too busy to say, which vtax then has to have noticed."""
    reasons = re.findall(r"^no usable trial: (.*)$", done.stderr, re.MULTILINE)
    disturbed = all(any(words in reason for words in DISTURBED) for reason in reasons)
    assert done.returncode == (3 if reasons else 0), done.stderr
    assert disturbed, done.stderr


def wait_for_line(process: "subprocess.Popen[str]", pattern: str) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if re.search(pattern, line):
            return line
    raise AssertionError(f"the campaign ended without a line like {pattern}")


def trials(directory: Path) -> dict[int, dict[str, Any]]:
    rows = (
        Result.open(directory)
        .query("SELECT trials.*, flows.* FROM trials JOIN flows USING (trial_id)")
        .to_pylist()
    )
    return {row["trial_id"]: row for row in rows}
