"""The report in Chromium without network: all figures drawn, nothing asked for, no complaint."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.handmade_bulk import bulk_campaign, make_bulk
from tests.synthetic import make_result
from vtax import views
from vtax.results import Result

CHROMIUM = "/usr/bin/chromium"

pytestmark = pytest.mark.system


@pytest.fixture(scope="module", params=["forwarding", "bulk"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("browser") / request.param
    if request.param == "bulk":
        return views.write_report(make_bulk(directory, bulk_campaign()))
    make_result(directory, loads=(100.0, 1000.0, None))
    return views.write_report(Result.open(directory))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_draws_itself_alone(browser: Browser, report: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_function("document.querySelectorAll('.plot .main-svg').length > 0")

    panels = page.locator(".plot").count()
    assert panels > 4
    assert page.locator(".plot:has(.plot-container)").count() == panels
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not complaints
    assert [url for url in requests if not url.startswith("data:")] == [report.as_uri()]
    context.close()


def test_each_figure_opens_its_table_by_keyboard(browser: Browser, report: Path) -> None:
    page = browser.new_context(offline=True).new_page()
    page.goto(report.as_uri())
    figure = page.locator("figure").first
    assert not figure.locator("table").is_visible()
    figure.locator("summary").focus()
    page.keyboard.press("Enter")
    assert figure.locator("table").is_visible()
    page.context.close()
