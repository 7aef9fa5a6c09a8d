"""Pages as people see them: nothing is cut off on a laptop or on a phone."""

import shutil
from pathlib import Path

import pytest

from tests.helpers import LONG, configuration, published_tables
from workflow.experiments.plan import Plan
from workflow.reporting.claims import CLAIMS, NOTE, judge, read
from workflow.reporting.comparison import compare
from workflow.reporting.forms import page
from workflow.reporting.summary import summary

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if chromium is None:
        pytest.skip("there is no Chromium to open pages with")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """The claims, and the summaries of a demonstration and of a run on the paper's data, with numbers as published."""
    folder, tables = tmp_path_factory.mktemp("pages"), published_tables()
    claims = judge(published_tables("text"), tables, 1)
    demonstrated = {name: frame.replace("MNIST", "MNIST5k") for name, frame in tables.items()}
    others = judge(published_tables("text"), demonstrated, 1, {"MNIST5k": "MNIST"})
    compared = compare(tables, LONG, 1)
    written = {
        "claims": page(read(claims), "The paper's claims", NOTE, prose=True),
        "paper": summary(Plan(configuration("paper")).summarising(), claims, compared, b"PNG"),
        "demo": summary(Plan(configuration()).summarising(), others, compared, b"PNG"),
    }
    for name, text in written.items():
        (folder / f"{name}.html").write_text(text)
    return {name: folder / f"{name}.html" for name in written}


@pytest.mark.parametrize("width", [1280, 390], ids=["laptop", "phone"])
@pytest.mark.parametrize("name", ["claims", "paper", "demo"])
def test_a_page_is_as_wide_as_its_window_and_shows_every_claim(name, width, browser, pages):
    page = browser.new_page(viewport={"width": width, "height": 850})
    page.goto(pages[name].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = page.locator(".prose tbody tr, .claims tbody tr")
    assert rows.count() == len(CLAIMS)
    for number in range(len(CLAIMS)):
        claim, second = (rows.nth(number).locator("td").nth(column) for column in (0, 1))
        for cell in (claim, second):
            box = cell.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
            assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth + 1")  # its text does not stick out
    assert "EnD²" in rows.nth(len(CLAIMS) - 1).inner_text()  # in the right encoding
    page.screenshot(path=pages[name].with_name(f"{name}-{width}.png"), full_page=True)
    page.close()
