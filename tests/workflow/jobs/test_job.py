"""What every job has: arguments, settings, and errors as sentences."""

import errno
import os
import subprocess
import sys

import pytest

from gped.support.files import NotWrittenError
from tests.helpers import ROOT
from workflow.jobs import job


def test_arguments_are_single_paths_lists_or_pairs(monkeypatch):
    words = ["x", "--settings", "a.json", "--output", "b", "c", "--sets", "train=d=e", "test=f"]
    monkeypatch.setattr(sys, "argv", words)
    given = job.arguments("What it does.", "settings", "output+", "sets=")
    assert (given.settings, given.output) == ("a.json", ["b", "c"])
    assert dict(given.sets) == {"train": "d=e", "test": "f"}


def test_files_are_told_by_the_path_of_their_cell():
    files = ["results/cells/cells/a-B/n1/readings.bin", "results/cells/cells/a-B/n2/students/x.npz"]
    more = "results/cells/cells/a-B/n1/reference.npz"
    assert job.by_cell([*files, more]) == {"a-B/n1": [files[0], more], "a-B/n2": [files[1]]}


@pytest.mark.parametrize("content", [None, "", "{", "[1,"], ids=str)
def test_settings_that_cannot_be_read_are_named_with_the_remedy(content, tmp_path):
    path = tmp_path / "teacher.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"the settings .*teacher\.json cannot be read \(.*Run the same command again"):
        job.read_settings(path)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("the file is damaged"), "ValueError: the file is damaged"),
        (OSError(errno.ENOSPC, "No space left on device"), "Make room, then run the same command again"),
        (OSError(errno.EROFS, "Read-only file system"), "Let the folder be written to"),
        (MemoryError(), "too little memory: lower students_per_job"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "too little memory: lower students_per_job"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_that_a_person_can_mend_is_one_sentence(error, said):
    def fail() -> None:
        raise error

    with pytest.raises(SystemExit, match=said) as ended:
        job.run(fail)
    assert str(ended.value).startswith(type(error).__name__)


def test_a_file_that_was_not_written_says_itself_what_to_do():
    def fail() -> None:
        raise NotWrittenError(errno.ENOSPC, "there is no room. Make some")

    with pytest.raises(SystemExit) as ended:
        job.run(fail)
    assert str(ended.value).count("Make") == 1


def test_a_full_disk_is_also_told_beside_the_log(monkeypatch, tmp_path):
    def fail() -> None:
        raise NotWrittenError(errno.ENOSPC, "cannot write readings: no space left")

    with (tmp_path / "terminal").open("wb") as terminal:
        monkeypatch.setenv(job.BESIDE, str(terminal.fileno()))
        with pytest.raises(SystemExit):
            job.run(fail)
    assert "cannot write readings: no space left" in (tmp_path / "terminal").read_text()


def test_an_error_of_ours_shows_where_it_is():
    def fail() -> None:
        raise KeyError("nobody expected this")

    with pytest.raises(KeyError):
        job.run(fail)


@pytest.mark.slow
def test_a_job_that_is_done_ends_at_once_with_all_that_it_said():
    main = "lambda: (job.log.info('all is well'), print('done'))"
    code = f"from workflow.jobs import job\njob.run({main})\nprint('not here')"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "done\n")
    assert result.stderr.endswith(" all is well\n")
