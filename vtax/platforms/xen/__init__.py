"""Platform kind `xen`: domains of the Xen machine that vtax runs on, started by xl from dom0."""

from vtax.platforms.xen.kind import Config, Kind

__all__ = ["Config", "Kind"]
