"""Kills and faults while the workflow runs: nothing is lost, the message says what to do, a rerun completes."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from tests.helpers import ENVIRONMENT, copy_of_the_project
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import StudentId
from workflow.experiments.paths import Jobs, Paths
from workflow.experiments.settings import training

pytestmark = pytest.mark.slow

CELL = "results/slice/cells/fcnn-MNIST5k/n1000-m0-s0"
STUDENT = f"{CELL}/students/entropy-uo-h1-k1x1.npz"
OTHER_STUDENT = f"{CELL}/students/predictive-us-h1-k1x1.npz"
TABLE = "results/slice/tables/estimators_fcnn_mnist.csv"
LOGS = "results/slice/logs/fcnn-MNIST5k/n1000-m0-s0"
OFTEN = ENVIRONMENT | {"GPED_CHECKPOINT_SECONDS": "0.2"}


def snakemake(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start Snakemake on a slice of the default configuration, in a process group of its own."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", STUDENT, *arguments]
    with (folder / "run.log").open("a") as log:
        return subprocess.Popen(
            [*command, "--configfile", "tests/slice.yaml"],
            cwd=folder,
            env=OFTEN,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def finish(folder: Path, *arguments: str) -> str:
    """Run to the end; everything that was said."""
    process = snakemake(folder, *arguments)
    assert process.wait(600) == 0, (folder / "run.log").read_text()[-3000:]
    return (folder / "run.log").read_text()


def fail(folder: Path, *arguments: str) -> str:
    """The same for a run that must fail, with the logs of its jobs."""
    process = snakemake(folder, *arguments)
    assert process.wait(600) != 0
    return (folder / "run.log").read_text() + "".join(path.read_text() for path in folder.glob(f"{LOGS}/**/*.log"))


def results(folder: Path) -> dict[str, bytes]:
    paths = [folder / CELL / "readings.bin", folder / CELL / "reference.npz", *(folder / CELL).glob("students/*")]
    return {path.name: path.read_bytes() for path in paths}


def job(folder: Path, script: str) -> int | None:
    """The process of a running job."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (path / "cmdline").read_bytes().split(b"\0")
            if f"workflow.scripts.{script}".encode() in arguments and (path / "cwd").resolve() == folder:
                return int(path.name)
    return None


def wait_for_checkpoint(folder: Path, which: str) -> None:
    until = time.monotonic() + 120
    while not list(folder.glob(f"results/slice/checkpoints/*/*/**/{which}*/*/step-*")):
        assert time.monotonic() < until, (folder / "run.log").read_text()[-3000:]
        time.sleep(0.05)


def resumed_steps(folder: Path, which: str) -> list[int]:
    text = "".join(path.read_text() for path in folder.glob(f"{LOGS}/**/{which}*.log"))
    return [int(step) for step in re.findall(r"resumed from step (\d+)", text)]


def text_of(log: Path) -> str:
    """What a log says by now; nothing at the moment when Snakemake has removed it for the job's next attempt."""
    with contextlib.suppress(FileNotFoundError):
        return log.read_text()
    return ""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    folder = copy_of_the_project(tmp_path_factory.mktemp("undisturbed"))
    finish(folder)
    left = (folder / "results/slice/checkpoints").rglob("*")
    assert {path.name for path in left} <= {"fcnn-MNIST5k", "n1000-m0-s0", "students"}  # folders of folders
    return folder


@pytest.fixture
def project(undisturbed, tmp_path) -> Iterator[Path]:
    """A checkout with its data; what still runs in it is ended with the test."""
    folder = copy_of_the_project(tmp_path.resolve())
    shutil.copytree(undisturbed / ".snakemake", folder / ".snakemake")
    shutil.copytree(undisturbed / "results/slice/data", folder / "results/slice/data")
    yield folder
    for script in ("teacher", "students"):
        while number := job(folder, script):
            os.kill(number, signal.SIGKILL)
            time.sleep(0.1)


@pytest.fixture
def finished(undisturbed, project) -> Path:
    """A checkout with the results, whose files have the times of a finished run."""
    shutil.copytree(undisturbed / "results", project / "results", dirs_exist_ok=True)
    return project


# Kills


@pytest.mark.parametrize(("script", "number"), [("teacher", signal.SIGKILL), ("students", signal.SIGTERM)])
def test_a_job_that_is_killed_goes_on_by_itself_where_retries_are_allowed(script, number, project, undisturbed):
    process = snakemake(project, "--retries", "3")
    which = "teacher" if script == "teacher" else "entropy"
    wait_for_checkpoint(project, which)
    os.kill(job(project, script), number)
    assert process.wait(600) == 0, (project / "run.log").read_text()[-3000:]
    assert max(resumed_steps(project, which)) > 0
    assert results(project) == results(undisturbed)


def test_an_interrupted_run_goes_on_with_the_same_command(project, undisturbed):
    """Ctrl-C reaches Snakemake and its jobs at once."""
    process = snakemake(project)
    wait_for_checkpoint(project, "teacher")
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) != 0
    assert "told to stop by SIGINT" in (project / LOGS / "teacher.log").read_text()
    finish(project)
    assert resumed_steps(project, "teacher")
    assert results(project) == results(undisturbed)


