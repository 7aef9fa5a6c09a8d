"""Named arrays in files, written whole or not at all."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gped.support.files import replacing


def save_arrays(path: str | Path, arrays: dict[str, Any]) -> None:
    """Write an npz file."""
    with replacing(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)


def load_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read an npz file."""
    try:
        with Path(path).open("rb") as content, np.load(content, allow_pickle=False) as file:
            return dict(file)
    except (ValueError, EOFError, BadZipFile, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged ({error}). Move it away and run the same command again.") from error
