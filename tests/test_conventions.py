"""What others expect of a repository: runners, the catalog of workflows, a container."""

import re
from fnmatch import fnmatch
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

from tests.helpers import ROOT
from tests.test_documents import PROJECT


def test_githubs_runners_run_the_tests_as_everybody_does():
    steps = yaml.safe_load((ROOT / ".github/workflows/tests.yaml").read_text())["jobs"]["tests"]
    assert [step["run"] for step in steps["steps"] if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
    oldest = SpecifierSet(PROJECT["requires-python"])
    assert all(f"{version}.99" in oldest for version in steps["strategy"]["matrix"]["python"])


def test_the_catalog_is_told_a_target_that_there_is_and_the_ways_to_deploy_that_are_tested():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert f"rule {usage['mandatory-flags']['flags']}:" in rules
    tested = re.search(r'parametrize\("method", \[(.*?)\]\)', (ROOT / "tests/workflow/test_containers.py").read_text())[
        1
    ]
    assert {f'"{method}"' for method in usage["software-stack-deployment"]} == set(tested.split(", "))
    assert usage["report"] is True


def test_the_container_is_made_of_files_that_there_are_in_the_pinned_versions():
    recipe = (ROOT / "envs/Dockerfile").read_text()
    python = re.search(r"^FROM python:([\d.]+)-", recipe, re.MULTILINE)[1]
    assert f"python={python}" in (ROOT / "envs/environment.yaml").read_text()
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", recipe, re.MULTILINE) for name in line.split()]
    assert copied and [name for name in copied if not (ROOT / name).exists()] == []
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = [line[1:] for line in lines if line.startswith("!")]
    assert sorted(sent) == sorted(copied) and "*" in lines
    assert not any(fnmatch(name, line) for name in copied for line in lines if line not in ("*", f"!{name}"))
    assert re.search(r"pip install .*-c envs/constraints\.txt '\.\[workflow\]'", recipe)
    needed = [PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml"]  # to build the package
    assert set(map(Path, needed)) <= set(map(Path, copied))


def test_what_the_recipe_tells_to_do_leads_to_the_image_that_the_configuration_names():
    recipe = (ROOT / "envs/Dockerfile").read_text()
    image = yaml.safe_load((ROOT / "config.yaml").read_text())["container"]
    assert f"apptainer build {image} docker-daemon://gped:latest" in recipe and "-t gped" in recipe
    assert f"/{image}" in (ROOT / ".gitignore").read_text().splitlines()
