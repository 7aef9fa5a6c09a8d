"""gped status tells from a run's files how far it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from test_matrix import configuration

from gped.matrix import Matrix
from gped.status import jobs, status


@pytest.fixture
def run(tmp_path) -> Path:
    """A run of the default configuration in which nothing has happened yet."""
    folder = tmp_path / "results/demo"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(configuration()))
    return folder


def touch(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_run_is_done_when_all_its_files_are_there(run):
    assert status(run) == f"{run}: 0 % of the work done; 0 of 51 chains, 0 of 300 students"
    for job in jobs(run, Matrix(configuration())):
        for path in job.outputs:
            touch(path)
    assert status(run) == f"{run}: 100 % of the work done; 51 of 51 chains, 300 of 300 students"


def test_a_running_job_shows_its_newest_line_and_counts_by_its_step(run):
    first = next(jobs(run, Matrix(configuration())))
    assert first.name.endswith(" chain")
    touch(first.log, "12:00:00 resumed from step 20\n")
    assert f"{first.name}: started" in status(run)
    line = "chain: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31"
    touch(first.log, f"12:00:00 chain: step 20 of 700 (3 %), 80 a second\n12:00:30 {line}\n")
    assert f"{first.name}: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31" in status(run)
    assert first.share == pytest.approx(350 / first.steps)
    touch(first.log, "12:00:00 chain: steps 1 to 700 in 0:00:09, loss 0.3\n")
    assert "all steps made, writing results" in status(run)


def test_a_job_that_has_long_been_silent_is_told(run):
    first = next(jobs(run, Matrix(configuration())))
    touch(first.log, "12:00:30 chain: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31\n")
    os.utime(first.log, (0, 0))
    assert "silent for" in status(run)


def test_a_folder_that_is_no_run_gets_a_sentence_with_those_that_are(run):
    command = [sys.executable, "-m", "gped.command", "status", str(run.parent / "dem0")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.strip().endswith(f"is not the folder of a run: it has no config.yaml. Did you mean {run}?")
    good = subprocess.run([*command[:-1], str(run)], capture_output=True, text=True)
    assert "0 of 51 chains" in good.stdout
