"""Removes what an earlier process has left on an ESXi host.

User and password are looked for anew. The note goes when nothing is left; it is what tells that something is.
"""

from pathlib import Path

from vtax.machine.ownership import Owned, outside
from vtax.platforms.esxi.machine import remove
from vtax.platforms.esxi.made import read_note


class OwnedGuest(Owned, frozen=True, tag="ESXi guest"):
    """A guest on an ESXi host, which a note describes."""

    note: str

    def problem(self, state: Path) -> str | None:
        """Notes are root's, as records are."""
        return outside(state, self.note)

    @property
    def needs(self) -> list[Path]:
        """See Owned."""
        return [Path(self.note)]

    def is_there(self) -> bool:
        """Return whether there is a note: asked twice, a host would soon lock out a user with a wrong password."""
        return Path(self.note).exists()

    def remove(self) -> None:
        """Remove what the note tells of, then the note; raises PlatformUnusable with what stands in the way."""
        remove(read_note(Path(self.note)))
        Path(self.note).unlink()
