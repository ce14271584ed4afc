"""Why a campaign over several testbeds stops."""


class ClusterError(Exception):
    """The campaign cannot go on; the message says why. What has been collected is kept."""
