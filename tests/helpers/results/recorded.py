"""The results in tests/data/recorded: two campaigns of each kind of workload, really measured."""

import io
import lzma
import tarfile
from functools import cache
from pathlib import Path

from tests.helpers.paths import DATA

RECORDED = DATA / "recorded"
KINDS = sorted(path.name.removesuffix(".tar.xz") for path in RECORDED.glob("*.tar.xz"))


def unpack(kind: str, directory: Path) -> None:
    """Write both campaigns of a kind below `directory`, as KIND and KIND-again."""
    with tarfile.open(fileobj=io.BytesIO(_archive(kind))) as recorded:
        if hasattr(tarfile, "data_filter"):  # not in the Python of Debian 12
            recorded.extraction_filter = tarfile.data_filter
        recorded.extractall(directory)  # noqa: S202, our own


@cache
def _archive(kind: str) -> bytes:
    return lzma.decompress((RECORDED / f"{kind}.tar.xz").read_bytes())
