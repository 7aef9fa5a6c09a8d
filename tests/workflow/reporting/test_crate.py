"""A run's crate holds its results, says what they were made from, and can be read by others."""

import hashlib
import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rocrate.rocrate import ROCrate

from gped.data.images import ImageSet
from tests.helpers import ROOT, configuration
from workflow.experiments.plan import Plan
from workflow.reporting.crate import crate_of

RESULTS = {
    "tables/exp1.csv": b"a,b\n1,2\n",
    "tables/exp1.md": b"| a |\n",
    "figures/masking.png": b"png",
    "summary.html": b"<p>",
}
MANIFEST = {
    "gped": "1.2.3",
    "commit": "0123abc",
    "clean": False,
    "first_started": "2026-01-01T10:00:00+00:00",
    "python": "3.11.9",
    "platform": "Linux x86_64",
    "processor": "A processor",
    "versions": {"snakemake": "9.9.9"},
}
ENDED = 1_767_268_800  # 2026-01-01T12:00:00 UTC


@pytest.fixture
def crate(tmp_path) -> Path:
    """The crate of a small run."""
    run = tmp_path / "results/demo"
    for name, content in RESULTS.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(content)
        os.utime(run / name, (ENDED - len(name), ENDED - len(name)))
    os.utime(run / "tables/exp1.md", (ENDED, ENDED))
    (run / "config.yaml").write_text("run: demo\n")
    (run / "manifest.json").write_text(json.dumps(MANIFEST))
    for name in ("MNIST5k-train", "MNIST5k-test"):
        images = ImageSet("MNIST5k", np.zeros((3, 1, 2, 2), np.uint8), np.zeros(3, np.int64), f"digits of {name}")
        images.save(run / f"data/{name}.npz")
    settings = Plan(configuration()).packing()
    crate_of(run, settings, {name: run / name for name in RESULTS}, sorted(run.glob("data/*"))).write_zip(
        run / "crate.zip"
    )
    return run / "crate.zip"


def graph_of(crate: Path) -> dict[str, dict[str, Any]]:
    """What the crate says, by identifiers, read without any library for crates."""
    with zipfile.ZipFile(crate) as file:
        told = json.loads(file.read("ro-crate-metadata.json"))
    assert told["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    return {entity["@id"]: entity for entity in told["@graph"]}


def references(value: Any) -> list[str]:
    """Identifiers of all that is referred to."""
    if isinstance(value, dict):
        return [value["@id"]] if set(value) == {"@id"} else [one for part in value.values() for one in references(part)]
    return [one for part in value for one in references(part)] if isinstance(value, list) else []


def test_every_file_is_in_the_crate_and_is_what_the_crate_says_it_is(crate):
    graph = graph_of(crate)
    with zipfile.ZipFile(crate) as file:
        members = {name: file.read(name) for name in file.namelist()}
    own = {"Snakefile": "Snakefile", "LICENSE": "LICENSE", "CITATION.cff": "CITATION.cff"}
    assert set(members) == {*RESULTS, *own, "config.yaml", "manifest.json", "ro-crate-metadata.json"}
    assert {part["@id"] for part in graph["./"]["hasPart"]} == set(members) - {"ro-crate-metadata.json"}
    assert {name: members[name] for name in RESULTS} == RESULTS
    assert {name: members[name] for name in own} == {name: (ROOT / name).read_bytes() for name in own}
    for name in set(members) - {"ro-crate-metadata.json"}:
        told = graph[name]
        assert told["sha256"] == hashlib.sha256(members[name]).hexdigest()
        assert int(told["contentSize"]) == len(members[name])
        assert re.fullmatch(r"(text|image|application)/[\w+.-]+", told["encodingFormat"]) and told["name"]


def test_nothing_is_referred_to_that_is_not_described(crate):
    graph = graph_of(crate)
    missing = {one for entity in graph.values() for one in references(entity)} - set(graph)
    outside = {"https://w3id.org/ro/crate/1.1", "https://doi.org/10.1093/bioinformatics/bts480"}
    assert missing <= outside | {"https://snakemake.readthedocs.io"}


def test_the_crate_says_which_data_the_run_has_read(crate):
    graph = graph_of(crate)
    used = {graph[one]["name"]: graph[one] for one in references(graph["#run"]["object"])}
    assert set(used) == {"Configuration", "MNIST5k-train", "MNIST5k-test"}
    for name in ("MNIST5k-train", "MNIST5k-test"):
        content = (crate.parent / f"data/{name}.npz").read_bytes()
        assert used[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert used[name]["description"] == f"3 images from digits of {name}"


def test_a_reader_of_crates_finds_the_workflow_the_licence_the_paper_and_the_run(crate):
    read = ROCrate(crate)
    root = read.root_dataset
    assert root["name"] == "gped: the run demo" and "not the paper's: a demonstration" in root["description"]
    assert root["license"].id == "https://spdx.org/licenses/MIT"
    assert root["datePublished"] == "2026-01-01T12:00:00+00:00"  # when the last result was made
    workflow = read.mainEntity
    assert workflow.id == "Snakefile" and "ComputationalWorkflow" in workflow.type
    assert (workflow["programmingLanguage"]["name"], workflow["programmingLanguage"]["version"]) == (
        "Snakemake",
        "9.9.9",
    )
    assert workflow["version"] == "1.2.3"
    assert workflow["description"] == "Commit 0123abc, with changes that are not committed"
    cited = re.search(r"title += \{(.*)\},", (ROOT / "README.md").read_text())[1].replace("{", "").replace("}", "")
    assert root["citation"]["name"] == cited
    assert [author["name"] for author in root["citation"]["author"]][::2] == ["Meet P. Vadera", "Benjamin M. Marlin"]
    made = root["mentions"]
    assert made.type == "CreateAction" and made["instrument"].id == "Snakefile"
    assert (made["startTime"], made["endTime"]) == ("2026-01-01T10:00:00+00:00", "2026-01-01T12:00:00+00:00")
    assert {one.id for one in made["result"]} == set(RESULTS)
    assert read.get("tables/exp1.csv")["name"].startswith("Distilling posterior expectations with students of the")
    assert read.get("figures/masking.png")["name"] == "masked images: MNIST5k"
    profiles = {one.id.rsplit("/", 2)[-2] for one in root["conformsTo"]}
    assert profiles == {"process", "workflow", "workflow-ro-crate"}
