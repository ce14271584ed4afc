"""A path within one guest, or from guest to guest behind one bridge."""

from vtax.campaign.ends import End, await_echoes, guest_end
from vtax.campaign.path import Path, PathFacts, PathFailed
from vtax.machine.agent import AgentError, AgentGone
from vtax.testbed.ring import RingTestbed


class RingPath(Path):
    """Guests that reach each other; `ends` are their first NICs, in the ring's order."""

    testbed: RingTestbed
    ends: list[End]

    def open(self) -> PathFacts:
        """Start the guests and wait until each reaches the next; raises PathFailed, PlatformUnusable, OSError."""
        testbed = self.testbed
        self.build()
        begun = testbed.uut.counters([])["at_s"]
        try:
            hello_s = self.start_guests()
            places = zip(testbed.guests, testbed.addresses, strict=True)
            own_kernel = self.preset.platform().own_kernel
            self.ends = [guest_end(guest, address, own_kernel=own_kernel) for guest, address in places]
            if len(self.ends) > 1:
                for end, following in zip(self.ends, [*self.ends[1:], self.ends[0]], strict=True):
                    await_echoes(end, following, self.last_words)
            self.set_egress()
        except (AgentGone, AgentError) as error:
            raise PathFailed(f"{error}\n{self.last_words()}".strip()) from None
        ready_s = testbed.uut.counters([])["at_s"] - begun
        self.facts = PathFacts(hello_s, ready_s, self.scheduling_notes)
        return self.facts
