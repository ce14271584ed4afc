"""`python -m validation [PART ...]`: carry out the parts, and write docs/validation.md when all of them were."""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from validation.page import page
from validation.parts import are_known, facts, prepared
from validation.section import Section
from validation.speeds import Speeds

PARTS = (
    "known_tax",
    "native",
    "slowed",
    "agreement",
    "undisturbed",
    "simulated",
    "anytime",
    "by_turns",
    "shapes",
    "artifacts",
)
"""Modules of this package with `run(directory) -> Section`, in the order of the page."""
PAGE = Path(__file__).resolve().parent.parent / "docs/validation.md"


def _section(name: str, directory: Path, speeds: Speeds) -> Section:
    speeds.look(name)
    module, own = prepared("validation", name, directory)
    section: Section = module.run(own)
    return section


def main(names: list[str]) -> int:
    """Exit status 0 where everything held or is explained, 1 where something is not, 2 for an unknown part."""
    if not are_known(names, PARTS):
        return 2
    begun, speeds = time.monotonic(), Speeds()
    directory = Path(tempfile.mkdtemp(prefix="vtax-validation-"))
    sections = [_section(name, directory, speeds) for name in names or PARTS]
    wall_min = (time.monotonic() - begun) / 60
    text = page(f"{facts(wall_min)}\n\n{speeds.text()}", sections)
    if names:
        print(text)
    else:
        PAGE.write_text(text)
        print(f"{PAGE} written, after {wall_min:.1f} min")
    not_held = [check for section in sections for check in section.checks if not check.holds]
    for check in not_held:
        print(f"missed: {check.what}: {check.measured}, must be {check.bound}", file=sys.stderr)
        print(check.explanation or "nothing that was measured explains it", file=sys.stderr)
    missed = [check for check in not_held if check.explanation is None]
    if missed:
        print(f"the results are in {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
