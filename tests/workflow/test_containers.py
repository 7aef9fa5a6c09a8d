"""Jobs in an environment of their own: conda's, or a container."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.helpers import ROOT, copy_of_the_project, tiny

pytestmark = pytest.mark.slow
IMAGE = Path(os.environ.get("GPED_IMAGE", ROOT / "envs/gped.sif"))  # as envs/Dockerfile says, or a folder


def test_every_rule_that_runs_something_has_an_environment_and_a_container(project):
    (project / "told.smk").write_text(
        'include: "Snakefile"\n\n'
        "for each in workflow.rules:\n"
        "    if not each.norun:\n"
        "        print('told', each.name, Path(str(each.conda_env)).name, each.container_img)\n"
    )
    result = tiny(project, "--list-rules", "--snakefile", "told.smk")
    assert result.returncode == 0, result.stdout[-3000:]
    told = re.findall(r"^told (\w+) (\S+) (\S+)$", result.stdout, re.MULTILINE)
    assert {"data", "teacher", "draw", "report", "crate"} <= {name for name, _, _ in told}
    assert {environment for _, environment, _ in told} == {"torch.yaml", "tables.yaml", "environment.yaml"}
    assert {image for _, _, image in told} == {"envs/gped.sif"}


@pytest.mark.parametrize("method", ["apptainer", "conda"])
def test_jobs_run_in_an_environment_that_snakemake_gives_them(method, finished_project, tmp_path):
    """Images come from one of the small environments, and a figure from the other; neither finds our own Python."""
    if not (shutil.which(method) or (method == "apptainer" and shutil.which("singularity"))):
        pytest.skip(f"there is no {method}")
    if method == "apptainer" and not IMAGE.exists():
        pytest.skip(f"there is no image {IMAGE}: envs/Dockerfile tells how to make one")
    project = copy_of_the_project(tmp_path / "project")
    result = tiny(project, "masking", "--config", "run=inside", f"container={IMAGE}", "--sdm", method)
    assert result.returncode == 0, result.stdout[-3000:]
    said = {"apptainer": "Activating singularity image", "conda": "Activating conda environment"}[method]
    assert result.stdout.count(said) == 2
    made, expected = (folder / "results" for folder in (project, finished_project))
    for name in ("data/MNIST5k-test.npz", "figures/masking.png"):
        assert (made / "inside" / name).read_bytes() == (expected / "tiny" / name).read_bytes()