def test_a_run_whose_snakemake_was_killed_goes_on_after_unlocking(project, undisturbed):
    process = snakemake(project)
    wait_for_checkpoint(project, "teacher")
    os.killpg(process.pid, signal.SIGKILL)  # Snakemake and the job, as when a machine goes down
    process.wait()
    assert "--unlock" in fail(project)
    finish(project, "--unlock")
    finish(project)
    assert resumed_steps(project, "teacher")
    assert results(project) == results(undisturbed)


def test_a_job_that_outlives_its_snakemake_is_waited_for_and_not_done_twice(project, undisturbed):
    process = snakemake(project)
    wait_for_checkpoint(project, "teacher")
    os.kill(process.pid, signal.SIGKILL)  # Snakemake alone
    process.wait()
    left, log = job(project, "teacher"), project / LOGS / "teacher.log"
    os.kill(left, signal.SIGSTOP)  # it must not be done before the next run meets it
    finish(project, "--unlock")
    process = snakemake(project)
    while "waiting for it to end" not in text_of(log):
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(left, signal.SIGCONT)
    assert process.wait(600) == 0
    assert f"process {left} on" in log.read_text() and "the other process has finished" in log.read_text()
    assert results(project) == results(undisturbed)


# Faults


@contextlib.contextmanager
def disk(folder: Path, options: str) -> Iterator[None]:
    """A disk of its own for a folder."""
    folder.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_ends_the_job_with_a_sentence_and_a_rerun_completes(project, undisturbed):
    cells = project / "results/slice/cells"
    with disk(cells, "size=500k"):
        said = fail(project)
        assert "No space left on device" in said and "make room or choose another folder, and run again" in said
        assert "Traceback" not in said
        subprocess.run(["mount", "-o", "remount,size=1g", cells], check=True)
        finish(project)
        assert resumed_steps(project, "teacher")[0] > 600  # of 1200: only the last seconds were done again
        assert results(project) == results(undisturbed)


def test_a_full_disk_is_told_where_snakemake_speaks_also_when_the_log_is_on_that_disk(project):
    run, kept = project / "results/slice", project / "kept"
    run.rename(kept)
    with disk(run, "size=7m"):  # 5 of which are the images
        shutil.copytree(kept, run, dirs_exist_ok=True)
        fail(project)
        assert (run / "logs/fcnn-MNIST5k/n1000-m0-s0/teacher.log").stat().st_size < 100  # no room for the sentence
    said = (project / "run.log").read_text()
    assert re.search(r"NotWrittenError: cannot write .*readings: No space left on device\. .* make room", said), said
    assert "cannot be written to: None" not in said


def test_a_folder_that_cannot_be_written_to_is_named_before_anything_runs(project):
    with disk(project / "results/slice", "ro"):
        said = fail(project)
    assert "results/slice cannot be written to: Read-only file system" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("file", "how"),
    [
        (STUDENT, "altered"),
        (f"{CELL}/reference.npz", "truncated"),
        (f"{CELL}/readings.bin", "altered"),
        ("results/slice/data/MNIST5k-test.npz", "truncated"),
    ],
)
def test_a_damaged_file_is_named_and_made_again_once_it_is_moved_away(file, how, finished, undisturbed):
    path, times = finished / file, (finished / file).stat()
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[: len(content) // 2]
    else:
        content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    reader = OTHER_STUDENT if file.endswith(("readings.bin", "-test.npz")) else TABLE
    (finished / reader).unlink(missing_ok=True)
    process = snakemake(finished, reader)
    assert process.wait(600) != 0
    said = "".join(log.read_text() for log in finished.glob("results/slice/logs/**/*.log"))
    assert re.search(rf"{re.escape(file)}\b.*(damaged|truncated).*[Mm]ove it away", said), said
    path.unlink()
    finish(finished, reader)
    assert results(finished).items() >= results(undisturbed).items()


def test_a_second_run_in_the_same_folder_is_refused_and_the_first_not_disturbed(project, undisturbed):
    first = snakemake(project)
    wait_for_checkpoint(project, "teacher")
    assert "cannot be locked" in fail(project)
    assert first.wait(600) == 0
    assert results(project) == results(undisturbed)


def test_too_little_memory_is_said_in_a_sentence(finished):
    """A student of a dozen gigabytes, in a process that may have six."""
    matrix, paths = Matrix(yaml.safe_load((finished / "results/slice/config.yaml").read_text())), Paths("results/slice")
    (cell,) = matrix.grid("fcnn_mnist")
    sets = [f"{what}={paths.images(*one)}" for what, one in matrix.sets(cell).items()]
    student = StudentId("predictive", "us", 1, 9999, 1)
    told = finished / paths.settings(Jobs.student(cell.path, student.slug))
    told.write_text(json.dumps({"training": training(matrix, cell, student), "student": asdict(student)}))
    command = [sys.executable, "-m", "workflow.scripts.students", "--readings", f"{CELL}/readings.bin", "--sets", *sets]
    command += ["--settings", "results/slice/settings", "--checkpoints", "checkpoints", "--logs", "said.log"]
    command += ["--output", *paths.student_files(cell.path, student.slug)]
    limited = ["bash", "-c", 'ulimit -v 6000000; exec "$@"', "bash", *command]
    result = subprocess.run(limited, cwd=finished, env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 1
    said = result.stderr + (finished / "said.log").read_text()
    assert "too little memory: lower students_per_job" in said and "Traceback" not in said, said
