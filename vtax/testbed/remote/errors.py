"""Errors that go over a machine's stream and are raised at its other end as what they were."""

import subprocess

import msgspec
from msgspec import Raw, Struct
from pyroute2.netlink.exceptions import NetlinkError

from vtax.inputs import InputError
from vtax.inputs.own_file import ChangedFileError
from vtax.machine.agent import AgentError, AgentGone
from vtax.machine.failure import in_words
from vtax.platforms import PlatformUnusable

ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        AgentError,
        AgentGone,
        ChangedFileError,
        InputError,
        LookupError,
        NetlinkError,
        OSError,
        PlatformUnusable,
        TimeoutError,
        ValueError,
    )
}
"""What a caller may be waiting for; anything else is an OSError that names it."""
CODE = -32000
"""What JSON-RPC leaves to those who use it."""

Argument = str | int | None


class Raised(Struct):
    """Which exception it was, and what it was made of: nothing where its text is all there is to it."""

    kind: str
    arguments: list[Argument]


class ErrorReply(Struct):
    """A JSON-RPC error that `decode_error` makes the same exception of."""

    message: str
    data: Raised
    code: int = CODE


def encode_error(error: Exception) -> ErrorReply:
    """The reply that tells of an exception."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in ERRORS]
    text = in_words(error)
    if isinstance(error, subprocess.SubprocessError) or not kinds:
        kinds, text = ["OSError"], f"{type(error).__name__}: {text}"
    return ErrorReply(text, Raised(kinds[0], _arguments(error)))


def decode_error(message: str, data: Raw) -> Exception:
    """The exception that an error reply tells of."""
    try:
        raised = msgspec.json.decode(data, type=Raised)
    except msgspec.DecodeError:
        return OSError(message)
    if raised.kind not in ERRORS:
        return OSError(message)
    return ERRORS[raised.kind](*(raised.arguments or [message]))


def _arguments(error: Exception) -> list[Argument]:
    if isinstance(error, PlatformUnusable):
        return [error.reason, error.fix]
    if isinstance(error, OSError) and error.errno is not None:
        return [error.errno, in_words(error).removeprefix(f"[Errno {error.errno}] ")]
    if isinstance(error, NetlinkError):
        return [*error.args]
    return []
