"""What is written about the project: links, paths, versions, the picture of the rules, the API reference."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import gped
from tests.helpers import ENVIRONMENT, ROOT

SVG = "{http://www.w3.org/2000/svg}"
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


def quoted_paths(text: str) -> list[Path]:
    """The paths that a text quotes. What is not there may be beside, or in, what is quoted before it in the line."""
    paths = []
    for line in without_listings(text).splitlines():
        before = [ROOT]
        for quoted in re.findall(r"`([^`\s<>*]+)`", line):
            if "/" in quoted or Path(quoted).suffix:
                found = (folder / quoted for folder in before if (folder / quoted).exists())
                paths.append(next(found, ROOT / quoted))
                before = [ROOT, paths[-1].parent, paths[-1]]
    return paths


def test_paths_named_in_contributing_exist():
    paths = quoted_paths(CONTRIBUTING)
    assert len(paths) > 30
    assert [path for path in paths if not path.exists()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/workflow.md"], ids=lambda page: page.name)
def test_paths_of_ours_named_in_other_pages_exist(page):
    made = ("results/", "data/", "tables/", "figures/")  # by a run
    paths = [path for path in quoted_paths(page.read_text()) if "/" in str(path.relative_to(ROOT))]
    kept = [path for path in paths if not str(path.relative_to(ROOT)).startswith(made)]
    assert len(kept) >= 8
    assert [path for path in kept if not path.exists()] == []


def test_contributing_fits_on_two_screens_and_begins_with_the_set_up_of_the_readme():
    assert len(CONTRIBUTING.splitlines()) <= 100
    set_up = re.search(r"```bash\n(.*?)\n```", CONTRIBUTING, re.DOTALL)[1]
    assert f"{set_up} && " in (ROOT / "README.md").read_text()


def test_citation_and_changelog_have_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    versions = [re.fullmatch(r"(?:Unreleased: )?(\d+\.\d+\.\d+)", heading)[1] for heading in headings]
    assert versions[0] == PROJECT["version"] == gped.__version__
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert numbers == sorted(set(numbers), reverse=True)
    assert not any("Unreleased" in heading for heading in headings[1:])


# The pictures


def edges_in(picture: ElementTree.ElementTree) -> list[tuple[str, ...]]:
    return [tuple(title.text.split(" → ")) for title in picture.iterfind(f"{SVG}path/{SVG}title")]


def boxes_in(picture: ElementTree.ElementTree) -> list[str]:
    return [text.text for text in picture.iterfind(f"{SVG}text[@class='name']")]


def check_that_no_boxes_overlap(picture: ElementTree.ElementTree) -> None:
    boxes = [
        [float(box.get(key)) for key in ("x", "y", "width", "height")] for box in picture.iterfind(f"{SVG}rect[@x]")
    ]
    for number, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, *_ in boxes[:number]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


@pytest.mark.parametrize("name", ["imports", "rulegraph"])
def test_nothing_in_a_picture_is_cut_off_at_its_edge(name):
    picture = ElementTree.parse(ROOT / f"docs/{name}.svg")
    _, _, width, height = map(float, picture.getroot().get("viewBox").split())
    for path in picture.iterfind(f"{SVG}path"):
        points = re.findall(r"(\d+) (\d+)", re.sub(r"V\d+", "", path.get("d")))
        assert len(points) >= 4
        assert all(0 < int(x) < width and 0 < int(y) < height for x, y in points), path.findtext(f"{SVG}title")


@pytest.fixture(scope="module")
def rule_graph(tmp_path_factory) -> str:
    """Snakemake's, for the default configuration in an empty folder."""
    command = ["snakemake", "all_tables", "--rulegraph", "--snakefile", str(ROOT / "Snakefile")]
    folder = tmp_path_factory.mktemp("empty")
    result = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_picture_of_the_rules_has_the_edges_of_the_rule_graph(rule_graph):
    rules = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', rule_graph, re.MULTILINE))
    plain = {number: re.sub(r"^(teacher|students|measure)_.*", r"\1", name) for number, name in rules.items()}
    edges = {(plain[one], plain[other]) for one, other in re.findall(r"(\d+) -> (\d+)", rule_graph)}
    picture = ElementTree.parse(ROOT / "docs/rulegraph.svg")
    expected = [(one, other) for one, other in edges if other not in ("all_tables", one)]
    assert sorted(edges_in(picture)) == sorted(expected)
    assert sorted(boxes_in(picture)) == sorted(set(plain.values()) - {"all_tables"})
    check_that_no_boxes_overlap(picture)


def test_the_picture_of_imports_has_every_room_and_no_arrow_that_others_replace():
    picture = ElementTree.parse(ROOT / "docs/imports.svg")
    rooms = {
        f"{package}/{path.stem}"
        for package in ("gped", "workflow")
        for path in (ROOT / package).iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or list(path.glob("*.py"))
    }
    assert sorted(boxes_in(picture)) == sorted(rooms)
    below: dict[str, set[str]] = {}
    for upper, lower in edges_in(picture):
        below.setdefault(upper, set()).add(lower)

    def reached(box: str) -> set[str]:
        return {far for near in below.get(box, ()) for far in ({near} | reached(near))}

    for upper, lowers in below.items():
        for lower in lowers:
            assert not any(lower in reached(other) for other in lowers - {lower}), (upper, lower)
    check_that_no_boxes_overlap(picture)


@pytest.mark.slow
def test_the_picture_of_imports_is_what_its_script_draws():
    drawn = subprocess.run([sys.executable, "docs/imports.py"], cwd=ROOT, capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout == (ROOT / "docs/imports.svg").read_text(), "draw it anew: docs/imports.py says how"


@pytest.mark.slow
def test_the_picture_of_the_rules_is_what_its_script_draws(rule_graph):
    command = [sys.executable, "docs/rulegraph.py"]
    drawn = subprocess.run(command, cwd=ROOT, input=rule_graph, capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout == (ROOT / "docs/rulegraph.svg").read_text(), "draw it anew: docs/rulegraph.py says how"


# The API reference


@pytest.mark.slow
def test_the_api_reference_builds_without_warnings_and_has_every_public_name(tmp_path):
    pytest.importorskip("pdoc")
    command = re.search(r"^python -m pdoc .*? -o docs/api .*?(?=  +#|$)", CONTRIBUTING, re.MULTILINE)[0]
    strict = command.replace("python", "python -W error", 1).replace("docs/api", str(tmp_path))
    result = subprocess.run(strict, shell=True, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    pages = {page.stem: page.read_text() for page in (tmp_path / "gped").rglob("*.html")}
    sections = {name for page in pages.values() for name in re.findall(r'<section id="(\w+)">', page)}
    assert set(gped.__all__) - set(pages) <= sections
    told = [
        text for page in pages.values() for text in re.findall(r'<div class="docstring">(.*?)</div>', page, re.DOTALL)
    ]
    assert not [text for text in told if "Args:" in text]
