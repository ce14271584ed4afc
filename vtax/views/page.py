"""What every page is made with: templates that escape, plots that need no network, files replaced in one step."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypedDict

import jinja2
import plotly.graph_objects
from markupsafe import Markup
from pydantic import JsonValue

NOTHING = Markup()
NONE = "'none'"


class Drawn(TypedDict):
    """A Plotly figure as JSON values: what is drawn of each trace, and the axes."""

    data: list[dict[str, JsonValue]]
    layout: dict[str, JsonValue]


@dataclass(frozen=True)
class Inline:
    """The style sheet and the scripts that stand in a page, as they stand there."""

    css: Markup
    library: Markup
    """The library that draws, empty where nothing is drawn."""
    script: Markup
    """vtax's own, empty where it has nothing to do."""

    @property
    def policy(self) -> str:
        """The content security policy that allows this and nothing else, so that no other script of a page runs.

        Elements have styles of their own, and so has what the library draws.
        """
        scripts = " ".join(_hash(text) for text in (self.library, self.script) if text)
        return "; ".join(
            [
                "default-src 'none'",
                f"script-src {scripts or NONE}",
                "style-src 'unsafe-inline'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        )


def inline(scripts: Sequence[str], library: Markup = NOTHING) -> Inline:
    """Return what a page carries out: vtax's own scripts of these names, and the library where it draws."""
    return Inline(_source("report.css"), library, Markup("\n").join(map(_source, scripts)))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _source(name: str) -> Markup:
    """A file beside the templates, as it is."""
    text = (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704, vtax's own source


def template(name: str) -> jinja2.Template:
    """A page's template. Everything that comes from a result is escaped."""
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    """Kept, since it keeps the templates that it has compiled."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("vtax.views"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write_file(target: Path, page: str) -> None:
    """Write a page, replacing an older one in one step; OSError where that fails, and then nothing stays."""
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=".html")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def plot_json(plot: plotly.graph_objects.Figure) -> Drawn:
    """A Plotly figure as JSON values."""
    drawn: Drawn = json.loads(plot.to_json())
    return drawn


def script_json(value: JsonValue | Mapping[str, Drawn]) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704, every character that HTML could read is escaped


def columns(panels: int) -> int:
    """How many panels stand side by side where there is room; an even four is better than three and one."""
    return 2 if panels in (2, 4) else min(panels, 3)


def moment(text: str) -> str:
    """An ISO 8601 time to the minute; anything else as it is."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text
