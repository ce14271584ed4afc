"""The built-in testbeds: hosts are network namespaces of this machine, links are veth pairs."""

from collections.abc import Sequence

from vtax.machine.ownership import OwnershipRecord
from vtax.platforms import PlatformUnusable
from vtax.platforms.raw import require_protocols
from vtax.testbed.dedicated import DedicatedTestbed
from vtax.testbed.settings import LocalSettings
from vtax.testbed.shared import SharedTestbed

LocalTestbed = DedicatedTestbed | SharedTestbed


def require_far_protocols(protocols: Sequence[str]) -> None:
    """Look whether far ends, which have this machine's kernel, can speak these protocols; raises PlatformUnusable."""
    try:
        require_protocols(protocols)
    except PlatformUnusable as unusable:
        raise PlatformUnusable(f"{unusable.reason}, and the far ends have it", unusable.remedy) from None


def local_testbed(settings: LocalSettings, streams: int, record: OwnershipRecord) -> LocalTestbed:
    """The testbed that frames of so many streams are forwarded on."""
    if settings.shared:
        return SharedTestbed(settings, streams, record, forwards=True, busy_source=True)
    return DedicatedTestbed(settings, streams, record)
