"""Files are written whole or not at all."""

import errno
from pathlib import Path

import pytest

from gped.support.files import NotWrittenError, replacing, write_text
from tests.helpers import files_in


@pytest.fixture
def path(tmp_path) -> Path:
    """A file with something in it, alone in its folder."""
    path = tmp_path / "file.txt"
    path.write_text("what was there before")
    return path


def test_what_was_written_takes_the_place_of_the_old_file(path):
    with replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "what was there before"
    assert path.read_text() == "new"
    assert files_in(path.parent) == ["file.txt"] == [entry.name for entry in path.parent.iterdir()]


def test_folders_are_made_on_the_way(tmp_path):
    write_text(tmp_path / "a/b/file.txt", "ζ\n")
    assert (tmp_path / "a/b/file.txt").read_text() == "ζ\n"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left")])
def test_a_writer_that_fails_leaves_the_old_file_and_no_temporary(error, path):
    with pytest.raises((type(error), NotWrittenError)), replacing(path) as part:
        part.write_text("half of the n")
        raise error
    assert path.read_text() == "what was there before"
    assert list(path.parent.iterdir()) == [path]


def test_a_writer_that_fails_leaves_nothing_where_nothing_was(tmp_path):
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file.txt") as part:
        part.write_text("half")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_a_writer_that_writes_nothing_is_told_and_the_old_file_stays(path):
    with pytest.raises(NotWrittenError) as refused, replacing(path):
        pass
    assert refused.value.errno == errno.ENOENT
    assert path.read_text() == "what was there before"
    assert list(path.parent.iterdir()) == [path]


def test_other_errors_than_those_of_the_system_stay_what_they_are(path):
    error = ValueError("the numbers are wrong")
    with pytest.raises(ValueError) as raised, replacing(path):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EACCES, errno.EROFS])
def test_a_file_that_cannot_be_written_is_named_and_keeps_its_errno(number, path):
    cause = OSError(number, "the system says so")
    with pytest.raises(NotWrittenError) as refused, replacing(path):
        raise cause
    assert isinstance(refused.value, OSError)
    assert refused.value.errno == number
    assert refused.value.__cause__ is cause
    assert str(refused.value) == (
        f"cannot write {path}: the system says so. Nothing was changed; make room or choose another folder, and run "
        "again."
    )


def test_a_file_within_another_is_refused_with_the_systems_reason(path):
    with pytest.raises(NotWrittenError, match=r"cannot write .*file\.txt/deep/inside: Not a directory") as refused:
        write_text(path / "deep/inside", "text")
    assert refused.value.errno == errno.ENOTDIR
    assert path.read_text() == "what was there before"


def test_the_innermost_file_is_the_one_that_is_named(path):
    refusal = pytest.raises(NotWrittenError, match=r"cannot write .*inner: full")
    with refusal as refused, replacing(path), replacing(path.parent / "inner"):
        raise OSError(errno.ENOSPC, "full")
    assert refused.value.errno == errno.ENOSPC
    assert list(path.parent.iterdir()) == [path]
