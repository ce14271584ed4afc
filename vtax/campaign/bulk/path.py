"""The way of streams: to guests that are end hosts, or through guests that are routers, from peers outside."""

from vtax.campaign.ends import End, EndsPath
from vtax.testbed.addressing import StreamAddresses


class BulkPath(EndsPath):
    """A path whose other ends are the guests themselves, or servers behind them where these forward."""

    def other_end(self, stream: StreamAddresses) -> End:
        """The server, or the guest."""
        return self.make_server(stream) if self.testbed.forwards else self._guest(stream)

    def _guest(self, stream: StreamAddresses) -> End:
        testbed = self.testbed
        guest = testbed.guests[stream.stream]
        state = testbed.uut.guest_state(guest.name)
        nics = {nic["mac"]: nic["interface"] for nic in state["interfaces"]}
        own_kernel = self.preset.platform().own_kernel
        return End(
            testbed.uut,
            guest.name,
            nics[guest.interfaces[0]["mac"]],
            stream.uut_in_ip,
            0 if own_kernel else testbed.settings.cpus["guests"][0],
            not own_kernel,
        )
