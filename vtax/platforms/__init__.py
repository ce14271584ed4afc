"""The layers being taxed: one file a kind, and under data/platforms a preset for each name a user may ask for."""

from vtax.platforms.contract import (
    Apart,
    Argument,
    Fact,
    Guest,
    GuestNic,
    GuestPlan,
    Platform,
    PlatformConfig,
    PlatformUnusable,
    Probe,
)
from vtax.platforms.preset import Preset, config_of, keys_of, load_kind, presets

__all__ = [
    "Apart",
    "Argument",
    "Fact",
    "Guest",
    "GuestNic",
    "GuestPlan",
    "Platform",
    "PlatformConfig",
    "PlatformUnusable",
    "Preset",
    "Probe",
    "config_of",
    "keys_of",
    "load_kind",
    "presets",
]
