"""The package as a whole: its style, its types, its start-up, its versions."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent


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


def test_the_conda_environment_has_the_versions_of_the_constraints():
    constraints = [line for line in (ROOT / "envs/constraints.txt").read_text().splitlines() if "==" in line]
    environment = yaml.safe_load((ROOT / "envs/environment.yaml").read_text())
    (packages,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert packages == constraints
    assert {"torch==2.13.0", "torchvision==0.28.0"} <= set(constraints)
