"""The style of the workflow's files, the report on one page or as an archive, and the crate."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from rocrate.rocrate import ROCrate

from tests.helpers import ENVIRONMENT, ROOT, tiny
from workflow.reporting.claims import CLAIMS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "command", [("snakemake", "--lint"), ("snakefmt", "--check", "Snakefile", "workflow")], ids=" ".join
)
def test_the_workflow_is_clean(command):
    result = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout


@pytest.fixture(scope="module")
def report(project) -> Path:
    """The report, made where there is no network if the kernel lets us take it away."""
    prefix = (
        ("unshare", "--net")
        if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0
        else ()
    )
    result = tiny(project, "report", prefix=prefix)
    assert result.returncode == 0, result.stdout[-3000:]
    return project / "results/tiny/report.html"


def test_the_report_holds_every_table_and_figure(report):
    text = report.read_text()
    folder = report.parent
    results = [*folder.glob("tables/*.html"), *folder.glob("figures/*.png")]
    assert len(results) == (16 + 2) + 15
    assert all(str(path.relative_to(folder.parent.parent)) in text for path in results)


def test_the_report_can_be_an_archive(project):
    result = tiny(project, "all_tables", "--report", "report.zip")
    assert result.returncode == 0, result.stdout[-3000:]
    with zipfile.ZipFile(project / "report.zip") as archive:
        members = {Path(name).name: archive.read(name) for name in archive.namelist()}
    assert b"<html" in members.pop("report.html")
    run = project / "results/tiny"
    made = {path.name: path.read_bytes() for path in [*run.glob("tables/*.html"), *run.glob("figures/*.png")]}
    assert len(made) == (16 + 2) + 15
    assert members == made


def test_the_crate_holds_every_table_and_figure_and_names_all_data(project):
    result = tiny(project, "crate")
    assert result.returncode == 0, result.stdout[-3000:]
    run = project / "results/tiny"
    crate = ROCrate(run / "crate.zip")
    made = {str(path.relative_to(run)) for path in [*run.glob("tables/*"), *run.glob("figures/*")]}
    made |= {"summary.html"}
    assert {one.id for one in crate.root_dataset["mentions"]["result"]} == made
    for name in made:
        entity = crate.get(name)
        assert Path(entity.source).read_bytes() == (run / name).read_bytes(), name
        assert entity["name"] != Path(name).name, name  # but what it shows
    sets = {one["name"]: one["sha256"] for one in crate.root_dataset["mentions"]["object"] if one.type == "Dataset"}
    assert sets == json.loads((run / "manifest.json").read_text())["data_sha256"]
    assert yaml.safe_load(Path(crate.get("config.yaml").source).read_text())["run"] == "tiny"


@pytest.mark.parametrize("width", [1280, 390], ids=["laptop", "phone"])
def test_the_report_opens_with_a_summary_and_shows_a_table_at_a_click_without_fetching_anything(report, width):
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if chromium is None:
        pytest.skip("there is no Chromium to open the report with")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 850})
        requests, errors = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(report.as_uri())

        box = page.locator(".gped").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width  # nothing is cut off
        assert 0 < page.locator(".gped h1").bounding_box()["y"] < 425  # it begins on the first half of the screen
        assert page.locator(".gped .claims tbody tr").count() == len(CLAIMS)
        assert page.locator(".gped img").evaluate("image => image.naturalWidth") > 500

        page.get_by_text("Tables", exact=True).click()
        page.get_by_text("Experiment 4: downstream tasks", exact=True).click()
        rows = page.locator("tr", has_text="ranking by uncertainty")
        assert rows.count() == 4
        view = rows.first.locator("a").first
        button = view.bounding_box()
        assert button["x"] + button["width"] <= width
        view.click()
        table = page.frame_locator("iframe")
        assert table.locator("caption").inner_text().startswith("nDCG@20")
        page.screenshot(path=report.with_name(f"report-{width}.png"))
        browser.close()
    assert not errors
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
