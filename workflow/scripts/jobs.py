"""What the jobs share: their arguments, their logs, and files that appear only when they are complete."""

import argparse
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


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
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    try:
        main()
    except (ValueError, RuntimeError, OSError) as error:
        logging.getLogger("gped").debug("", exc_info=True)
        sys.exit(f"{type(error).__name__}: {error}")


def save_arrays(path: str, arrays: dict[str, Any]) -> None:
    """Write an npz file, whole or not at all."""
    part = Path(f"{path}.part")
    with part.open("wb") as file:
        np.savez(file, **arrays)
    part.replace(path)


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read an npz file."""
    with path.open("rb") as content, np.load(content, allow_pickle=False) as file:
        return dict(file)


def save_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    part = Path(f"{path}.part")
    part.write_text(text)
    part.replace(path)
