"""Whether this machine has the programs that a scenario names."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from vtax.machine.remedy import install

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for, as the agent does."""


def missing(program: str, packages: Sequence[str]) -> str | None:
    """What is wrong with the first word of a command, and the next step; None where it can be started.

    One of the scenario's own files is checked where the file is.
    """
    if program.startswith("./"):
        return None
    found = shutil.which(program, path=SEARCH_PATH)
    if found is not None and _is_for_everybody(Path(found)):
        return None
    if found is not None:
        return f'"{program}" is not executable for everybody, and programs are started as nobody'
    if Path(program).is_file():
        return f'"{program}" is not executable'
    remedy = install(" ".join(packages)) if packages else "install the package that has it"
    return f'no program "{program}" found; {remedy}'


def _is_for_everybody(path: Path) -> bool:
    real = path.resolve()
    return all(place.stat().st_mode & 0o001 for place in (real, *real.parents))
