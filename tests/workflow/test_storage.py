"""A cluster whose nodes share no files, neither with each other nor with Snakemake: all goes through storage."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers import copy_of_the_project, files_in, tiny

pytestmark = pytest.mark.slow
SUBMIT = """#!/usr/bin/env bash
# Runs a job in an empty folder, which is all that a node has, and tells which.
node=$(mktemp -d "$(dirname "$0")/node.XXXXXX")
cp "$1" "$node/job.sh"
cd "$node"
setsid bash -c 'bash job.sh > log 2>&1; echo $? > code' > /dev/null 2>&1 &
echo "$node"
"""
STATUS = """#!/usr/bin/env bash
case "$(cat "$1/code" 2> /dev/null)" in
    "") echo running ;;
    0) echo success ;;
    *) echo failed ;;
esac
"""
CELL = "cells/cnn-MNIST5k/n100-m0-s7"


@pytest.fixture
def cluster(tmp_path) -> tuple[str, ...]:
    """What tells Snakemake of a cluster, and of a folder in the place of a bucket."""
    pytest.importorskip("snakemake_storage_plugin_fs", reason="there is no storage plugin for a folder")
    for command in ("rsync", "git"):
        if shutil.which(command) is None:
            pytest.skip(f"there is no {command}, which Snakemake needs to hand files around")
    for name, content in {"submit": SUBMIT, "status": STATUS}.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    executor = ("--executor", "cluster-generic", "--jobs", "2", "--seconds-between-status-checks", "1")
    commands = (
        "--cluster-generic-submit-cmd",
        f"{tmp_path}/submit",
        "--cluster-generic-status-cmd",
        f"{tmp_path}/status",
    )
    nothing = ("--shared-fs-usage", "none", "--job-deploy-sources")
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", f"{tmp_path}/bucket")
    return (*executor, *commands, *nothing, *storage)


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A project under git, by which Snakemake knows what a job's sources are."""
    project = copy_of_the_project(tmp_path / "project")
    (project / ".gitignore").write_text("/results/\n/data/\n/.snakemake/\n__pycache__/\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", project, *command], check=True)
    return project


def test_a_cluster_without_shared_files_makes_the_same_bytes(cluster, checkout, finished_project, tmp_path):
    result = tiny(checkout, "robustness_cnn_mnist", "--config", "run=far", *cluster)
    logs = "\n".join(path.read_text() for path in tmp_path.glob("node.*/log"))
    assert result.returncode == 0, result.stdout[-3000:] + logs[-3000:]
    assert len(list(tmp_path.glob("node.*"))) == 2  # the chain, and its students
    kept, expected = tmp_path / "bucket/results/far", finished_project / "results/tiny"
    assert not (checkout / "results/far/cells").exists()
    made = [name for name in files_in(kept) if name.startswith(("cells/", "tables/", "figures/"))]
    assert f"{CELL}/readings.bin" in made and f"{CELL}/students/predictive-us-h8-k1x1.safetensors" in made
    assert {"tables/estimators_cnn_mnist.csv", "figures/robustness_cnn_mnist.png"} <= set(made)
    assert [name for name in made if (kept / name).read_bytes() != (expected / name).read_bytes()] == []
    again = tiny(checkout, "-n", "robustness_cnn_mnist", "--config", "run=far", *cluster)
    assert "Nothing to be done" in again.stdout
