"""The report in Chromium without network: drawn, quiet, and to be used by mouse, keyboard, on paper and on a phone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.helpers.results.builder import make
from tests.helpers.results.bulk import bulk_campaign
from tests.helpers.results.forwarding import blocks
from tests.helpers.results.synthetic import make_result
from vtax import views
from vtax.results import Result
from vtax.views.history import read_history
from vtax.views.history.page import history_page

pytestmark = pytest.mark.slow

expect.set_options(timeout=60_000)

CHROMIUM = "/usr/bin/chromium"
NOT_DRAWN = ".plot:not(:has(.main-svg))"
RIGHTS = "all => all.map((one) => one.getBoundingClientRect().right)"
WIDEST = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"

Scheme = Literal["light", "dark"]


@dataclass
class Opened:
    """A report in a page of its own, with what the browser complained of and asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opening(browser: Browser, report: Path, width: int = 1280, scheme: Scheme = "light") -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    context.set_default_timeout(120_000)
    opened = Opened(context.new_page())
    opened.page.on("console", lambda message: opened.complaints.append(message.text))
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on("request", lambda request: opened.requests.append(request.url))
    opened.page.goto(report.as_uri())
    expect(opened.page.locator(NOT_DRAWN)).to_have_count(0)
    yield opened
    context.close()


@pytest.fixture(scope="module", params=["forwarding", "bulk"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("browser") / request.param
    if request.param == "bulk":
        return views.write_report(make(directory, bulk_campaign()))
    make_result(directory, platforms=("raw", "container", "qemu-virtio"), loads=(100.0, 1000.0, None))
    return views.write_report(Result.open(directory))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("history")
    for number in range(8):
        make(
            directory / f"{number}",
            blocks([90.0, 91.0, 92.0]),
            created_at=f"2026-01-{number + 1:02}T00:00:00+00:00",
            seed=number,
        )
    page = directory / "history.html"
    page.write_text(history_page(read_history(directory, 0.05)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def shared(browser: Browser, report: Path) -> Iterator[Opened]:
    with opening(browser, report) as opened:
        yield opened


@pytest.fixture
def opened(shared: Opened) -> Opened:
    shared.page.evaluate("scrollTo(0, 0)")
    return shared


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1400, "light")])
def test_the_report_draws_itself_alone(browser: Browser, report: Path, width: int, scheme: Scheme) -> None:
    with opening(browser, report, width, scheme) as opened:
        page = opened.page
        assert page.locator(".plot .main-svg").count() >= page.locator(".plot").count() > 4
        assert page.evaluate(WIDEST) <= width
        assert not opened.complaints
        assert [url for url in opened.requests if not url.startswith("data:")] == [report.as_uri()]


WAYS_IN = (
    "<script>window.way0 = true</script>",
    "<script type=module>window.way1 = true</script>",
    '<img src=x onerror="window.way2 = true">',
    '<svg onload="window.way3 = true"></svg>',
    '<iframe srcdoc="<script>parent.way4 = true</script>"></iframe>',
    '<script src="data:text/javascript,window.way5 = true"></script>',
)
TAKEN = f"[...Array({len(WAYS_IN)}).keys()].filter(way => window[`way${{way}}`] === true)"


@pytest.mark.parametrize("kind", ["report", "history"])
def test_no_script_runs_but_the_pages_own(
    kind: str, browser: Browser, report: Path, history: Path, tmp_path: Path
) -> None:
    """As if something had not been escaped: the page is drawn, and the browser refuses what is not the page's."""
    page = tmp_path / "page.html"
    text = {"report": report, "history": history}[kind].read_text(encoding="utf-8")
    for policy in (True, False):
        without = text if policy else re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        page.write_text(without.replace("<main>", "".join(("<main>", *WAYS_IN))), encoding="utf-8")
        with opening(browser, page) as opened:
            opened.page.wait_for_load_state("load")
            assert opened.page.evaluate(TAKEN) == ([] if policy else [*range(len(WAYS_IN))])
            refused = sum("script-src" in said for said in opened.complaints)
            assert refused == (len(WAYS_IN) if policy else 0)


def test_the_policy_keeps_requests_bases_and_forms_within_the_page(browser: Browser, report: Path) -> None:
    """A page with code of others in it could send nothing anywhere."""
    with opening(browser, report) as opened:
        refused = opened.page.evaluate(
            """() => new Promise((resolve) => {
                const refused = new Set();
                addEventListener("securitypolicyviolation", (event) => {
                    refused.add(event.effectiveDirective);
                    if (refused.size === 5) resolve([...refused]);
                });
                const made = (name, attributes) => Object.assign(document.createElement(name), attributes);
                const add = (name, attributes) => document.head.append(made(name, attributes));
                add("base", { href: "https://example.net/" });
                add("img", { src: "https://example.net/x.png" });
                add("link", { rel: "stylesheet", href: "https://example.net/x.css" });
                fetch("https://example.net/").catch(() => {});
                const form = made("form", { action: "https://example.net/" });
                document.body.append(form);
                form.submit();
            })"""
        )
        assert set(refused) == {"base-uri", "img-src", "style-src-elem", "connect-src", "form-action"}


def test_a_history_draws_itself_alone(browser: Browser, history: Path) -> None:
    with opening(browser, history) as opened:
        assert opened.page.locator(".plot .main-svg").count() > 0
        assert not opened.complaints


def test_what_is_in_view_is_drawn_first(browser: Browser, report: Path) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.add_init_script(
        "window.order = []; addEventListener('drawn', (event) => order.push(event.target.id))"
    )
    last = re.findall(r'id="(figure-[^"]+)" aria', report.read_text())[-1]
    page.goto(f"{report.as_uri()}#{last}")
    expect(page.locator(NOT_DRAWN)).to_have_count(0)
    plots = page.locator(".plot").evaluate_all("all => all.map((plot) => plot.id)")
    shown = page.locator(f"#{last} .plot").evaluate_all("all => all.map((plot) => plot.id)")
    order = page.evaluate("window.order")
    assert order != plots
    assert sorted(order) == sorted(plots)
    assert order.index(shown[0]) < order.index(plots[0])
    context.close()


def test_the_first_screen_holds_question_answer_tax_and_caveats(opened: Opened) -> None:
    page = opened.page
    for what in ("h1", "#answer .answers li", "#tax table", "#care dt"):
        box = page.locator(what).first.bounding_box()
        assert box is not None
        assert box["y"] < 900, what
    titles = page.locator("h1, h2").all_inner_texts()
    assert titles[1:4] == ["Cost by platform", "The tax", "Caveats"]
    assert titles[4] == "Figures"
    assert titles[-2:] == ["Environment", "Command to repeat the campaign"]


def test_the_contents_lead_everywhere_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator(".skip").focus()
    page.keyboard.press("Tab")
    links = page.locator("nav[aria-label=Contents] a")
    assert page.evaluate("document.activeElement.textContent") == links.first.inner_text()
    for link in links.all():
        assert page.locator(str(link.get_attribute("href"))).count() == 1
    links.last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#repeat")).to_be_in_viewport()


def test_each_figure_opens_its_table_by_keyboard(opened: Opened) -> None:
    figure = opened.page.locator("figure").first
    table = figure.locator("details table")
    assert not table.is_visible()
    figure.locator("summary").focus()
    opened.page.keyboard.press("Enter")
    assert table.is_visible()


def test_a_row_shows_its_trials_on_a_click(opened: Opened) -> None:
    page = opened.page
    row = page.locator("#tax tr[data-trials]").first
    row.locator("button").click()
    dialog = page.locator("dialog[open]")
    name = row.locator("th").inner_text().strip()
    assert dialog.locator("h2").inner_text().startswith(f"{name}, ")
    trials = dialog.locator("tbody tr")
    facts = re.match(r"(\d+) trials: (\d+) valid", dialog.locator(".facts").inner_text())
    assert facts is not None
    assert trials.count() == int(facts[1]) == dialog.locator("circle").count() > 1
    assert dialog.locator("tr.valid").count() == int(facts[2])
    assert dialog.locator(".bin").count() > 0
    metric = dialog.locator("select")
    first = dialog.locator("[role=status]").inner_text()
    metric.select_option(index=metric.locator("option").count() - 1)
    assert dialog.locator("[role=status]").inner_text() != first
    page.keyboard.press("Escape")
    assert dialog.count() == 0


def test_a_point_shows_its_trials_on_a_click_and_by_keyboard(opened: Opened) -> None:
    page = opened.page
    plot = page.locator("#figures .plot").first
    plot.focus()
    page.keyboard.press("ArrowRight")
    said = page.locator("#said").inner_text()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    named = dialog.locator("h2").inner_text().split(",")[0]
    assert named in said
    page.keyboard.press("Escape")
    point = plot.locator(".points path, .point path").first.bounding_box()
    assert point is not None
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + min(20, point["height"] / 2))
    page.locator(".plot.leads").wait_for()
    page.mouse.down()
    page.mouse.up()
    dialog.wait_for()
    page.keyboard.press("Escape")
    assert not opened.complaints


