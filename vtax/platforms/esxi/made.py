"""What of a guest is on an ESXi host: a directory of a datastore with its disc, and a virtual machine.

Both have the guest's UUID in their name or their settings and are removed by that: nothing that only looks like ours is
touched.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vtax.platforms.esxi.interface import Named
from vtax.platforms.esxi.session import Address

DISC = "vtax.iso"
CONSOLE = "console.log"


@dataclass(frozen=True)
class Made:
    """What of a guest is on a host: enough to remove it, by any later process."""

    address: Address
    datastore: str
    name: str
    uuid: str

    @property
    def directory(self) -> str:
        """The directory of its files in the datastore, which can be nobody else's."""
        return f"{self.name}-{self.uuid}"

    @property
    def path(self) -> str:
        """The same as the host writes it."""
        return f"[{self.datastore}] {self.directory}"

    def note(self, file: Path) -> None:
        """Write it down, as long as there may be something to remove."""
        file.write_text(json.dumps(asdict(self)))


def read_note(file: Path) -> Made:
    """What was written down."""
    noted = json.loads(file.read_text())
    return Made(**{**noted, "address": Address(**noted["address"])})


@dataclass(frozen=True)
class Site:
    """What of a host a guest uses: found by name."""

    datastore: Named
    networks: Sequence[Named]
