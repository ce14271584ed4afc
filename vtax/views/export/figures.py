"""Each figure of a report as a file for a paper: PDF, SVG or PNG, drawn by Chromium as the page draws it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TypedDict

import kaleido
from choreographer.errors import ChromeNotFoundError
from pydantic import JsonValue

from vtax.inputs import InputError
from vtax.views.export.sheet import sheet
from vtax.views.figures import draw_figures
from vtax.views.page import Drawn
from vtax.views.palette import styles
from vtax.views.summary import Summary

PNG_SCALE = 3
"""Pixels of a picture a pixel of the page: about 300 an inch."""


class Wanted(TypedDict):
    """A figure that Chromium is to draw, and the file for it."""

    fig: Drawn
    path: Path
    opts: dict[str, JsonValue]


def write_figures(summary: Summary, form: str, directory: Path) -> list[Path]:
    """Write `<figure>.<form>` of every figure that has a panel, replacing older ones when all are drawn; their paths.

    `form` is pdf, svg or png.

    Raises:
        InputError: there is no figure, or this machine has no Chromium.
        OSError: it cannot be written there.
    """
    figures = [figure for figure in draw_figures(summary) if figure.panels]
    if not figures:
        raise InputError(
            f"{summary.directory}: no figure to write: its scenario's figures have no measured values; "
            f"for its tables: vtax show {summary.directory}"
        )
    directory.mkdir(parents=True, exist_ok=True)
    style = styles(summary.platforms)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".figures-") as temporary:
        drawn = [Path(temporary) / f"{figure.name}.{form}" for figure in figures]
        sheets = [sheet(figure, style) for figure in figures]
        wanted: list[Wanted] = [
            {"fig": found, "path": path, "opts": _options(form, found["layout"])}
            for found, path in zip(sheets, drawn, strict=True)
        ]
        _draw(wanted)
        return [path.replace(directory / path.name) for path in drawn]


def _draw(wanted: list[Wanted]) -> None:
    """Have Chromium draw; nothing is fetched from a network."""
    try:
        kaleido.write_fig_from_object_sync(wanted, kopts={"mathjax": False}, cancel_on_error=True)
    except ChromeNotFoundError:
        raise InputError(
            "no Chromium here, which draws the figures: apt-get install chromium, or name one in BROWSER_PATH"
        ) from None


def _options(form: str, layout: dict[str, JsonValue]) -> dict[str, JsonValue]:
    scale = PNG_SCALE if form == "png" else 1
    return {"format": form, "width": layout["width"], "height": layout["height"], "scale": scale}
