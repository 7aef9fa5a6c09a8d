"""A folder of images: to ask a student about, or as data of your own."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from gped.data.decoding import image_files, read_images
from gped.support.suggestions import missing


@dataclass(frozen=True)
class ImageFolder:
    """Images of a folder in one shape, in the order of their paths.

    Args:
        files: Where each came from.
        images: Bytes of shape (count, channels, height, width).
        labels: The class of each, as an index of `classes`; None where the images are not in folders of classes.
        classes: Names of these folders, sorted.
    """

    files: list[Path]
    images: Tensor
    labels: Tensor | None
    classes: tuple[str, ...]


def image_folder(folder: str | os.PathLike[str], shape: tuple[int, ...]) -> ImageFolder:
    """Read all images of a folder, or of the folders in it, one for each class.

    Args:
        folder: Where they are. The path of a single image will do.
        shape: Channels (1 for grey, 3 for colour), height and width. Other images are converted, cut centred to these
            proportions, and resized.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"there are no images at {folder}.{missing(folder)}")
    files = [folder] if folder.is_file() else image_files(folder)
    images = torch.from_numpy(read_images(files, shape))
    inside = [file.relative_to(folder).parts[:-1] for file in files]
    if any(len(parts) != 1 for parts in inside):
        return ImageFolder(files, images, None, ())
    names = [name for (name,) in inside]
    classes = sorted(set(names))
    return ImageFolder(files, images, torch.tensor([classes.index(name) for name in names]), tuple(classes))
