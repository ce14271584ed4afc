"""The way between guests that are end hosts and their peers, each an agent outside the host."""

from vtax.campaign.ends import End, EndsPath
from vtax.testbed.addressing import StreamAddresses


class BulkPath(EndsPath):
    """A path whose other ends are the guests themselves."""

    def other_end(self, stream: StreamAddresses) -> End:
        """The guest."""
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
