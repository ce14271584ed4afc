"""Results as somebody may make them to break their readers: recorded ones, changed in one place or a few."""

import io
import json
import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS = (
    b"-1",
    b"0",
    b"9",
    b"10000",
    b"4611686018427387904",
    b"9" * 40,
    b"9" * 5000,
    b"1e9",
    b"0x1",
    b"",
    b"nan",
)
ROWS = (
    b"{}",
    b"[]",
    b"null",
    b'{"trials": -1}',
    b'{"flows": 99999999}',
    b'{"\xff": 1}',
    b"[" * 5000,
    b'{"x": 1}',
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 1.5, 2**63, 10**400, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        "x",
        "raw",
        "local",
        "\x1b]52;c;x\x07",
        "\ud800",
        "\0",
        "../../etc/passwd",
        "9" * 5000,
        "2026-01-01T00:00:00Z",
    ),
    *([], [[]], {}, {"": {}}, {"\ud800": 1}, ["raw"] * 40, {"platform": ["raw"]}, list(range(99))),
)


def bytes_changed(content: bytes, chance: Random) -> bytes:
    """Bits, ranges and lengths that are others; Parquet's footer, at the end, as often as all else."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        end = len(changed)
        begin = max(0, end - 2000) if chance.random() < 0.5 else 0
        at, size = chance.randint(begin, end), chance.choice((1, 4, 100))
        match chance.randrange(7):
            case 0 if end:
                changed[at % end] ^= 1 << chance.randrange(8)
            case 1:
                changed[at : at + size] = bytes(size)
            case 2:
                changed[at : at + size] = chance.randbytes(size)
            case 3:
                del changed[at:]
            case 4:
                del changed[at : at + size]
            case 5:
                changed[at:at] = changed[max(0, at - size) : at]
            case 6:
                changed[at : at + size] = b"\xff" * size
    return bytes(changed)


def journal_changed(content: bytes, chance: Random) -> bytes:
    """Bytes, or whole lines: others' ones, twice, in another order, or nonsense with the right checksum."""
    lines = content.splitlines(keepends=True)
    if chance.random() < 0.5 or not lines:
        return bytes_changed(content, chance)
    at = chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            lines.insert(at, chance.choice(lines))
        case 1:
            chance.shuffle(lines)
        case 2:
            del lines[at]
        case 3:
            fields = [chance.choice(NUMBERS), chance.choice(NUMBERS), b"now", chance.choice(ROWS)]
            told = b" ".join(fields[: chance.choice((2, 4, 4, 4, 4))]) + b"\n"
            lines[at] = b"%08x %s" % (crc32(told), told)
    return b"".join(lines)


def manifest_changed(content: bytes, chance: Random) -> bytes:
    """Bytes, or values of keys anywhere, or keys that are left out, moved or nested."""
    if chance.random() < 0.2:
        return bytes_changed(content, chance)
    tree = json.loads(content)
    places = _places(tree)
    for _ in range(chance.choice((1, 1, 2, 4)) if places else 0):
        holder, key = chance.choice(places)
        match chance.randrange(5):
            case 0 if isinstance(holder, dict):
                holder.pop(key, None)
            case 1 if _has(holder, key):
                for _ in range(chance.choice((1, 90, 300))):
                    holder[key] = [holder[key]]
            case 2:
                other, place = chance.choice(places)
                holder[key] = json.loads(json.dumps(other[place])) if _has(other, place) else None
            case _:
                holder[key] = chance.choice(VALUES)
    return json.dumps(tree).encode()


def _places(tree: Any) -> list[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    return [(tree, key) for key in keys] + [place for key in keys for place in _places(tree[key])]


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def part_changed(content: bytes, chance: Random) -> bytes:
    """Bytes, or the rows: of other types, null, twice, fewer, or columns that are left out, renamed or twice."""
    if chance.random() < 0.5:
        return bytes_changed(content, chance)
    rows = pq.read_table(io.BytesIO(content))
    place = chance.randrange(rows.num_columns)
    if chance.random() < 0.4:  # those that readers go by
        place = max(
            0,
            rows.schema.get_field_index(
                chance.choice(("trial_id", "block", "row_counts", "cell", "verdict"))
            ),
        )
    name = rows.column_names[place]
    match chance.randrange(7):
        case 0:
            rows = rows.drop_columns([name])
        case 1:
            rows = rows.set_column(place, name, pa.nulls(len(rows), rows.schema.field(place).type))
        case 2:
            other = rows.column_names[chance.randrange(rows.num_columns)]
            rows = rows.set_column(place, name, rows[other])
        case 3:
            values = [
                chance.choice(("x", "\x1b[31m", "9", "{}", '{"flows": 3}', None)) for _ in range(len(rows))
            ]
            rows = rows.set_column(place, name, pa.array(values, pa.string()))
        case 4:
            rows = pa.concat_tables([rows, rows.slice(0, chance.randint(0, len(rows)))])
        case 5:
            rows = rows.slice(chance.randint(0, len(rows)))
        case 6:
            numbers = pa.array([chance.choice((-1, 0, 1, 2**62, None)) for _ in range(len(rows))], pa.int64())
            kind = chance.choice((pa.int64(), pa.float64(), pa.string(), pa.list_(pa.int64())))
            changed = (
                pa.array([[1, 2]] * len(rows), kind)
                if pa.types.is_list(kind)
                else numbers.cast(kind, safe=False)
            )
            rows = rows.set_column(place, name, changed)
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    return sink.getvalue()


def _bound(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(path))


STRANGE: tuple[Callable[[Path], object], ...] = (
    lambda _: None,
    Path.mkdir,
    os.mkfifo,
    _bound,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to(path.parent.parent / "outside"),
    lambda path: path.symlink_to(path),
)
"""What may be in a file's place."""


def result_changed(directory: Path, chance: Random) -> None:
    """Change a result in one file, or a few."""
    for _ in range(chance.choice((1, 1, 1, 3))):
        files = sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
        path = directory / chance.choice(("campaign.json", "journal", ""))
        if path not in files:
            path = chance.choice(files)
        if chance.random() < 0.15:
            path.unlink()
            chance.choice(STRANGE)(path)
        elif chance.random() < 0.1:
            path.write_bytes(chance.choice(files).read_bytes())
        else:
            path.write_bytes(changed_as(path)(path.read_bytes(), chance))


def changed_as(path: Path) -> Callable[[bytes, Random], bytes]:
    """What changes a file of this name."""
    if path.suffix == ".parquet":
        return _part_or_bytes
    return {"campaign.json": _manifest_or_bytes, "journal": journal_changed}.get(path.name, bytes_changed)


def _part_or_bytes(content: bytes, chance: Random) -> bytes:
    try:
        return part_changed(content, chance)
    except (pa.ArrowException, OSError, ValueError, KeyError):  # it has been changed before
        return bytes_changed(content, chance)


def _manifest_or_bytes(content: bytes, chance: Random) -> bytes:
    try:
        return manifest_changed(content, chance)
    except (ValueError, RecursionError):
        return bytes_changed(content, chance)
