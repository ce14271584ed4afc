"""Queueing disciplines as the kernel has them: options are kept as bytes, whatever the kind (rtnetlink(7))."""

import os
import socket
import struct
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

Number = Annotated[int, Meta(ge=0, le=0xFFFFFFFF)]

NEW, DELETE, GET = 36, 37, 38
"""RTM_NEWQDISC and so on."""
REQUEST, ACKNOWLEDGE, REPLACE, DUMP, CREATE = 0x1, 0x4, 0x100, 0x300, 0x400
ERROR, DONE = 2, 3
KIND, OPTIONS = 1, 2
"""TCA_KIND, TCA_OPTIONS."""
HEADER = struct.Struct("=IHHII")
TRAFFIC = struct.Struct("=B3xiIII")
"""struct tcmsg: family, interface, handle, parent, info."""
ATTRIBUTE = struct.Struct("=HH")
BUFFER_BYTES = 1 << 17


class Qdisc(Struct, frozen=True, forbid_unknown_fields=True):
    """A queueing discipline that somebody has set; the kernel's own have no handle."""

    kind: Annotated[str, Meta(pattern=r"\A[a-z0-9_-]{1,15}\Z")]
    handle: Number
    parent: Number
    options: Annotated[bytes, Meta(max_length=4096)]


def read_qdiscs(index: int) -> list[Qdisc]:
    """Return those of an interface that somebody has set, the one at the root first."""
    found = []
    for body in _ask(GET, DUMP, TRAFFIC.pack(0, index, 0, 0, 0)):
        _, interface, handle, parent, _ = TRAFFIC.unpack_from(body)
        if interface == index and handle:
            attributes = dict(_attributes(body[TRAFFIC.size :]))
            kind = attributes[KIND].rstrip(b"\0").decode()
            found.append(Qdisc(kind, handle, parent, attributes.get(OPTIONS, b"")))
    return found


def set_qdisc(index: int, qdisc: Qdisc) -> None:
    """Set one; raises OSError."""
    attributes = _attribute(KIND, qdisc.kind.encode() + b"\0")
    if qdisc.options:
        attributes += _attribute(OPTIONS, qdisc.options)
    body = TRAFFIC.pack(0, index, qdisc.handle, qdisc.parent, 0) + attributes
    _ask(NEW, ACKNOWLEDGE | CREATE | REPLACE, body)


def remove_qdisc(index: int, qdisc: Qdisc) -> None:
    """Have the kernel's own in place of one; raises OSError."""
    _ask(DELETE, ACKNOWLEDGE, TRAFFIC.pack(0, index, qdisc.handle, qdisc.parent, 0))


def _ask(kind: int, flags: int, body: bytes) -> list[bytes]:
    """Send a request and return the bodies of the answers; raises OSError for an error among them."""
    found: list[bytes] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as kernel:
        kernel.bind((0, 0))
        kernel.send(HEADER.pack(HEADER.size + len(body), kind, REQUEST | flags, 1, 0) + body)
        while True:
            for answer, content in _messages(kernel.recv(BUFFER_BYTES)):
                if answer == ERROR and (code := -struct.unpack_from("=i", content)[0]):
                    raise OSError(code, f"queueing discipline: {os.strerror(code)}")
                if answer in (ERROR, DONE):
                    return found
                found.append(content)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind, *_ = HEADER.unpack_from(data)
        yield kind, data[HEADER.size : length]
        data = data[_aligned(length) :]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind = ATTRIBUTE.unpack_from(data)
        yield kind, data[ATTRIBUTE.size : length]
        data = data[_aligned(length) :]


def _attribute(kind: int, content: bytes) -> bytes:
    length = ATTRIBUTE.size + len(content)
    return (ATTRIBUTE.pack(length, kind) + content).ljust(_aligned(length), b"\0")


def _aligned(length: int) -> int:
    return (length + 3) & ~3
