"""`python -m bench [PART ...]`: measure the parts, and write bench/RESULTS.md when all of them were."""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.figure import Section
from bench.page import page
from bench.tools import versions
from validation.parts import are_known, facts, prepared
from validation.speeds import Speeds

PARTS = (
    "generation",
    "forwarding",
    "link",
    "threads",
    "pacing",
    "sink_cost",
    "stage_cost",
    "request_response",
    "relay_ring",
    "streams",
    "answers",
    "idle",
    "search_cost",
    "artifacts",
    "scale",
    "testbeds",
)
"""Modules of this package with `run(directory) -> Section`, in the order of the page."""
PAGE = Path(__file__).resolve().parent / "RESULTS.md"


def _section(name: str, directory: Path, speeds: Speeds) -> Section:
    speeds.look(name)
    module, own = prepared("bench", name, directory)
    section: Section = module.run(own)
    return section


def main(names: list[str]) -> int:
    """Exit status 0 where everything held or is explained, 1 where something is not, 2 for an unknown part."""
    if not are_known(names, PARTS):
        return 2
    begun, speeds = time.monotonic(), Speeds()
    directory = Path(tempfile.mkdtemp(prefix="vtax-bench-"))
    try:
        sections = [_section(name, directory, speeds) for name in names or PARTS]
    finally:
        shutil.rmtree(directory)
    wall_min = (time.monotonic() - begun) / 60
    text = page(f"{facts(wall_min)} {versions()}.\n\n{speeds.text()}", sections)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
