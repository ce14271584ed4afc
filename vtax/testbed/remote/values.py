"""What goes over a machine's stream: JSON, in which dictionaries by integers and errors keep what they are."""

import subprocess
from collections.abc import Mapping
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from vtax.inputs import InputError
from vtax.machine.agent import AgentError, AgentGone
from vtax.platforms import PlatformUnusable

BY_INTEGER = "by integer"
ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        AgentError,
        AgentGone,
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


def encode(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, Mapping):
        if value and all(isinstance(key, int) for key in value):
            return {BY_INTEGER: [[key, encode(each)] for key, each in value.items()]}
        return {str(key): encode(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(each) for each in value]
    return value


def decode(value: Any) -> Any:
    """What `encode` was given, with lists for tuples and sets."""
    if isinstance(value, dict):
        if value.keys() == {BY_INTEGER}:
            return {int(key): decode(each) for key, each in value[BY_INTEGER]}
        return {key: decode(each) for key, each in value.items()}
    if isinstance(value, list):
        return [decode(each) for each in value]
    return value


def encode_error(error: Exception) -> dict[str, Any]:
    """A JSON-RPC error that `decode_error` makes the same exception of."""
    kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in ERRORS]
    text = str(error) or type(error).__name__
    if isinstance(error, subprocess.SubprocessError) or not kinds:
        kinds, text = ["OSError"], f"{type(error).__name__}: {text}"
    return {"code": -32000, "message": text, "data": {"kind": kinds[0], "arguments": _arguments(error)}}


def decode_error(message: str, data: Any) -> Exception:
    """The exception that an error reply tells of."""
    match data:
        case {"kind": str(name), "arguments": list(arguments)} if name in ERRORS:
            return ERRORS[name](*arguments) if arguments else ERRORS[name](message)
    return OSError(message)


def _arguments(error: Exception) -> list[Any]:
    """What the exception was made of; nothing where its text is all there is to it."""
    if isinstance(error, PlatformUnusable):
        return [error.reason, error.remedy]
    if isinstance(error, OSError) and error.errno is not None:
        return [error.errno, error.strerror]
    if isinstance(error, NetlinkError):
        return list(error.args)
    return []
