"""The way of a message round a ring: within one guest, or from guest to guest behind one bridge."""

from vtax.campaign.ends import End, guest_end, wait_ready
from vtax.campaign.path import Path, PathFacts, PathFailed
from vtax.machine.agent import AgentError, AgentGone
from vtax.testbed.ring import RingTestbed


class RelayPath(Path):
    """Guests that reach each other; `ends` are their first NICs, in the ring's order."""

    testbed: RingTestbed
    ends: list[End]

    def open(self) -> PathFacts:
        """Start the guests and wait until each reaches the next; raises PathFailed, PlatformUnusable, OSError."""
        testbed, platform = self.testbed, self.preset.platform()
        testbed.build(platform.port)
        begun = testbed.uut.counters([])["at_s"]
        try:
            hello_s = self.start_guests()
            places = zip(testbed.guests, testbed.addresses, strict=True)
            self.ends = [guest_end(platform, guest, address) for guest, address in places]
            if len(self.ends) > 1:
                for end, following in zip(self.ends, [*self.ends[1:], self.ends[0]], strict=True):
                    wait_ready(end, following)
            self.set_egress()
        except (AgentGone, AgentError, PathFailed) as error:
            raise PathFailed(f"{error}\n{self.last_words()}".strip()) from None
        ready_s = testbed.uut.counters([])["at_s"] - begun
        self.facts = PathFacts(hello_s, ready_s, self.scheduling_notes)
        return self.facts
