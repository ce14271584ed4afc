"""The way of streams: to guests that are end hosts, or through guests that are routers, from peers outside."""

from vtax.campaign.ends import End, SharedEndsPath
from vtax.testbed.addressing import StreamAddresses


class BulkPath(SharedEndsPath):
    """A path whose other ends are the guests themselves, or servers behind them where these forward."""

    def other_end(self, stream: StreamAddresses) -> End:
        """The server, or the guest."""
        if self.testbed.forwards:
            return self.make_server(stream)
        return super().other_end(stream)
