"""A machine or guest that already runs, reached over SSH: it forwards by interfaces that nothing else uses."""

from vtax.platforms.attached.kind import ARGUMENT, Config, Kind

__all__ = ["ARGUMENT", "Config", "Kind"]
