"""A tiny run of the whole workflow, which takes minutes and is made once for all tests."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from tests.helpers import copy_of_the_project, tiny


@pytest.fixture(scope="session")
def finished_project(tmp_path_factory) -> Path:
    """A project in which everything was run once, by whichever process of the tests came first. Not to be changed."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "finished", shared / "finished.done"
    with (shared / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            result = tiny(copy_of_the_project(folder), "all_tables")
            assert result.returncode == 0, result.stdout[-5000:]
            done.touch()
    return folder


def copied(project: Path, folder: Path) -> Path:
    """With the times of its files."""
    return Path(shutil.copytree(project, folder, symlinks=True))


@pytest.fixture(scope="module")
def project(finished_project, tmp_path_factory) -> Path:
    """A copy of the finished project for tests that leave its results as they are."""
    return copied(finished_project, tmp_path_factory.mktemp("project") / "project")


@pytest.fixture
def changed(finished_project, tmp_path) -> Path:
    """A copy of the finished project to be changed."""
    return copied(finished_project, tmp_path / "project")
