"""Parts of a run, as modules of a package that are chosen by name: `python -m validation` and `python -m bench`."""

import importlib
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from vtax.machine.environment import host_environment
from vtax.testbed.layout import cpu_layout
from vtax.views.facts import fact_in_words


def are_known(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether all are parts; the user is told which are not."""
    unknown = [name for name in names if name not in parts]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(parts)}", file=sys.stderr)
    return not unknown


def prepared(package: str, name: str, directory: Path) -> tuple[ModuleType, Path]:
    """The module of a part, whose `run` is due, and a directory of its own under `directory`."""
    print(f"{package}: {name}", file=sys.stderr, flush=True)
    part = directory / name
    part.mkdir()
    return importlib.import_module(f"{package}.{name}"), part


def facts(wall_min: float) -> str:
    """When, how long and on what machine."""
    machine = host_environment()
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} in {wall_min:.0f} minutes: {platform.system()} {machine.kernel}, "
        f"{machine.cpus} CPUs ({machine.cpu_model or 'of an unknown model'}), by role {cpu_layout()}; mitigations: "
        f"{fact_in_words({**machine.mitigations})}."
    )
