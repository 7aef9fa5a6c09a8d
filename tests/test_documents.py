"""What is written about the project: links, paths, versions, the picture of the rules, the API reference."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import gped

ROOT = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)


def without_listings(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)\s]+)\)", without_listings(page.read_text()))
    targets = [link.split("#")[0] for link in links if not re.match(r"[a-z]+:", link)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_paths_named_in_contributing_exist():
    quoted = re.findall(r"`([^`\s]+)`", without_listings(CONTRIBUTING))
    paths = [text for text in quoted if "/" in text or Path(text).suffix]
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_contributing_fits_on_a_screen_and_begins_with_the_set_up_of_the_readme():
    assert len(CONTRIBUTING.splitlines()) <= 60
    set_up = re.search(r"```bash\n(.*?)\n```", CONTRIBUTING, re.DOTALL)[1]
    assert f"{set_up} && " in (ROOT / "README.md").read_text()


def test_citation_and_changelog_have_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    newest = re.search(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert PROJECT["version"] in newest.split()


# The picture of the rules


@pytest.fixture(scope="module")
def rule_graph(tmp_path_factory) -> str:
    """Snakemake's, for the default configuration in an empty folder."""
    command = ["snakemake", "all_tables", "--rulegraph", "--snakefile", str(ROOT / "Snakefile")]
    folder = tmp_path_factory.mktemp("empty")
    result = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_picture_has_the_edges_of_the_rule_graph(rule_graph):
    rules = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', rule_graph, re.MULTILINE))
    plain = {number: "students" if name.startswith("students_") else name for number, name in rules.items()}
    edges = {(plain[one], plain[other]) for one, other in re.findall(r"(\d+) -> (\d+)", rule_graph)}
    picture = ElementTree.parse(ROOT / "docs/rulegraph.svg")
    svg = "{http://www.w3.org/2000/svg}"
    drawn = [tuple(title.text.split(" → ")) for title in picture.iterfind(f"{svg}path/{svg}title")]
    assert sorted(drawn) == sorted((one, other) for one, other in edges if other != "all_tables")
    boxes = {text.text for text in picture.iterfind(f"{svg}text[@class='rule']")}
    assert boxes == set(plain.values()) - {"all_tables"}


def test_the_picture_is_what_its_script_draws(rule_graph):
    command = [sys.executable, "docs/rulegraph.py"]
    drawn = subprocess.run(command, cwd=ROOT, input=rule_graph, capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout == (ROOT / "docs/rulegraph.svg").read_text(), "draw it anew: docs/rulegraph.py says how"


# The API reference


def test_the_api_reference_builds_without_warnings_and_has_every_public_name(tmp_path):
    pytest.importorskip("pdoc")
    command = re.search(r"^python -m pdoc .*? -o docs/api .*?(?=  +#|$)", CONTRIBUTING, re.MULTILINE)[0]
    strict = command.replace("python", "python -W error", 1).replace("docs/api", str(tmp_path))
    result = subprocess.run(strict, shell=True, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    pages = {page.stem: page.read_text() for page in (tmp_path / "gped").glob("*.html")}
    sections = {name for page in pages.values() for name in re.findall(r'<section id="(\w+)">', page)}
    assert set(gped.__all__) - set(pages) <= sections
    told = [
        text for page in pages.values() for text in re.findall(r'<div class="docstring">(.*?)</div>', page, re.DOTALL)
    ]
    assert not [text for text in told if "Args:" in text]
