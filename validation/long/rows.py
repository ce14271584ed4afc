"""Files of the tree that grow: rows of one type, each added as soon as it is measured."""

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import convert

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row")


def read(path: Path, row: type[Row]) -> list[Row]:
    """Return the rows of a file that `append` wrote, each of the dataclass `row`; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return [convert(line, row, strict=False) for line in csv.DictReader(lines)]


def append(path: Path, rows: "Sequence[DataclassInstance]") -> None:
    """Add rows, of one dataclass, to a file, with its head where it is new."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(
            lines, [field.name for field in dataclasses.fields(rows[0])], lineterminator="\n"
        )
        if new:
            writer.writeheader()
        writer.writerows(map(dataclasses.asdict, rows))
