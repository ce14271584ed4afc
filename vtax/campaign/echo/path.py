"""The way through guests that are routers, each between a peer and a server of its own outside the host."""

from vtax.campaign.ends import End, SharedEndsPath
from vtax.testbed.addressing import StreamAddresses


class EchoPath(SharedEndsPath):
    """A path whose other ends are the servers behind the guests."""

    def other_end(self, stream: StreamAddresses) -> End:
        """The server."""
        return self.make_server(stream)
