"""The way through guests that are routers, each between a peer and a server of its own outside the host."""

from vtax.campaign.ends import End, EndsPath
from vtax.testbed.addressing import StreamAddresses
from vtax.testbed.guest import SERVER
from vtax.testbed.shared import SharedTestbed


class EchoPath(EndsPath):
    """A path whose other ends are the hosts behind the guests."""

    testbed: SharedTestbed

    def other_end(self, stream: StreamAddresses) -> End:
        """The server."""
        testbed, number = self.testbed, stream.stream
        configuration = testbed.server_configuration(stream)
        return self.make_far_end(
            testbed.sink, f"{SERVER}{number}", configuration, f"snk{number}", stream.sink_ip
        )
