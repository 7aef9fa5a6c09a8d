"""A set of images as arrays, and its compact file."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gped.progress import progress

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"})


class DataError(RuntimeError):
    """Data that is missing, damaged or not what it should be. The message names the file and the remedy."""


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels.

    Args:
        name: What the set is truly called.
        images: Bytes of shape (count, channels, height, width).
        labels: A class for each image, from 0.
        source: What it was made from: each file with its checksum, or how it was generated.
    """

    name: str
    images: np.ndarray
    labels: np.ndarray
    source: str

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set, uncompressed so that it loads at the speed of the disk."""
        with replacing(Path(path)) as part, part.open("wb") as file:
            np.savez(file, images=self.images, labels=self.labels, name=self.name, source=self.source)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ImageSet":
        """Read a set written by `save`."""
        try:
            with Path(path).open("rb") as content, np.load(content, allow_pickle=False) as file:
                return cls(str(file["name"]), file["images"], file["labels"], str(file["source"]))
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is damaged or not a set of images ({error}). Delete it and run again.") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside the given one, which takes its place if all goes well, and is deleted if not."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            part = Path(folder) / path.name
            yield part
            part.replace(path)
    except OSError as error:
        raise DataError(
            f"cannot write {path}: {error.strerror or error}. Nothing was changed; make room or choose another folder, "
            "and run again."
        ) from error


def image_files(folder: Path) -> list[Path]:
    """All images in a folder and its folders, sorted."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES and not any(name.startswith(".") for name in path.relative_to(folder).parts)
    )
    if not files:
        raise DataError(f"{folder} has no images: no file ends in {', '.join(sorted(SUFFIXES))}.")
    return files


def read_images(files: list[Path], shape: tuple[int, ...]) -> np.ndarray:
    """Decode images, cut them centred to the wanted proportions, and resize them with antialiasing.

    Args:
        files: What to read.
        shape: Channels (1 for grey, 3 for colour), height and width.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise DataError("reading images needs Pillow: pip install 'gped[data]'.") from error
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise DataError(f"images have 1 or 3 channels, a height and a width; the shape {shape} was asked for.")
    channels, height, width = shape
    decoded = np.empty((len(files), *shape), np.uint8)
    for number, file in enumerate(progress(files, f"decoding {files[0].parent.name}", len(files), "image")):
        try:
            with Image.open(file) as stored:
                if stored.mode[0] in "IF":  # 16 or 32 bits a pixel, which Pillow would cut off at 255
                    raise DataError(f"{file} has pixels of more than 8 bits ({stored.mode}). Convert it to 8 bits.")
                image = stored.convert("L" if channels == 1 else "RGB")
        except (OSError, SyntaxError) as error:  # Pillow's errors are of these kinds
            raise DataError(f"{file} cannot be decoded as an image ({error}). Replace or delete it.") from error
        if image.size != (width, height):
            image = ImageOps.fit(image, (width, height), Image.Resampling.BICUBIC)
        decoded[number] = np.asarray(image).reshape(height, width, channels).transpose(2, 0, 1)
    return decoded
