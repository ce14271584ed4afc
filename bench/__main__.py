"""`python -m bench [PART ...]`: measure the parts, and write bench/RESULTS.md when all of them were."""

import importlib
import os
import platform
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.figure import Section
from bench.page import page
from bench.tools import versions
from vtax.testbed.layout import cpu_layout

PARTS = ("generation", "forwarding", "pacing", "sink_cost")
"""Modules of this package with `run(directory) -> Section`, in the order of the page."""
PAGE = Path(__file__).resolve().parent / "RESULTS.md"


def main(names: list[str]) -> int:
    """Exit status 0 where everything held or is explained, 1 where something is not, 2 for an unknown part."""
    if unknown := [name for name in names if name not in PARTS]:
        print(f"no such part: {', '.join(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    begun = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="vtax-bench-"))
    try:
        sections = [_carry_out(name, directory) for name in names or PARTS]
    finally:
        shutil.rmtree(directory)
    wall_min = (time.monotonic() - begun) / 60
    text = page(_facts(wall_min), sections)
    if names:
        print(text)
    else:
        PAGE.write_text(text)
        print(f"{PAGE} written, after {wall_min:.1f} min")
    missed = [figure for section in sections for figure in section.figures if figure.holds is False]
    for figure in missed:
        print(f"missed: {figure.name}: {figure.required}", file=sys.stderr)
        print(figure.note or "nothing that was measured explains it", file=sys.stderr)
    return 1 if any(figure.note is None for figure in missed) else 0


def _carry_out(name: str, directory: Path) -> Section:
    print(f"bench: {name}", file=sys.stderr, flush=True)
    part = directory / name
    part.mkdir()
    section: Section = importlib.import_module(f"bench.{name}").run(part)
    return section


def _facts(wall_min: float) -> str:
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} in {wall_min:.0f} minutes: "
        f"{platform.system()} {platform.release()}, {len(os.sched_getaffinity(0))} CPUs, "
        f"CPUs by role {cpu_layout()}. {versions()}.\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
