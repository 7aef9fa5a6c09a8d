"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NotWrittenError(OSError):
    """A file could not be written. What was there before is still there."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside the given one, which takes its place if all goes well, and is deleted if not."""
    path = Path(path)
    with writing(path, "Nothing was changed"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            part = Path(folder) / path.name
            yield part
            part.replace(path)


@contextmanager
def writing(path: Path, what_is_left: str) -> Iterator[None]:
    """Name the file in what the system says if it cannot be written.

    Args:
        path: The file.
        what_is_left: A word on it, such as "Nothing was changed".
    """
    try:
        yield
    except NotWrittenError:
        raise
    except OSError as error:
        refused = NotWrittenError(
            f"cannot write {path}: {error.strerror or error}. {what_is_left}; make room or choose another folder, and "
            "run again."
        )
        refused.errno = error.errno
        raise refused from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file."""
    with replacing(path) as part:
        part.write_text(text)