def test_a_platform_is_hidden_in_figures_and_tables(opened: Opened) -> None:
    page = opened.page
    rows = page.locator("main > section tr[data-platform=container]")
    traces = "document.querySelector('.plot').data.filter((t) => t.name === 'container' && t.visible !== false).length"
    assert rows.count() > 0
    assert page.evaluate(traces) == 1
    page.get_by_role("checkbox", name="container").uncheck()
    assert all(row.get_attribute("hidden") is not None for row in rows.all())
    assert page.evaluate(traces) == 0
    page.get_by_role("checkbox", name="container").check()
    assert page.evaluate(traces) == 1


def test_the_theme_turns(opened: Opened) -> None:
    page = opened.page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(ground) != light
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(ground) == light


def test_on_paper_all_is_open_light_and_within_the_page(browser: Browser, report: Path) -> None:
    with opening(browser, report, 680, "dark") as opened:
        page = opened.page
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        assert not page.locator(".bar").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        rights = page.locator(".plot .svg-container, table").evaluate_all(RIGHTS)
        assert max(rights) <= 680
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0


def test_tables_have_captions_and_scopes_and_parts_have_names(opened: Opened) -> None:
    page = opened.page
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("main > section:not([aria-labelledby]), .plot:not([aria-label])").count() == 0
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map((one) => Number(one.tagName[1]))")
    assert all(after <= before + 1 for before, after in pairwise(levels))
