"""Size of a report's page, and the time until a browser has drawn all of it."""

import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench import large_result
from bench.figure import Figure

TRIALS = 5_000
LARGEST_MB, LONGEST_S = 10.0, 2.0
REPETITIONS = 5
CHROMIUM = "/usr/bin/chromium"
DRAWN = "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('.main-svg'))"


def figures(directory: Path) -> list[Figure]:
    """Make a result of so many trials below `directory`, and measure its page."""
    result = directory / "page"
    large_result.make(result, TRIALS)
    subprocess.run([Path(sys.executable).parent / "vtax", "report", result], check=True, capture_output=True)
    page = result / "report.html"
    megabytes, seconds = page.stat().st_size / 1e6, drawn_s(page)
    middle = sorted(seconds)[len(seconds) // 2]
    name = f"report's page, {TRIALS:,} trials"
    size = f"{megabytes:.1f} MB"
    drawn = f"{middle:.2f} s ({min(seconds):.2f} to {max(seconds):.2f}, n = {len(seconds)})"
    return [
        Figure(
            f"{name}: size",
            size,
            "none",
            f"at most {LARGEST_MB:g} MB",
            megabytes,
            None,
            None,
            megabytes <= LARGEST_MB,
        ),
        Figure(
            f"{name}: drawn",
            drawn,
            "none",
            f"at most {LONGEST_S:g} s",
            middle,
            None,
            None,
            max(seconds) <= LONGEST_S,
        ),
    ]


def drawn_s(page: Path) -> list[float]:
    """Seconds from opening the page to its last figure, each time in a new context."""
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(REPETITIONS):
            context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
            tab = context.new_page()
            start = time.perf_counter()
            tab.goto(page.as_uri(), wait_until="commit")
            tab.wait_for_load_state("domcontentloaded")
            tab.wait_for_function(DRAWN)
            found.append(time.perf_counter() - start)
            context.close()
        browser.close()
    return found
