"""The results in tests/data/recorded: two campaigns of each kind of workload, really measured."""

import tarfile
from pathlib import Path

from tests.helpers.paths import DATA

RECORDED = DATA / "recorded"
KINDS = sorted(path.name.removesuffix(".tar.xz") for path in RECORDED.glob("*.tar.xz"))


def unpack(kind: str, directory: Path) -> None:
    """Write both campaigns of a kind below `directory`, as KIND and KIND-again."""
    with tarfile.open(RECORDED / f"{kind}.tar.xz") as recorded:
        recorded.extractall(directory, filter="data")
