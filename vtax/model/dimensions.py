"""What cells of one setting differ by: load, guests, length of requests, relays."""

from __future__ import annotations

from vtax.model.levels import Dimension, Level


def load_label(intended_mbps: Level) -> str:
    """Return the factor's text: `max` for the flood."""
    return "max" if intended_mbps is None else f"{intended_mbps:g}"


def load_phrase(intended_mbps: Level) -> str:
    """Return the load as a sentence has it."""
    return "the flood (max)" if intended_mbps is None else f"{intended_mbps:g} Mbit/s"


def guests_phrase(guests: Level) -> str:
    """Return the number of guests as a sentence has it."""
    return f"{guests} guest{'s' if guests != 1 else ''}"


LOAD = Dimension("intended_mbps", "load", "Mbit/s", load_label, load_phrase)
GUESTS = Dimension("guests", "guests", "", str, guests_phrase)
REQUEST = Dimension("message_bytes", "request", "byte", str, lambda length: f"{length}-byte requests")
