"""The package as a whole: its style, its types, its start-up, its versions."""

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires

import pytest
import yaml
from packaging.requirements import Requirement

from gped.support import codehash
from tests.helpers import ROOT

WITH_TORCH, WITHOUT_TORCH = (
    ("data", "ensemble", "latency", "network", "students", "teacher"),
    ("bdk", "claims", "compare", "crate", "draw", "measure", "summarise"),
)


def run(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, **options)


@pytest.mark.parametrize("command", [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)], ids=" ".join)
def test_style_and_types_are_clean(command):
    result = run("-m", *command)
    assert result.returncode == 0, result.stdout + result.stderr


def test_metrics_costs_and_uncertainties_need_no_torch():
    code = (
        "import sys, gped; gped.metrics.nll; gped.uncertainty.entropy; gped.cost.parameters(gped.FCNN_MNIST, 10)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert run("-c", code).returncode == 0


def test_every_public_name_can_be_imported():
    code = "import gped\nfor name in gped.__all__: getattr(gped, name)"
    result = run("-c", code)
    assert result.returncode == 0, result.stderr


# Versions and environments


def pinned() -> list[str]:
    return [line for line in (ROOT / "envs/constraints.txt").read_text().splitlines() if "==" in line]


def packages(environment: str) -> list[str]:
    """What a conda environment installs by pip."""
    parts = yaml.safe_load((ROOT / f"envs/{environment}.yaml").read_text())["dependencies"]
    (listed,) = (entry["pip"] for entry in parts if isinstance(entry, dict))
    assert parts[0] == "python=3.11"
    return listed


def test_the_conda_environment_has_the_versions_of_the_constraints():
    assert packages("environment") == pinned()
    assert {"torch==2.13.0", "torchvision==0.28.0"} <= set(pinned())


@pytest.mark.parametrize("environment", ["torch", "tables"])
def test_the_small_conda_environments_have_the_versions_of_the_constraints(environment):
    listed = packages(environment)
    assert len(set(listed)) == len(listed) >= 7
    assert set(listed) <= set(pinned())
    assert ("torch==2.13.0" in listed) == (environment == "torch")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_with(listed: list[str]) -> set[str]:
    """Names of the packages of an environment, and of all that they need."""
    found, waiting = set[str](), [line.split("==")[0] for line in listed]
    while waiting:
        name = plain(waiting.pop())
        if name not in found:
            found.add(name)
            needed = map(Requirement, requires(name) or ())
            waiting += [one.name for one in needed if not one.marker or one.marker.evaluate({"extra": ""})]
    return found


def imported_by(script: str) -> set[str]:
    """The packages of others that a script imports, itself or by modules of ours, anywhere in them."""
    names = set()
    for tree in codehash.modules(ROOT / f"workflow/scripts/{script}.py").values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(str(node.module))
    ours = {"gped", "workflow", *sys.stdlib_module_names}
    return {name.split(".")[0] for name in names} - ours


@pytest.mark.parametrize(
    ("environment", "script"),
    [*(("torch", script) for script in WITH_TORCH), *(("tables", script) for script in WITHOUT_TORCH)],
)
def test_a_job_imports_nothing_that_its_environment_lacks(environment, script):
    distributions, there = packages_distributions(), installed_with(packages(environment))
    imported = imported_by(script)
    assert imported
    assert {name for name in imported if not there & {plain(one) for one in distributions[name]}} == set()


def test_every_script_is_run_in_one_of_these_environments_and_its_rule_says_which():
    assert sorted((*WITH_TORCH, *WITHOUT_TORCH)) == sorted(
        path.stem for path in (ROOT / "workflow/scripts").glob("*.py")
    )
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for rule in re.split(r"\n(?=\s*rule\b)", path.read_text()):
            for script in re.findall(r"workflow\.scripts\.(\w+)", rule):
                environment = "torch" if script in WITH_TORCH else "tables"
                assert f'"../../envs/{environment}.yaml"' in rule, script


@pytest.mark.parametrize("script", WITHOUT_TORCH)
def test_no_job_of_tables_imports_torch(script):
    code = f"import sys; sys.modules['torch'] = None; import workflow.scripts.{script}"
    result = run("-c", code)
    assert result.returncode == 0, result.stderr


def test_a_job_that_needs_torch_would_fail_that_check():
    assert "torch" in imported_by("teacher") and not any("torch" in imported_by(script) for script in WITHOUT_TORCH)
