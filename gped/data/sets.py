"""One door to all sets: the rest of the program cannot tell embedded from downloaded."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from gped.data import embedded, official
from gped.data.images import DataError, ImageSet
from gped.support.codehash import code_hash
from gped.support.suggestions import meant

Shape = tuple[int, int, int]


class Entry(NamedTuple):
    """How a set is made, and what to expect of it: the shape of an image, and how many there are in each split."""

    make: Callable[..., ImageSet]
    shape: Shape
    splits: dict[str, int]


GREY, COLOUR = (1, 28, 28), (3, 32, 32)
OFFICIAL = {
    "MNIST": Entry(official.mnist, GREY, {"train": 60_000, "test": 10_000}),
    "CIFAR10": Entry(official.cifar10, COLOUR, {"train": 50_000, "test": 10_000}),
    "KMNIST": Entry(official.kmnist, GREY, {"train": 60_000, "test": 10_000}),
    "notMNIST": Entry(official.notmnist, GREY, {"test": 18_724}),
    "SVHN": Entry(official.svhn, COLOUR, {"test": 26_032}),
    "TIM": Entry(official.tiny_imagenet, COLOUR, {"test": 10_000}),
    "LSUN": Entry(official.lsun, COLOUR, {"test": 10_000}),
}
EMBEDDED = {
    "MNIST5k": Entry(embedded.mnist5k, GREY, embedded.SIZES),
    "Letters": Entry(embedded.letters, GREY, {"test": embedded.SIZES["test"]}),
    "Scripts": Entry(embedded.scripts, GREY, {"test": embedded.SIZES["test"]}),
    "PhotoLetters": Entry(embedded.photo_letters, COLOUR, embedded.SIZES),
    "PhotoPatches": Entry(embedded.photo_patches, COLOUR, {"test": embedded.SIZES["test"]}),
    "Textures": Entry(embedded.textures, COLOUR, {"test": embedded.SIZES["test"]}),
}


def load(
    name: str,
    split: str,
    root: str | os.PathLike[str] = "data",
    cache: str | os.PathLike[str] | None = None,
    unofficial: Collection[str] = (),
) -> ImageSet:
    """A set, decoded once and then read from its cache.

    Args:
        name: One of OFFICIAL or EMBEDDED.
        split: "train" or "test"; sets that serve only as out-of-distribution have no training split.
        root: Folder of the official files. What is missing is downloaded to it.
        cache: Folder of the decoded sets; `root`/cache unless given.
        unofficial: Official sets whose files are known to differ from the official ones.
    """
    entry, root = entry_of(name, split), Path(root).expanduser()
    maker = embedded if name in EMBEDDED else official
    code = code_hash(str(maker.__file__))[:8]  # so that no cache outlives the code that made it
    path = Path(cache or root / "cache").expanduser() / f"{name}-{split}-{code}.npz"
    if path.is_file():
        return ImageSet.load(path)
    files = () if maker is embedded else (official.Root(root, frozenset(unofficial)),)
    images = entry.make(*files, split)
    if images.images.shape[1:] != entry.shape:
        raise DataError(f"{name} has images of shape {images.images.shape[1:]} instead of {entry.shape}.")
    images.save(path)
    return images


def entry_of(name: str, split: str | None = None) -> Entry:
    """What is known of a set before it is made; a sentence if there is none of that name or split."""
    entries = OFFICIAL | EMBEDDED
    if name not in entries:
        raise ValueError(
            f"there is no set {name!r}.{meant(name, entries, listing=False)} There are {', '.join(entries)}."
        )
    if split is not None and split not in entries[name].splits:
        raise ValueError(f"{name} has no split {split!r}, only {' and '.join(entries[name].splits)}.")
    return entries[name]
