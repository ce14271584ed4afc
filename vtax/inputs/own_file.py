"""Keys that name a file of the user's own by its full path: found, hashed, and the same whenever a guest starts."""

import hashlib
import os
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from vtax.inputs.document import InputError, advised, one_line, suggestion
from vtax.inputs.trust import ROOT, callers, distrust, distrust_above

MOST_BYTES = 1 << 32
"""Of a program, a kernel or an initrd: what is hashed within seconds."""
CHUNK_BYTES = 1 << 20
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
"""Neither a pipe nor a device keeps whoever opens it; links are followed before."""
SHOWN_DIGITS = 12
"""Of a SHA-256 in a sentence."""


class ChangedFileError(Exception):
    """A file of the user's own is not what it was when the campaign began; the message names it."""


@dataclass(frozen=True)
class FoundFile:
    """A file of the user's own on the machine where guests start from it."""

    path: str
    """Where the named path led when it was looked at: links are followed once a campaign."""
    sha256: str


@dataclass(frozen=True)
class OwnFile:
    """Marks a key of a platform whose text is the full path of a file, or one of `words`."""

    use: str
    """What is done with the file, in words that follow its path."""
    words: tuple[str, ...] = ()
    states: str | None = None
    """The fact of a probe that has the file's version; None where it has none."""
    executable: bool = False

    def named(self, value: JsonValue) -> str | None:
        """The path that a value of the key is; None for anything else."""
        return value if isinstance(value, str) and value not in self.words else None

    @property
    def allowed(self) -> str:
        """What the key may hold, in words."""
        return ", ".join([*self.words, "the full path of a file"])

    def __get_pydantic_core_schema__(self, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of text, and then the form of a path."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, text: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of what a file holds."""
        found = handler(text)
        path: JsonSchemaValue = {"type": "string", "pattern": "^/"}
        words = [{"enum": [*self.words]}] if self.words else []
        null = [each for each in found.get("anyOf", ()) if each == {"type": "null"}]
        return {"anyOf": [*words, path, *null]}

    def _check(self, value: str | None) -> str | None:
        path = self.named(value)
        if path is not None and ("\0" in path or not path.startswith("/")):
            near = suggestion(path, self.words)
            if "/" in path and "\0" not in path:
                near = f"type {one_line(str(Path(path).absolute()))};"
            problem = f'"{one_line(path)}" is not allowed'
            raise ValueError(advised(problem, near, f"allowed: {self.allowed}"))
        return value


def find_file(named: str, about: OwnFile, *, open_to_all: bool = False) -> FoundFile:
    """Look at a file, follow links to it, and hash it.

    Raises InputError for one that is missing, no regular file, not executable where it is started, or that others than
    root and who calls could change or replace; with `open_to_all` also where other users cannot reach it.
    """
    try:
        real = Path(named).resolve(strict=True)
        descriptor = os.open(real, FLAGS)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
        raise InputError(f"{named} cannot be opened: {reason}; name a file that is there") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise InputError(f"{named} is no regular file; name the file itself")
        if about.executable and not mode & 0o111:
            raise InputError(f"{named} is not executable; chmod +x {shlex.quote(str(real))}")
        owners = {ROOT, *callers()}
        if (problem := distrust(real, owners) or distrust_above(real, owners)) is not None:
            raise InputError(f"{problem}, and {named} is {about.use}; name a copy that root alone may change")
        if open_to_all and (closed := _closed(real, mode, whole_way=about.executable)) is not None:
            raise InputError(
                f"{closed} is closed to users other than root, and one of them uses {named}; "
                f"chmod o+rx {shlex.quote(str(closed))}"
            )
        if (sha256 := _hash(descriptor)) is None:
            raise InputError(f"{named} is larger than {MOST_BYTES} bytes, the most that is read")
        return FoundFile(str(real), sha256)
    finally:
        os.close(descriptor)


def check_unchanged(files: Mapping[str, str]) -> None:
    """Raise ChangedFileError unless each file, by its path, still has its SHA-256."""
    for path, recorded in files.items():
        try:
            found = hash_file(path)
        except OSError as error:
            raise ChangedFileError(
                f"{path} can no longer be opened: {error.strerror}; put back the file with SHA-256 {short(recorded)}"
            ) from None
        if found != recorded:
            raise ChangedFileError(
                f"{path} has changed since the campaign began: its SHA-256 was {short(recorded)}, now "
                f"{'it is too large' if found is None else short(found)}; put the first one back"
            )


def hash_file(path: str) -> str | None:
    """Return the SHA-256 of the file at a path without links; None for one that is too large. Raises OSError."""
    descriptor = os.open(path, FLAGS)
    try:
        return _hash(descriptor)
    finally:
        os.close(descriptor)


def short(sha256: str) -> str:
    """A SHA-256 as sentences have it."""
    return f"{sha256[:SHOWN_DIGITS]}..."


def _closed(real: Path, mode: int, *, whole_way: bool) -> Path | None:
    """What keeps other users from a file: itself or, where they go the whole way to it, a directory above it."""
    needed = stat.S_IROTH | (stat.S_IXOTH if whole_way else 0)
    if mode & needed != needed:
        return real
    above = real.parents if whole_way else ()
    return next((each for each in above if not each.stat().st_mode & stat.S_IXOTH), None)


def _hash(descriptor: int) -> str | None:
    """The SHA-256 of an open file; None for one that is too large."""
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, CHUNK_BYTES):
        size += len(chunk)
        if size > MOST_BYTES:
            return None
        digest.update(chunk)
    return digest.hexdigest()
