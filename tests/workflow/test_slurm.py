"""The cluster profiles on a real Slurm of one node: a job is cancelled, goes on, and the tables are a local run's."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers import ENVIRONMENT, ROOT, copy_of_the_project

pytestmark = pytest.mark.slow

TEACHER = "results/slice/checkpoints/fcnn-MNIST5k/n1000-m0-s0/teacher"
READINGS = "results/slice/cells/fcnn-MNIST5k/n1000-m0-s0/readings.bin"
TABLE = "estimators_fcnn_mnist"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory) -> dict[str, str]:
    """The environment in which Slurm's commands find the node."""
    if os.geteuid() != 0:
        pytest.skip("a Slurm of one's own needs root")
    missing = [name for name in ("slurmctld", "slurmd", "munged", "sbatch") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not found: install Debian's slurm-wlm and munge")
    base = tmp_path_factory.mktemp("slurm")
    script = ROOT / "tests/one_node_slurm.sh"
    started = subprocess.run([script, "start", base], capture_output=True, text=True)
    if started.returncode:
        pytest.skip(f"Slurm did not start here: {started.stderr.strip()[-300:]}")
    try:
        yield ENVIRONMENT | {
            "SLURM_CONF": str(base / "slurm.conf"),
            "PATH": f"{base / 'bin'}{os.pathsep}{ENVIRONMENT['PATH']}",
            "GPED_CHECKPOINT_SECONDS": "0.2",
        }
    finally:
        subprocess.run([script, "stop", base], check=True)


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory) -> Path:
    """The same slice, run locally."""
    folder = copy_of_the_project(tmp_path_factory.mktemp("local"))
    command = [sys.executable, "-m", "snakemake", "--cores", "2", TABLE, "--configfile", "tests/slice.yaml"]
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, timeout=900)
    return folder


def submit(folder: Path, profile: str, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "snakemake", "--profile", f"profiles/{profile}", *arguments]
    command += ["--latency-wait", "5", "--configfile", "tests/slice.yaml"]
    with (folder / "run.log").open("w") as log:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, text=True)


def wait(process: subprocess.Popen[str], folder: Path) -> None:
    try:
        process.wait(900)
    finally:
        process.kill()
    assert process.returncode == 0, (folder / "run.log").read_text()[-3000:]


def test_a_job_cancelled_on_slurm_resumes_and_the_table_is_that_of_a_local_run(slurm, by_hand, tmp_path):
    folder = copy_of_the_project(tmp_path)
    quick = ["--slurm-init-seconds-before-status-checks", "2", "--config", "students_per_job=4"]
    process = submit(folder, "slurm", slurm, TABLE, *quick)
    while not list(folder.glob(f"{TEACHER}/*/step-*")):
        assert process.poll() is None, (folder / "run.log").read_text()[-3000:]
        time.sleep(0.1)
    jobs = subprocess.run(["squeue", "--noheader", "--format=%i %k"], env=slurm, capture_output=True, text=True).stdout
    (number,) = (line.split()[0] for line in jobs.splitlines() if "fcnn-MNIST5k" in line)
    subprocess.run(["scancel", number], env=slurm, check=True)
    wait(process, folder)

    submitted = re.findall(r"results/slurm/rule_(teacher|students|\w+?)[_/]", (folder / "run.log").read_text())
    assert set(submitted) == {"teacher", "students"}
    log = next(folder.glob("results/slice/logs/fcnn-MNIST5k/*/teacher.log")).read_text()
    assert int(log.split("resumed from step ")[1].split()[0]) > 0
    for name in ("csv", "md", "tex", "html"):
        path = f"results/slice/tables/{TABLE}.{name}"
        assert (folder / path).read_bytes() == (by_hand / path).read_bytes()


def test_any_scheduler_runs_jobs_through_its_own_commands(slurm, by_hand, tmp_path):
    folder = copy_of_the_project(tmp_path)
    wait(submit(folder, "generic", slurm, READINGS), folder)
    assert (folder / READINGS).read_bytes() == (by_hand / READINGS).read_bytes()
    assert list(folder.glob("results/cluster/*.log"))
