"""Removes what an earlier process has left on an ESXi host: `python -m vtax.platforms.esxi.removal NOTE`.

User and password are looked for anew. The note goes when nothing is left; it is what tells that something is.
"""

import sys
from pathlib import Path

from vtax.platforms.contract import PlatformUnusable
from vtax.platforms.esxi.machine import remove
from vtax.platforms.esxi.made import read_note


def main(file: Path) -> str | None:
    """Remove what the note tells of, then the note; what stands in the way in a sentence, None where nothing does."""
    try:
        remove(read_note(file))
    except PlatformUnusable as unusable:
        return str(unusable)
    file.unlink()
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
