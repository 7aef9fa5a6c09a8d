"""A folder of images: to ask a student about, or as data of your own."""

import logging
import os
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from gped.data.decoding import image_files, read_images
from gped.data.images import DataError
from gped.support.suggestions import missing

log = logging.getLogger("gped")


@dataclass(frozen=True)
class ImageFolder:
    """Images of a folder in one shape, in the order of their paths.

    Args:
        files: Where each came from.
        images: Bytes of shape (count, channels, height, width).
        labels: The class of each, as an index of `classes`; None where the images are not in folders of classes.
        classes: Names of these folders, sorted.
        refused: Files that could not be read and are left out, with what is wrong with each.
    """

    files: list[Path]
    images: Tensor
    labels: Tensor | None
    classes: tuple[str, ...]
    refused: dict[Path, str] = field(default_factory=dict)


def image_folder(folder: str | os.PathLike[str], shape: tuple[int, ...]) -> ImageFolder:
    """Read all images of a folder, or of the folders in it, one for each class.

    An image that cannot be read is reported and left out; a folder that cannot be read is an error.

    Args:
        folder: Where they are. The path of a single image will do.
        shape: Channels (1 for grey, 3 for colour), height and width. Other images are converted, cut centred to these
            proportions, and resized.
    """
    folder = Path(folder)
    found, refused = files_at(folder), dict[Path, str]()
    images = torch.from_numpy(read_images(found, shape, refused))
    report(refused, len(images))
    files = [file for file in found if file not in refused]
    inside = [file.relative_to(folder).parts[:-1] for file in files]
    if any(len(parts) != 1 for parts in inside):
        return ImageFolder(files, images, None, (), refused)
    names = [name for (name,) in inside]
    classes = sorted(set(names))
    labels = torch.tensor([classes.index(name) for name in names])
    return ImageFolder(files, images, labels, tuple(classes), refused)


def files_at(path: Path) -> list[Path]:
    """The images of a folder, or the one that the path is."""
    if not path.exists():
        raise FileNotFoundError(f"there are no images at {path}.{missing(path)}")
    return image_files(path) if path.is_dir() else [path]


def report(refused: dict[Path, str], left: int) -> None:
    """Warn of images that were left out; an error if none is left."""
    if not left:
        first, *more = refused.values()
        raise DataError(f"{first} The same goes for {len(more)} more: nothing is left." if more else first)
    for sentence in refused.values():
        log.warning("left out: %s", sentence)
