"""The library that a page draws with: what its traces need, taken from the whole."""

import importlib.resources
import json
import re
from pathlib import Path

import pytest
from markupsafe import Markup
from playwright.sync_api import sync_playwright

from vtax.views import library
from vtax.views.library import VERSION, part, plotly_js
from vtax.views.page import Inline

CHROMIUM = "/usr/bin/chromium"
USED = {
    "scatter": {"y": [1, 2]},
    "bar": {"y": [1, 2]},
    "heatmap": {"z": [[1, 2], [3, 4]]},
    "surface": {"z": [[1, 2], [3, 4]]},
}
"""The kinds of traces that figures are made of, with something to draw."""


def drawing(*kinds: str) -> str:
    return plotly_js({"plot": {"data": [{"type": kind} for kind in kinds]}})


def test_the_package_has_the_version_that_a_part_can_be_taken_of() -> None:
    script = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    assert f"plotly.js v{VERSION}\n" in script.read_text(encoding="utf-8")[:200]


@pytest.mark.parametrize("kinds", [("scatter",), ("scatter", "bar", "heatmap"), ("surface",)])
def test_a_page_has_what_draws_its_traces_and_not_all(kinds: tuple[str, ...]) -> None:
    found = set(re.findall(r'moduleType:"trace",name:"(\w+)"', drawing(*kinds)))
    assert set(kinds) <= found
    assert not found & {"pie", "sankey", "choropleth"}
    assert len(drawing(*kinds)) < 2_000_000


def test_a_kind_that_is_not_found_takes_the_whole() -> None:
    assert len(drawing("scatter", "unheard-of")) > 4_000_000


def test_another_version_is_taken_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "VERSION", "4.1.2")
    assert len(drawing("scatter")) > 4_000_000


def test_what_no_kept_module_calls_is_left_out() -> None:
    script = (
        'head;var a=W((e,t)=>{t.exports={moduleType:"trace",name:"bar",plot:c()}});var b=W((e,t)=>{t.exports='
        '{moduleType:"trace",name:"pie",plot:d()}});var c=W(()=>{});var d=W(()=>{});'
        "var z=W((e,t)=>{t.register([a(),b()])});return z();"
    )
    found = part(script, {"bar"})
    assert "register([a()])" in found
    assert "var c=" in found
    assert "var b=" not in found
    assert "var d=" not in found


@pytest.mark.slow
def test_a_browser_draws_each_kind_with_its_part(tmp_path: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for kind, trace in USED.items():
            path = tmp_path / f"{kind}.html"
            drawn = f'Plotly.newPlot("x", [{json.dumps({"type": kind, **trace})}])'
            inline = Inline(Markup(), Markup(drawing(kind)), Markup(drawn))  # noqa: S704
            path.write_text(
                '<!doctype html><meta charset="utf-8">'
                f'<meta http-equiv="Content-Security-Policy" content="{inline.policy}"><div id="x"></div>'
                f"<script>{inline.library}</script><script>{inline.script}</script>",
                encoding="utf-8",
            )
            page = browser.new_page()
            complaints: list[str] = []
            page.on(
                "console",
                lambda message, said=complaints: message.type == "error" and said.append(message.text),
            )
            page.on("pageerror", lambda error, said=complaints: said.append(str(error)))
            page.goto(path.as_uri())
            page.wait_for_selector("#x .main-svg", state="attached")
            assert page.evaluate("document.getElementById('x')._fullData.map((t) => t.type)") == [kind]
            assert not complaints
        browser.close()
