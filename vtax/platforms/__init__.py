"""The layers being taxed: one file a kind, and under data/platforms a preset for each name a user may ask for."""

from vtax.platforms.contract import (
    Apart,
    Argument,
    Guest,
    GuestNic,
    GuestPlan,
    Platform,
    PlatformConfig,
    PlatformUnusable,
    Probe,
)
from vtax.platforms.preset import Preset, load_kind, presets

__all__ = [
    "Apart",
    "Argument",
    "Guest",
    "GuestNic",
    "GuestPlan",
    "Platform",
    "PlatformConfig",
    "PlatformUnusable",
    "Preset",
    "Probe",
    "load_kind",
    "presets",
]
