"""Each figure of a report as a file for a paper: PDF, SVG or PNG, drawn by Chromium as the page draws it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import kaleido
from choreographer.errors import ChromeNotFoundError

from vtax.inputs import InputError
from vtax.views.export.sheet import sheet
from vtax.views.figures import draw_figures
from vtax.views.palette import styles
from vtax.views.summary import Summary

PNG_SCALE = 3
"""Pixels of a picture a pixel of the page: about 300 an inch."""


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
        wanted = [
            {"fig": (found := sheet(figure, style)), "path": path, "opts": _options(form, found["layout"])}
            for figure, path in zip(figures, drawn, strict=True)
        ]
        _draw(wanted)
        return [path.replace(directory / path.name) for path in drawn]


def _draw(wanted: list[dict[str, object]]) -> None:
    """Have Chromium draw; nothing is fetched from a network."""
    try:
        kaleido.write_fig_from_object_sync(wanted, kopts={"mathjax": False}, cancel_on_error=True)
    except ChromeNotFoundError:
        raise InputError(
            "no Chromium here, which draws the figures: apt-get install chromium, or name one in BROWSER_PATH"
        ) from None


def _options(form: str, layout: dict[str, int]) -> dict[str, object]:
    scale = PNG_SCALE if form == "png" else 1
    return {"format": form, "width": layout["width"], "height": layout["height"], "scale": scale}
