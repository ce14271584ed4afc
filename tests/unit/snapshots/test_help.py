"""The help of each command, and what describes vtax without a result."""

from collections.abc import Iterator

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.main import get_command

from tests.helpers.transcripts import CommandLine
from vtax.cli import app
from vtax.commands.schema import Described


def commands() -> Iterator[str]:
    """Return the words of each command and group of commands; none of `vtax` itself."""
    waiting = [("", get_command(app))]
    while waiting:
        words, command = waiting.pop()
        yield words
        for name, inner in getattr(command, "commands", {}).items():
            waiting.append((f"{words} {name}".strip(), inner))


@pytest.mark.parametrize("command", [pytest.param(words, id=words or "vtax") for words in sorted(commands())])
def test_help(command: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line(*command.split(), "--help") == snapshot


@pytest.mark.parametrize("listed", ["scenarios", "platforms"])
def test_list(listed: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("list", listed) == snapshot


@pytest.mark.parametrize("described", Described)
def test_schema(described: str, command_line: CommandLine, snapshot: SnapshotAssertion) -> None:
    assert command_line("schema", described) == snapshot
