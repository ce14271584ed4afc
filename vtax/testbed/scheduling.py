"""Who has which CPU of a host, and how much of it: weights of the host and its guests, virtual CPUs that are pinned."""

from collections.abc import Iterable, Sequence

from vtax.machine.cpu_weight import WeightedGroup, find_cpu_controller
from vtax.machine.ownership import OwnershipRecord


class Scheduling:
    """Of one host; everything is undone by `close`."""

    def __init__(self, record: OwnershipRecord, cpus: dict[str, list[int]]) -> None:
        self._record, self._cpus = record, cpus
        self._groups: dict[str, WeightedGroup] = {}
        self._turn = 0
        """How many virtual CPUs are pinned."""

    def weigh(self, host: str, host_weight: int, threads: Iterable[int]) -> None:
        """Have the host's threads weigh so much against each guest that is admitted from now on.

        Where the scheduler cannot be told, all stay as they are.
        """
        if self._make(host, host_weight):
            for thread in threads:
                self._groups[host].take(thread)

    def admit(self, guest: str) -> Sequence[str]:
        """What precedes the guest's command, so that it has the weight 1; nothing where nobody is weighed."""
        return self._groups[guest].admission if self._groups and self._make(guest, 1) else ()

    def take_turns(self, vcpus: int) -> list[int]:
        """A CPU for each of so many virtual ones: each of the guests' after the other, and then from the first."""
        cpus, first = self._cpus["guests"], self._turn
        self._turn += vcpus
        return [cpus[turn % len(cpus)] for turn in range(first, self._turn)]

    def release(self, name: str) -> None:
        """Remove the cgroup of a guest that is gone, or of the host."""
        group = self._groups.pop(name, None)
        if group is not None:
            group.remove()

    def close(self) -> None:
        """Remove what is left; threads go back to where they came from."""
        for name in list(self._groups):
            self.release(name)
        self._turn = 0

    def _make(self, name: str, weight: int) -> bool:
        controller = find_cpu_controller()
        if controller is not None:
            self._groups[name] = controller.make_group(f"{self._record.run}-{name}-cpu", weight, self._record)
        return controller is not None
