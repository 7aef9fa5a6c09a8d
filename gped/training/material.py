"""What teacher and student learn from and are judged by: the images of a folder, some of each class held out."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from gped.data.folder import ImageFolder, files_at, image_folder
from gped.data.sizes import common_size, reduced, size_of
from gped.inputs import Inputs, Scaling
from gped.support.randomness import stream

FEWEST = 5  # images of a class: one is held out
SHARE, MOST = 0.2, 2000  # of all images that are held out, and how many of them are enough
log = logging.getLogger("gped")


class Material(NamedTuple):
    """Images in the form in which networks meet them.

    Args:
        train: D.
        labels: The classes of D.
        unlabelled: D': the images of D, then further ones.
        held_out: What neither teacher nor student learns from.
        truth: The classes of what is held out.
        class_names: Of the classes.
        refused: Files that could not be read.
    """

    train: Inputs
    labels: Tensor
    unlabelled: Inputs
    held_out: Inputs
    truth: Tensor
    class_names: tuple[str, ...]
    refused: list[Path]

    @property
    def digest(self) -> str:
        """Changes with any image, label or name."""
        parts = [inputs.digest for inputs in (self.train, self.unlabelled, self.held_out)]
        parts += [str(self.labels.tolist()), str(self.truth.tolist()), *self.class_names]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def told(self) -> Iterator[str]:
        """What there is, for a person."""
        channels, height, width = self.train.shape
        counts = torch.cat([self.labels, self.truth]).bincount()
        yield (
            f"images: {counts.sum():,} of {len(counts)} classes, {counts.min():,} to {counts.max():,} of each; seen in "
            f"{'grey' if channels == 1 else 'colour'}, {width}×{height} pixels"
        )
        yield f"held out: {len(self.held_out):,} of them, by which the student will be judged"
        if more := len(self.unlabelled) - len(self.train):
            yield f"unlabelled: {more:,} more, of which the student will hear what the ensemble says"


def read_material(folder: Path, size: str | None, unlabelled: Sequence[Path], seed: int) -> Material:
    """Read a folder of classes, and hold some images of each out.

    Args:
        folder: Has a folder for each class.
        size: Of the images, as `size_of` reads it; None for the size that most of them have, unless it is too large.
        unlabelled: Folders of further images for D'.
        seed: Of what is held out.
    """
    found = _in_grey_if_all_are(_labelled(folder, _size(folder, size)))
    assert found.labels is not None
    kept = held_out(found.labels, seed)
    images = found.images[~kept]
    more = [image_folder(path, tuple(images.shape[1:])) for path in unlabelled]
    scaling = _scaling(images)
    return Material(
        train=Inputs(images, scaling),
        labels=found.labels[~kept],
        unlabelled=Inputs(torch.cat([images, *(part.images for part in more)]), scaling),
        held_out=Inputs(found.images[kept], scaling),
        truth=found.labels[kept],
        class_names=found.classes,
        refused=[file for part in (found, *more) for file in part.refused],
    )


def held_out(labels: Tensor, seed: int) -> Tensor:
    """Which images are kept to judge by: the same share of each class, and at least one."""
    share = min(SHARE, MOST / len(labels))
    chosen = torch.zeros(len(labels), dtype=torch.bool)
    generator = stream(seed, "held out")
    for label in labels.unique():
        members = (labels == label).nonzero().flatten()
        drawn = torch.randperm(len(members), generator=generator)[: max(1, round(share * len(members)))]
        chosen[members[drawn]] = True
    return chosen


def _size(folder: Path, asked: str | None) -> tuple[int, int]:
    """Width and height in which the images are looked at."""
    if asked is not None:
        return size_of(asked)
    size = common_size(files_at(folder))
    if reduced(size) != size:
        log.info("most images are of %d×%d pixels and made smaller, %d×%d; see --size", *size, *reduced(size))
    return reduced(size)


def _labelled(folder: Path, size: tuple[int, int]) -> ImageFolder:
    """The images of a folder in colour, with their classes."""
    found = image_folder(folder, (3, size[1], size[0]))
    if found.labels is None:
        astray = next(file for file in found.files if len(file.relative_to(folder).parts) != 2)
        raise ValueError(
            f"the images in {folder} are not labelled: {astray} is not in a folder of its class, as "
            f"{folder / 'cat' / astray.name} would be. Put the images of each class into a folder of its own."
        )
    counts = dict(zip(found.classes, found.labels.bincount().tolist(), strict=True))
    if len(counts) == 1:
        raise ValueError(
            f"all images in {folder} are of one class, {found.classes[0]}: there is nothing to tell apart. Put those "
            "of another class into a folder beside it."
        )
    if few := [f"{name} ({count})" for name, count in counts.items() if count < FEWEST]:
        raise ValueError(
            f"there are too few images of {', '.join(few)}: at least {FEWEST} of each class are needed, one to judge "
            "by and the others to learn from. Add some, or leave these classes out."
        )
    return found


def _in_grey_if_all_are(found: ImageFolder) -> ImageFolder:
    """By their pixels, because many grey images are stored in colour."""
    red = found.images[:, :1]
    return replace(found, images=red.clone()) if (found.images == red).all() else found


def _scaling(images: Tensor) -> Scaling:
    """Pixels of mean 0 and variance 1, so that one step size suits dark images and bright ones."""
    flat = images.transpose(0, 1).flatten(1)
    if (flat == flat[:, :1]).all(1).any():
        raise ValueError(
            "a colour has the same value in all pixels of all images, so that it teaches nothing. Convert the images "
            "to grey, or mend them."
        )
    return Scaling.standardising(images)
