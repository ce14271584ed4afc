"""Where the tests find the source tree, the files they read, and the command that users type."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
VTAX = Path(sys.executable).parent / "vtax"
