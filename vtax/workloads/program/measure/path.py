"""The way between a client program and its server: within a guest, or between two ends that have a link or a bridge."""

import base64
from collections.abc import Mapping

from vtax.agent_api import ProgramFileParams
from vtax.trial.endpoints.path import End, EndpointPath
from vtax.trial.path import PathFacts
from vtax.trial.ring_path import RingPath

PIECE_BYTES = 32_768
"""Of a file, in a call."""
LOOPBACK = "127.0.0.1"


class InsidePath(RingPath):
    """Both programs are in the one guest."""

    files: Mapping[str, bytes]
    """What the programs find in their directory; set before it is opened."""

    def open(self) -> PathFacts:
        """Start the guest, and give it the files; raises as RingPath does."""
        facts = super().open()
        give_files(self.ends[0], self.files)
        return facts

    @property
    def places(self) -> tuple[End, End, str]:
        """The client's end, the server's, and the server's address."""
        return self.ends[0], self.ends[0], LOOPBACK


class AcrossPath(EndpointPath):
    """The server is in the guest, the client at the other end."""

    files: Mapping[str, bytes]
    """As of InsidePath."""

    def open(self) -> PathFacts:
        """Start both ends, and give them the files; raises as EndpointPath does."""
        facts = super().open()
        for end in self.ends[0]:
            give_files(end, self.files)
        return facts

    @property
    def places(self) -> tuple[End, End, str]:
        """As of InsidePath."""
        client, server = self.ends[0]
        return client, server, server.address


ProgramPath = InsidePath | AcrossPath


def give_files(end: End, files: Mapping[str, bytes]) -> None:
    """Give an end's agent the files, piece by piece; those that a kernel is to start are executable."""
    for name, content in files.items():
        executable = content.startswith((b"#!", b"\x7fELF"))
        for at in range(0, max(1, len(content)), PIECE_BYTES):
            piece = ProgramFileParams(
                name=name,
                executable=executable,
                first=at == 0,
                base64=base64.b64encode(content[at : at + PIECE_BYTES]).decode(),
            )
            end.api.program_file(piece)
