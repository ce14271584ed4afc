"""What records of ownership name."""

from vtax.machine.ownership import OwnershipRecord, Process


def owned_processes(run: str) -> list[Process]:
    """The processes of a run, oldest first."""
    return [entry for entry in OwnershipRecord(run).entries() if isinstance(entry, Process)]
