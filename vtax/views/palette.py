"""One colour, symbol and line for a platform everywhere; safe for colour blindness.

The hues are Okabe and Ito's without yellow (too pale on paper) and with grey in black's place, so that the
reference reads as such on light and dark ground. Emulated platforms are told apart by a dashed line and
hatching.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vtax.model.platform import RAW, Platform

_REFERENCE = "#7a7a7a"
_HUES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DOMAINS = {
    "guest": "#0072b2",
    "neighbour": "#e69f00",
    "host": "#d55e00",
    "steal": "#cc79a7",
}
"""Of the CPU ledger; what is the instrument's is grey."""
_INSTRUMENT = {
    "peer": "#6b6b6b",
    "switch": "#8f8f8f",
    "source": "#6b6b6b",
    "sink": "#8f8f8f",
    "instrument": "#a3a3a3",
}
_OTHER_DOMAIN = "#b5b5b5"
_STAGES = {
    "backend": "#0072b2",
    "wake-up": "#56b4e9",
    "switch": "#d55e00",
    "kernel": "#009e73",
    "driver": "#cc79a7",
    "guest": "#e69f00",
    "stack": "#d55e00",
    "link": "#a3a3a3",
    "sink": "#b5b5b5",
}
"""Of a traced trial's packets; all of them together are grey."""
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon")


@dataclass(frozen=True)
class Style:
    """How one platform is drawn. `symbol` and `dash` are Plotly's names, `hatch` its bar pattern."""

    color: str
    symbol: str
    dash: str
    hatch: str


def styles(platforms: Sequence[Platform]) -> dict[str, Style]:
    """A style for each platform; `raw` is always grey, the others take the hues in the scenario's order."""
    hues = [platform.name for platform in platforms if platform.name != RAW]
    return {
        platform.name: Style(
            color=_REFERENCE if platform.name == RAW else _HUES[hues.index(platform.name) % len(_HUES)],
            symbol=_SYMBOLS[position % len(_SYMBOLS)],
            dash="dash" if platform.emulated else "solid",
            hatch="/" if platform.emulated else "",
        )
        for position, platform in enumerate(platforms)
    }


def stage_color(stage: str) -> str:
    """The colour of a stage."""
    return _STAGES.get(stage, _REFERENCE)


def guests_color(guests: int) -> str:
    """The colour of a number of guests, from one on."""
    return _HUES[(guests - 1) % len(_HUES)]


def domain_color(domain: str) -> str:
    """The colour of a domain of the CPU ledger."""
    return {**_DOMAINS, **_INSTRUMENT}.get(domain, _OTHER_DOMAIN)
