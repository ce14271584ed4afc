"""The user's own libvirt domain: its hardware kept, its identity and its storage replaced, vtax's guest inside."""

from vtax.platforms.libvirt.kind import ARGUMENT, Config, Kind

__all__ = ["ARGUMENT", "Config", "Kind"]
