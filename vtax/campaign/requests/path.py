"""The way between a guest and whoever asks it."""

from vtax.campaign.ends import End, EndsPath
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.pair import METER, PairTestbed


class RequestsPath(EndsPath):
    """A path of one pair of ends: a bare peer or a second guest, and the guest that answers."""

    testbed: PairTestbed

    def peer(self, stream: StreamAddresses) -> End:
        """The second guest where there is one."""
        _, *asking = self.testbed.guests
        return self.guest_end(asking[0], stream.source_ip) if asking else super().peer(stream)

    def other_end(self, stream: StreamAddresses) -> End:
        """The guest that answers."""
        return self.guest_end(self.testbed.guests[0], stream.uut_in_ip)

    @property
    def meter(self) -> str:
        """The far host's own: who asks may have another kernel."""
        return METER
