"""Size of a report's page, and the time until a browser has drawn what one looks at, and all of it."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

from bench import large_result
from bench.figure import Figure
from vtax.views.library import plotly_js

TRIALS, LOADS_MBPS = 5_000, range(10, 135)
"""Ten of each of 500 cells: more cells than any scenario that comes with vtax has."""
LARGEST_MB, LONGEST_S = 10.0, 2.0
REPETITIONS = 5
CHROMIUM = "/usr/bin/chromium"
BARE = """<!doctype html><meta charset="utf-8"><div class="plot" id="x"></div><script>{library}</script>
<script>Plotly.newPlot("x", [{{y: [1]}}])</script>"""
DRAWN = "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('.main-svg'))"
IN_VIEW = """[...document.querySelectorAll('.plot')].every((plot) => {
    const { top, bottom } = plot.getBoundingClientRect();
    return bottom < 0 || top > innerHeight || plot.querySelector('.main-svg');
})"""
WAIT = "() => new Promise((done) => {{ const look = () => {until} ? done() : requestAnimationFrame(look); look(); }})"
"""Looks at each frame; Playwright's own way of waiting is what the page's policy forbids."""


def figures(directory: Path) -> list[Figure]:
    """Make a result of so many trials below `directory`, and measure its page."""
    result = directory / "page"
    large_result.make(result, TRIALS, loads_mbps=LOADS_MBPS)
    subprocess.run([Path(sys.executable).parent / "vtax", "report", result], check=True, capture_output=True)
    page, bare = result / "report.html", directory / "bare.html"
    bare.write_text(
        BARE.format(library=plotly_js({"x": {"data": [{"type": "scatter"}], "layout": {}}})), encoding="utf-8"
    )
    megabytes, library = page.stat().st_size / 1e6, median(drawn_s(bare, DRAWN))
    name = f"report's page, {TRIALS:,} trials"
    size = _figure(f"{name}: size", f"{megabytes:.1f} MB", megabytes, f"{LARGEST_MB:g} MB", LARGEST_MB)
    note = f"The drawing library alone, with a single point, takes {library:.2f} s of it on this machine."
    found = [size]
    for what, until, at in (("in view", IN_VIEW, "#figures"), ("all", DRAWN, "")):
        seconds = drawn_s(page, until, at)
        told = f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}, n = {len(seconds)})"
        found.append(
            _figure(f"{name}: drawn, {what}", told, median(seconds), f"{LONGEST_S:g} s", LONGEST_S, note)
        )
    return found


def _figure(name: str, told: str, value: float, bound: str, most: float, note: str | None = None) -> Figure:
    holds = value <= most
    return Figure(name, told, "none", f"at most {bound}", value, None, None, holds, None if holds else note)


def drawn_s(page: Path, until: str, at: str = "") -> list[float]:
    """Seconds from opening the page at an anchor until the condition holds, each time in a new context."""
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(REPETITIONS):
            context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
            tab = context.new_page()
            start = time.perf_counter()
            tab.goto(page.as_uri() + at, wait_until="commit")
            tab.wait_for_load_state("domcontentloaded")
            tab.evaluate(WAIT.format(until=until))
            found.append(time.perf_counter() - start)
            context.close()
        browser.close()
    return found
