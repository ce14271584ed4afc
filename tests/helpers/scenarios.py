"""Scenarios as files, for tests of what they may ask."""

from pathlib import Path

import pytest

from vtax.inputs import InputError
from vtax.scenario import load_scenario

CPUS = {"agents": [0], "host": [1], "guests": [1], "controller": [0]}
"""Roles of CPUs, for kinds of which nothing is measured."""


def write_scenario(text: str, directory: Path, old: str = "", new: str = "") -> str:
    """The file of a scenario whose `old` words are `new` ones."""
    assert old in text
    path = directory / "own.yaml"
    path.write_text(text.replace(old, new).lstrip())
    return str(path)


def refusal_of(path: str) -> str:
    """Why that scenario is refused."""
    with pytest.raises(InputError) as refused:
        load_scenario(path)
    return str(refused.value)
