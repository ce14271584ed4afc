"""Keeps one domain for as long as this process lives, and joins its channel to standard input and output.

A program of its own, not a module of vtax: it runs under whichever Python has libvirt's binding, so it uses nothing
else beyond the standard library, and ends with all of an embedded libvirt when its process namespace does.

    keeper.py URI                          says what answers there
    keeper.py URI try                      starts the domain on standard input, paused, and ends it again
    keeper.py URI run DOMAIN.xml STATUS    runs it; STATUS is a descriptor

What it has to say is one line of JSON, on STATUS or standard output: {"hypervisor", "libvirt"} with the
versions, or {"error"} with libvirt's own sentence.
"""

import json
import os
import socket
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import libvirt

CHUNK_BYTES = 65_536
EMBEDDED = "qemu:///embed"
CHANNEL = "devices/channel[@type='unix']/source"


def main(uri: str, act: str = "look", file: str = "", status: str = "1") -> int:
    """Do as the arguments say; the exit status is 0 unless libvirt refuses."""
    with os.fdopen(int(status), "w") as told:
        try:
            connection = _open(uri)
            facts = {
                "hypervisor": connection.getVersion(),
                "libvirt": libvirt.getVersion(),
            }
            channel = _start(connection, uri, act, file)
        except (libvirt.libvirtError, OSError) as error:
            print(json.dumps({"error": str(error)}), file=told)
            return 1
        print(json.dumps(facts), file=told)
    if channel is not None:
        _relay(channel)
    return 0


def _open(uri: str) -> libvirt.virConnect:
    libvirt.registerErrorHandler(lambda context, error: None, None)
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_turn, daemon=True).start()
    return libvirt.open(uri)


def _turn() -> None:
    while True:
        libvirt.virEventRunDefaultImpl()


def _start(connection: libvirt.virConnect, uri: str, act: str, file: str) -> socket.socket | None:
    """Start the domain if that is wanted; its channel where it is to run on."""
    if act == "look":
        return None
    # A daemon ends the domain when this connection does; an embedded libvirt ends with its process namespace.
    flags = 0 if uri.startswith(EMBEDDED) else libvirt.VIR_DOMAIN_START_AUTODESTROY
    if act == "try":
        paused = flags | libvirt.VIR_DOMAIN_START_PAUSED
        connection.createXML(sys.stdin.read(), paused).destroy()
        return None
    domain = connection.createXML(Path(file).read_text(), flags)
    live = ElementTree.fromstring(domain.XMLDesc())  # noqa: S314 - libvirt's own words
    path = next(source.attrib["path"] for source in live.iterfind(CHANNEL))
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(path)
    return channel


def _relay(channel: socket.socket) -> None:
    """Pass bytes on in both directions until either side ends."""
    threading.Thread(target=_pass_in, args=(channel,), daemon=True).start()
    while chunk := channel.recv(CHUNK_BYTES):
        _write(1, chunk)


def _pass_in(channel: socket.socket) -> None:
    while chunk := os.read(0, CHUNK_BYTES):
        channel.sendall(chunk)
    os._exit(0)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
