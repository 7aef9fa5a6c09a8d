"""What the jobs share: their arguments, their logs, and files that appear only when they are complete."""

import argparse
import errno
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

PUBLISHED = Path(__file__).parent.parent / "published"  # the paper's numbers

log = logging.getLogger("gped")


def arguments(description: str | None, *names: str) -> argparse.Namespace:
    """Parse a job's arguments: a name that ends in "=" takes pairs such as test=path, one in "+" a list."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in names:
        flag = f"--{name.rstrip('=+')}"
        if name.endswith("="):
            parser.add_argument(flag, nargs="*", default=[], type=_pair)
        elif name.endswith("+"):
            parser.add_argument(flag, nargs="*", default=[])
        elif name == "settings":
            parser.add_argument(flag, type=json.loads, required=True)
        else:
            parser.add_argument(flag, required=True)
    return parser.parse_args()


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
        sys.exit(f"{type(error).__name__}: {error}{_remedy(error)}")
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)  # at once: all is written, and to take torch down in good order takes half a second


def _remedy(error: Exception) -> str:
    """What to do about an error that the machine makes, not the configuration."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ". Make room, then run the same command again: it goes on from where it was."
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ". Let the folder be written to, then run the same command again."
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "out of memory" in str(error):
        return (
            " There is too little memory: lower students_per_job, or give the job more (mem_mb), then run the same "
            "command again: it goes on from where it was."
        )
    return ""


def save_arrays(path: str, arrays: dict[str, Any]) -> None:
    """Write an npz file, whole or not at all."""
    part = Path(f"{path}.part")
    with part.open("wb") as file:
        np.savez(file, **arrays)
    part.replace(path)


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read an npz file."""
    try:
        with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
            return dict(file)
    except (ValueError, EOFError, BadZipFile, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged ({error}). Delete it and run the same command again.") from error


def save_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    part = Path(f"{path}.part")
    part.write_text(text)
    part.replace(path)
