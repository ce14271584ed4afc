"""A path within one guest, or from guest to guest behind one bridge."""

from vtax.trial.endpoints.path import End, await_echoes, guest_end
from vtax.trial.path import Path


class RingPath(Path):
    """Guests that reach each other; `ends` are their first NICs, in the ring's order."""

    ends: list[End]

    def make_ready(self) -> None:
        """Wait until each guest reaches the next."""
        own_kernel = self.preset.platform().own_kernel
        self.ends = [guest_end(guest, own_kernel=own_kernel) for guest in self.testbed.guests]
        if len(self.ends) > 1:
            for end, following in zip(self.ends, [*self.ends[1:], self.ends[0]], strict=True):
                await_echoes(end, following, self.last_words)
