"""Checkpoints of jobs: resumed only by what is the same in everything that decides its results."""

import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT
from workflow.jobs.checkpoints import checkpointed


@pytest.fixture(autouse=True)
def script(monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(ROOT / "workflow/scripts/teacher.py")])
    monkeypatch.setenv("GPED_CHECKPOINT_SECONDS", "0")


def folders(path: Path) -> set[str]:
    return {inner.name for inner in path.glob("*/")}


def test_what_is_left_by_a_job_that_fails_is_found_by_the_same_job_alone(tmp_path):
    seen = []
    for decides in ({"steps": 5}, {"steps": 5}, {"steps": 6}):
        with pytest.raises(RuntimeError), checkpointed(tmp_path / "teacher", ["readings"], decides):
            seen.append(folders(tmp_path / "teacher"))
            raise RuntimeError
    assert seen[0] == seen[1] < seen[2]


def test_a_job_that_is_done_leaves_no_checkpoint(tmp_path):
    with checkpointed(tmp_path / "teacher", ["readings"], {"steps": 5}) as checkpoint:
        assert checkpoint is not None
        assert folders(tmp_path / "teacher")
    assert not (tmp_path / "teacher").exists()
