"""gped status tells from a run's files how far it is."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from gped.support.status import Job, status, write_jobs

CHAIN = Job("cell chain", "chains", 60, ["cell/readings.bin"], "logs/cell/teacher.log", 700)
STUDENTS = Job("cell a and 2 more", "students", 30, ["cell/a.npz", "cell/b.npz", "cell/c.npz"], "logs/cell/a.log", 700)
ALONE = Job("cell d", "students", 10, ["cell/d.npz"], "logs/cell/d.log", 350)
NOTHING = "0 of 1 chains, 0 of 4 students"


@pytest.fixture
def run(tmp_path) -> Path:
    """A run in which nothing has happened yet."""
    folder = tmp_path / "results/demo"
    write_jobs(folder, [CHAIN, STUDENTS, ALONE])
    return folder


def touch(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_run_is_done_when_all_its_files_are_there(run):
    assert status(run) == f"{run}: 0 % of the work done; {NOTHING}"
    for job in (CHAIN, STUDENTS, ALONE):
        for path in job.outputs:
            touch(run / path)
    assert status(run) == f"{run}: 100 % of the work done; 1 of 1 chains, 4 of 4 students"


def test_things_are_counted_one_by_one_and_work_by_whole_jobs(run):
    touch(run / "cell/a.npz")
    assert status(run) == f"{run}: 0 % of the work done; 0 of 1 chains, 1 of 4 students"
    touch(run / "cell/readings.bin")
    touch(run / "cell/d.npz")
    assert status(run) == f"{run}: 70 % of the work done; 1 of 1 chains, 2 of 4 students"


def test_a_running_job_shows_its_newest_line_and_counts_by_its_step(run):
    log = run / CHAIN.log
    touch(log, "12:00:00 resumed from step 20\n")
    assert status(run).splitlines() == [
        f"{run}: 2 % of the work done; {NOTHING}",
        "  cell chain: resumed from step 20",
    ]
    line = "chain: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31"
    touch(log, f"12:00:00 chain: step 20 of 700 (3 %), 80 a second\n12:00:30 {line}\n")
    assert status(run).splitlines() == [
        f"{run}: 30 % of the work done; {NOTHING}",
        "  cell chain: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31",
    ]
    touch(log, "12:00:00 chain: steps 1 to 700 in 0:00:09, loss 0.3\n")
    assert status(run).splitlines() == [
        f"{run}: 60 % of the work done; {NOTHING}",
        "  cell chain: all steps made, writing results",
    ]


@pytest.mark.parametrize("what", ["distilling", "training"])
def test_students_and_networks_tell_of_their_progress_as_chains_do(run, what):
    touch(run / STUDENTS.log, f"12:00:30 {what}: step 490 of 700 (70 %), 80 a second, 0:00:02 left, loss 0.3 0.4\n")
    first, line = status(run).splitlines()
    assert first == f"{run}: 21 % of the work done; {NOTHING}"
    assert line == "  cell a and 2 more: step 490 of 700 (70 %), 80 a second, 0:00:02 left, loss 0.3 0.4"


def test_no_job_counts_for_more_than_its_work(run):
    touch(run / ALONE.log, "12:00:30 distilling: step 700 of 700 (100 %), 80 a second, 0:00:00 left\n")
    assert status(run).startswith(f"{run}: 10 % of the work done")


def test_a_finished_job_has_no_line(run):
    touch(run / CHAIN.log, "12:00:30 chain: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31\n")
    touch(run / "cell/readings.bin")
    assert status(run) == f"{run}: 60 % of the work done; 1 of 1 chains, 0 of 4 students"


def test_a_job_that_has_long_been_silent_is_told(run):
    touch(run / CHAIN.log, "12:00:30 chain: step 350 of 700 (50 %), 80 a second, 0:00:04 left, loss 0.31\n")
    assert "silent for" not in status(run)
    os.utime(run / CHAIN.log, (0, 0))
    assert "silent for" in status(run)


def test_the_file_of_jobs_is_what_its_description_says(run):
    """Written without the library: a list of objects with the fields of a job."""
    fields = {"name": "n", "kind": "things", "work": 1, "outputs": ["x"], "log": "x.log", "steps": 5}
    (run / "jobs.json").write_text(json.dumps([fields, fields | {"outputs": ["y"], "work": 3}]))
    touch(run / "y")
    assert status(run) == f"{run}: 75 % of the work done; 1 of 2 things"


def test_a_run_without_work_is_done(run):
    write_jobs(run, [])
    assert status(run) == f"{run}: 100 % of the work done"


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({"ended": None}, ""),
        ({"ended": None, "succeeded": True}, ""),  # started anew
        ({"ended": "2026-01-01", "succeeded": True}, "; the run has ended"),
        ({"ended": "2026-01-01", "succeeded": False}, "; the run has ended, but not all went well: see its logs"),
        ({}, ""),
        ([], ""),
    ],
)
def test_a_run_that_has_ended_says_so(run, manifest, told):
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert status(run) == f"{run}: 0 % of the work done; {NOTHING}{told}"


@pytest.mark.parametrize(("host", "told"), [(platform.node(), True), ("elsewhere", False)])
def test_a_run_whose_process_was_killed_has_ended_as_far_as_can_be_seen_from_here(host, told, run):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (run / "manifest.json").write_text(json.dumps({"ended": None, "process": [host, process.pid]}))
        assert "has ended" not in status(run)
        process.kill()
    assert ("the run has ended, but not all went well" in status(run)) == told


def test_watching_ends_with_the_run(run):
    (run / "manifest.json").write_text('{"ended": null, "succeeded": true}')
    command = [sys.executable, "-m", "gped.command", "status", str(run), "--watch", "0.05"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert [watching.stdout.readline() for _ in range(3)] == [f"{run}: 0 % of the work done; {NOTHING}\n"] * 3
        for path in ("cell/readings.bin", "manifest.json"):
            touch(run / path, '{"ended": "2026-01-01", "succeeded": true}')
        lines = watching.stdout.read().splitlines()  # which comes back only when it has ended
        assert watching.wait() == 0
    assert lines[-1] == f"{run}: 60 % of the work done; 1 of 1 chains, 0 of 4 students; the run has ended"


def test_a_folder_that_is_no_run_gets_a_sentence_with_those_that_are(run):
    command = [sys.executable, "-m", "gped.command", "status", str(run.parent / "dem0")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.strip().endswith(f"is not the folder of a run: it has no jobs.json. Did you mean {run}?")
    good = subprocess.run([*command[:-1], str(run)], capture_output=True, text=True)
    assert NOTHING in good.stdout
