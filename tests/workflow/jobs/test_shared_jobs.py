"""Cells that share a job: each has its files, its log and its checkpoint, as if it were alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gped.data.images import ImageSet
from tests.helpers import ENVIRONMENT, ROOT, configuration
from workflow.experiments.paths import Jobs
from workflow.experiments.plan import Plan

pytestmark = pytest.mark.slow
STEPS = 600  # long enough to be told to stop in the middle
CELLS = ["fcnn-MNIST5k/n100-m0-s7", "fcnn-MNIST5k/n100-m15-s7"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory) -> Iterator[Plan]:
    """A folder with random images, and the settings of two cells that differ in their masks."""
    config = configuration("tiny") | {"experiments": [2], "ablations": []}
    config["models"] = {"fcnn_mnist": config["models"]["fcnn_mnist"] | {"train_sizes": [100, 200]}}
    config["models"]["fcnn_mnist"]["chain"] |= {"steps": STEPS, "burn_in": STEPS - 80, "batch_size": 5}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path_factory.mktemp("shared"))
        plan = Plan(config)
        plan.write()
        generator = np.random.default_rng(0)
        for split, count in (("train", 200), ("test", 20)):
            pixels = generator.integers(0, 256, (count, 1, 28, 28), np.uint8)
            ImageSet("MNIST5k", pixels, np.arange(count) % 10, "random").save(plan.paths.images("MNIST5k", split))
        yield plan


@pytest.fixture(scope="module")
def together(plan) -> dict[str, bytes]:
    """What two cells make that share their jobs."""
    run(plan, "teacher", CELLS)
    run(plan, "students", CELLS)
    return made(plan)


@pytest.fixture(autouse=True)
def nothing_made(plan, together) -> None:
    """Each test begins without it, and without logs."""
    for folder in ("cells", "logs"):
        for path in Path(plan.paths.run, folder).rglob("*.*"):
            path.unlink()


def start(plan: Plan, script: str, cells: list[str]) -> subprocess.Popen[bytes]:
    """A job as its rule starts it."""
    paths, files, logs = plan.paths, [], []
    for cell in cells:
        if script == "teacher":
            files, logs = files + paths.chain_files(cell), [*logs, paths.log(Jobs.teacher(cell))]
        else:
            students = plan.matrix.students(plan.cells[cell])
            files += [file for student in students for file in paths.student_files(cell, student.slug)]
            logs.append(paths.log(Jobs.student(cell, students[0].slug)))
    for path in map(Path, (*files, *logs)):
        path.parent.mkdir(parents=True, exist_ok=True)
    told = ["--settings", f"{paths.run}/settings", "--checkpoints", f"{paths.run}/checkpoints"]
    told += ["--sets", *(f"{split}={paths.images('MNIST5k', split)}" for split in ("train", "test"))]
    told += ["--readings", *map(paths.readings, cells)] if script == "students" else []
    command = [sys.executable, "-m", f"workflow.scripts.{script}", *told, "--output", *files, "--logs", *logs]
    environment = ENVIRONMENT | {"PYTHONPATH": str(ROOT), "GPED_CHECKPOINT_SECONDS": "0.05"}
    return subprocess.Popen(command, env=environment)


def run(plan: Plan, script: str, cells: list[str]) -> None:
    assert start(plan, script, cells).wait(600) == 0


def made(plan: Plan) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(plan.paths.run, "cells").rglob("*.*")}


def test_chains_and_students_of_cells_that_share_a_job_have_the_bytes_of_those_alone(plan, together):
    assert len(together) == 2 * (2 + 4 * 2) == len(set(together.values()))
    for cell in CELLS:
        run(plan, "teacher", [cell])
        run(plan, "students", [cell])
    assert made(plan) == together


def test_a_job_that_is_stopped_in_its_second_cell_loses_nothing_of_the_first(plan, together):
    process = start(plan, "teacher", CELLS)
    checkpoints = [Path(plan.paths.checkpoints(Jobs.teacher(cell))) for cell in CELLS]
    until = time.monotonic() + 300
    while not list(checkpoints[1].glob("*/step-*")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(60) != 0
    first, second = (Path(plan.paths.log(Jobs.teacher(cell))) for cell in CELLS)
    assert f"chain: steps 1 to {STEPS} in" in first.read_text() and "told to stop" not in first.read_text()
    assert "told to stop by SIGTERM" in second.read_text()
    for path in made(plan):  # as Snakemake does with what a failed job leaves
        Path(path).unlink()
    run(plan, "teacher", CELLS)
    assert made(plan).items() <= together.items() and len(made(plan)) == 4
    resumed = [int(log.read_text().partition("resumed from step ")[2].split()[0]) for log in (first, second)]
    assert resumed[0] >= 0.8 * STEPS and resumed[1] > 0
    assert not list(Path(plan.paths.run, "checkpoints").rglob("step-*"))
