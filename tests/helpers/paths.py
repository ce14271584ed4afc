"""Where the tests find the source tree, the files they read, and the command that users type."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
VTAX = Path(sys.executable).parent / "vtax"
TOLERANT = "VTAX_TEST_TOLERANT"
"""Where this is set, tests run vtax as `tests/helpers/tolerance.py` has it."""


def program() -> Path:
    """What a test runs as vtax."""
    return Path(__file__).with_name("tolerant-vtax") if TOLERANT in os.environ else VTAX
