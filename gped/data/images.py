"""A set of images as arrays, and its compact file."""

import os
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gped.support.files import replacing


class DataError(RuntimeError):
    """Data that is missing, damaged or not what it should be. The message names the file and the remedy."""


def true_name(name: str, unofficial: Collection[str]) -> str:
    """What an official set is called in files and tables: otherwise, if its files are not the official ones."""
    return f"{name} (unofficial)" if name in unofficial else name


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels.

    Args:
        name: What the set is truly called.
        images: Bytes of shape (count, channels, height, width).
        labels: A class for each image, from 0.
        source: What it was made from: each file with its checksum, or how it was generated.
        class_names: Of the classes, in the order of their labels; empty if they have none.
    """

    name: str
    images: np.ndarray
    labels: np.ndarray
    source: str
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.images.dtype != np.uint8 or self.images.ndim != 4:
            raise DataError(
                f"{self.name}: images are {self.images.dtype} of shape {self.images.shape}, but must be bytes of shape "
                "(count, channels, height, width)."
            )
        if self.labels.shape != (len(self.images),):
            raise DataError(
                f"{self.name}: there are {len(self.images)} images but labels of shape {self.labels.shape}."
            )

    def __len__(self) -> int:
        return len(self.images)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1

    def save(self, path: str | os.PathLike[str], **notes: str) -> None:
        """Write the set, and any notes beside it, uncompressed so that it loads at the speed of the disk."""
        texts: dict[str, Any] = {
            "name": self.name,
            "source": self.source,
            "class_names": np.array(self.class_names, str),
            **notes,
        }
        with replacing(path) as part, part.open("wb") as file:
            np.savez(file, images=self.images, labels=self.labels, **texts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ImageSet":
        """Read a set written by `save`."""
        try:
            with Path(path).open("rb") as content, np.load(content, allow_pickle=False) as file:
                names = tuple(file["class_names"].tolist())
                return cls(str(file["name"]), file["images"], file["labels"], str(file["source"]), names)
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{path} is damaged or not a set of images ({error}). Move it away and run again."
            ) from error
