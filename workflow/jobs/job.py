"""A job: its arguments, its log, and errors that a person can mend told in a sentence."""

import argparse
import contextlib
import errno
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gped.support.files import NotWrittenError

log = logging.getLogger("gped")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
BESIDE = "GPED_BESIDE_THE_LOG"
"""Of the environment: the number of a file that is open and goes where Snakemake speaks, while a job's output is its
log."""


def arguments(description: str | None, *names: str) -> argparse.Namespace:
    """Parse a job's arguments.

    Args:
        description: Of the job.
        names: Of the arguments; one that ends in "=" takes pairs such as test=path, one that ends in "+" a list.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in names:
        if name.endswith("="):
            parser.add_argument(f"--{name[:-1]}", nargs="*", default=[], type=_pair)
        else:
            parser.add_argument(f"--{name.rstrip('+')}", nargs="+" if name.endswith("+") else None, required=True)
    return parser.parse_args()


def by_cell(paths: Iterable[str]) -> dict[str, list[str]]:
    """Files below cells/, by the path of their cell."""
    cells: dict[str, list[str]] = {}
    for path in paths:
        model, cell = path.rpartition("/cells/")[2].split("/")[:2]
        cells.setdefault(f"{model}/{cell}", []).append(path)
    return cells


def go_on_in(path: str) -> None:
    """Let this be the log from here on: every cell has one of its own, also where several share a job."""
    sys.stdout.flush()
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in (1, 2):
        os.dup2(file, number)
    os.close(file)


def read_settings(path: str | Path) -> dict[str, Any]:
    """All that a job needs to know, from the file that Snakemake writes when a run starts."""
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"the settings {path} cannot be read ({error}). Run the same command again.") from error


def _pair(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    return name, path


def run(main: Callable[[], None]) -> None:
    """Run a job with its log on standard error; an error that a person can mend is one sentence, not a trace."""
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    log.setLevel(logging.INFO)  # ours alone: libraries tell more than anybody wants to know
    try:
        main()
    except (ValueError, RuntimeError, OSError, MemoryError) as error:
        log.debug("", exc_info=True)
        text = f"{type(error).__name__}: {error}{_remedy(error)}"
        if isinstance(error, OSError) and error.errno in FULL:
            _tell_beside_the_log(text)
        sys.exit(text)
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)  # at once: all is written, and to take torch down in good order takes half a second


def _tell_beside_the_log(text: str) -> None:
    """Say what the log may have no room for, because it is on the same disk."""
    with contextlib.suppress(OSError, ValueError):
        os.write(int(os.environ.get(BESIDE, "")), f"{text}\n".encode())


def _remedy(error: Exception) -> str:
    """What to do about an error that the machine makes, not the configuration."""
    if isinstance(error, NotWrittenError):  # says it itself
        return ""
    if isinstance(error, OSError) and error.errno in FULL:
        return ". Make room, then run the same command again: it goes on from where it was."
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ". Let the folder be written to, then run the same command again."
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "out of memory" in str(error):
        return (
            " There is too little memory: lower students_per_job, or give the job more (mem_mb), then run the same "
            "command again: it goes on from where it was."
        )
    return ""
