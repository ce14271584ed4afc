"""Whether the programs that a scenario names are there: on this machine, or in a guest's image."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from vtax.machine.fix import install
from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.userland import SEARCH_PATH, fetch_userland


def needed(program: str, files: Mapping[str, bytes]) -> list[str]:
    """What has to be there for the first word of a command: that, or who reads a script of the scenario's own."""
    if not program.startswith("./"):
        return [program]
    first, _, _ = files[program.removeprefix("./")].partition(b"\n")
    words = first.removeprefix(b"#!").decode(errors="replace").split()
    if not first.startswith(b"#!") or not words:
        return []
    if Path(words[0]).name != "env":
        return words[:1]
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return [words[0], *named[:1]]


def missing(program: str, packages: Sequence[str]) -> str | None:
    """What is wrong with a program on this machine, and the next step; None where it can be started."""
    found = shutil.which(program, path=":".join(SEARCH_PATH))
    if found is not None and _is_for_everybody(Path(found)):
        return None
    if found is not None:
        return f'"{program}" is not executable for everybody, and programs are started as nobody'
    if Path(program).is_file():
        return f'"{program}" is not executable'
    fix = install(" ".join(packages)) if packages else "install the package that has it"
    return f'no program "{program}" found; {fix}'


def missing_in_guests(program: str, packages: Sequence[str]) -> str | None:
    """The same of guests that are given packages; None as well where these cannot be had: the platform tells why."""
    try:
        there = fetch_userland(packages).has(program)
    except PlatformUnusable:
        return None
    if there:
        return None
    return f'"{program}" is not in the guest\'s image; name its Debian package under packages'


def _is_for_everybody(path: Path) -> bool:
    real = path.resolve()
    return all(place.stat().st_mode & 0o001 for place in (real, *real.parents))
