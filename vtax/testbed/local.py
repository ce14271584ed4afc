"""The built-in testbeds: hosts are network namespaces of this machine, links are veth pairs."""

from vtax.testbed.dedicated import DedicatedTestbed
from vtax.testbed.machines import Machines
from vtax.testbed.settings import LocalSettings
from vtax.testbed.shared import SharedTestbed

LocalTestbed = DedicatedTestbed | SharedTestbed


def local_testbed(settings: LocalSettings, streams: int, machines: Machines) -> LocalTestbed:
    """The testbed that frames of so many streams are forwarded on."""
    if settings.shared:
        return SharedTestbed(settings, streams, machines, forwards=True, busy_source=True)
    return DedicatedTestbed(settings, streams, machines)
