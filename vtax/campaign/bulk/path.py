"""The way between guests that are end hosts and their peers, each an agent outside the host."""

from vtax.campaign.ends import End, EndsPath
from vtax.testbed.addressing import StreamAddresses


class BulkPath(EndsPath):
    """A path whose other ends are the guests themselves."""

    def other_end(self, stream: StreamAddresses) -> End:
        """The guest."""
        return self.guest_end(self.testbed.guests[stream.stream], stream.uut_in_ip)
