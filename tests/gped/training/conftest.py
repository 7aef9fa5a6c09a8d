"""Folders of real digits, as a user would have pictures."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

DIGITS = load_digits()
NAMES = ("nought", "one", "two")


def write_digits(folder: Path, each: int = 40, mode: str = "L") -> Path:
    """So many images of 8×8 pixels for each of three digits, in folders that are named by words."""
    for label, name in enumerate(NAMES):
        (folder / name).mkdir(parents=True)
        for number in np.flatnonzero(DIGITS.target == label)[:each]:
            image = Image.fromarray((DIGITS.images[number] * 255 / 16).astype(np.uint8))
            image.convert(mode).save(folder / name / f"{number}.png")
    return folder


@pytest.fixture
def digits(tmp_path: Path) -> Callable[..., Path]:
    """Writes digits to a folder of this test."""

    def write(name: str = "pictures", **options: object) -> Path:
        return write_digits(tmp_path / name, **options)

    return write


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that nobody changes."""
    return write_digits(tmp_path_factory.mktemp("digits") / "pictures")
