"""Guests of VirtualBox: made by its command line, without a window, their NICs bridged to veth pairs at the ports."""

from vtax.platforms.virtualbox.config import Config
from vtax.platforms.virtualbox.kind import Kind

__all__ = ["Config", "Kind"]
