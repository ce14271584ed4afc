"""A file that is added to a wheel: an archive with a record of all that is in it (PEP 427)."""

import base64
import hashlib
import zipfile
from pathlib import Path

INFO = ".dist-info/"


def add_to_wheel(wheel: Path, name: str, content: bytes) -> None:
    """Write a file beside the wheel's metadata, and a record that has it; the same wheel comes out each time."""
    complete = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(complete, "w", zipfile.ZIP_DEFLATED) as new:
        (record,) = (file for file in old.infolist() if file.filename.endswith(f"{INFO}RECORD"))
        added = f"{record.filename.removesuffix('RECORD')}{name}"
        for file in old.infolist():
            if file.filename not in (record.filename, added):
                new.writestr(file, old.read(file))
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines = [line for line in old.read(record).decode().splitlines() if not line.startswith(f"{added},")]
        lines.insert(-1, f"{added},sha256={digest},{len(content)}")
        new.writestr(_like(record, added), content)
        new.writestr(record, "\n".join([*lines, ""]).encode())
    complete.replace(wheel)


def _like(file: zipfile.ZipInfo, name: str) -> zipfile.ZipInfo:
    alike = zipfile.ZipInfo(name, file.date_time)
    alike.compress_type, alike.external_attr = file.compress_type, file.external_attr
    return alike
