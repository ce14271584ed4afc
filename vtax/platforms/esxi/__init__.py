"""Guests of VMware ESXi: made, started and removed by its own interface, their NICs at port groups of that host."""

from vtax.platforms.esxi.config import ARGUMENT, Config
from vtax.platforms.esxi.kind import Kind

__all__ = ["ARGUMENT", "Config", "Kind"]
