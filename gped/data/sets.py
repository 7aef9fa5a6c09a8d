"""One door to all sets: the rest of the program cannot tell embedded from downloaded."""

import json
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gped.data import embedded, official
from gped.data.images import DataError, ImageSet, true_name
from gped.support.codehash import code_hash
from gped.support.suggestions import meant

Shape = tuple[int, int, int]


class Entry(NamedTuple):
    """How a set is made, and what to expect of it: the shape of an image, how many each split has, names of classes."""

    make: Callable[..., ImageSet]
    shape: Shape
    splits: dict[str, int]
    class_names: tuple[str, ...] = ()


GREY, COLOUR = (1, 28, 28), (3, 32, 32)
DIGITS, LETTERS = tuple("0123456789"), tuple("ABCDEFGHIJ")
KINDS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
KANA = tuple("おきすつなはまやれを")
OFFICIAL = {
    "MNIST": Entry(official.mnist, GREY, {"train": 60_000, "test": 10_000}, DIGITS),
    "CIFAR10": Entry(official.cifar10, COLOUR, {"train": 50_000, "test": 10_000}, KINDS),
    "KMNIST": Entry(official.kmnist, GREY, {"train": 60_000, "test": 10_000}, KANA),
    "notMNIST": Entry(official.notmnist, GREY, {"test": 18_724}, LETTERS),
    "SVHN": Entry(official.svhn, COLOUR, {"test": 26_032}, DIGITS),
    "TIM": Entry(official.tiny_imagenet, COLOUR, {"test": 10_000}),
    "LSUN": Entry(official.lsun, COLOUR, {"test": 10_000}),
}
EMBEDDED = {
    "MNIST5k": Entry(embedded.mnist5k, GREY, embedded.SIZES, DIGITS),
    "Letters": Entry(embedded.letters, GREY, {"test": embedded.SIZES["test"]}, LETTERS),
    "Scripts": Entry(embedded.scripts, GREY, {"test": embedded.SIZES["test"]}, tuple(embedded.SCRIPTS)),
    "PhotoLetters": Entry(embedded.photo_letters, COLOUR, embedded.SIZES, LETTERS),
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
    """A set, decoded once and then read from its cache, as long as the files are those that it was decoded from.

    Args:
        name: One of OFFICIAL or EMBEDDED.
        split: "train" or "test"; sets that serve only as out-of-distribution have no training split.
        root: Folder of the official files. What is missing is downloaded to it.
        cache: Folder of the decoded sets; `root`/cache unless given.
        unofficial: Official sets whose files are known to differ from the official ones. They are called so.
    """
    entry, root = entry_of(name, split), Path(root).expanduser()
    maker = embedded if name in EMBEDDED else official
    code = code_hash(str(maker.__file__))[:8]  # so that no cache outlives the code that made it
    called = true_name(name, unofficial) if maker is official else name
    file = f"{name}-{split}-{code}.npz" if called == name else f"{name}-unofficial-{split}-{code}.npz"
    path = Path(cache or root / "cache").expanduser() / file
    if path.is_file():
        images = ImageSet.load(path)
        if _is_fresh(path, root):
            return images
    files = official.Root(root, frozenset(unofficial))
    images = entry.make(split) if maker is embedded else entry.make(files, split)
    if images.images.shape[1:] != entry.shape:
        raise DataError(f"{name} has images of shape {images.images.shape[1:]} instead of {entry.shape}.")
    if len(images) != entry.splits[split] and called == name:
        raise DataError(
            f"{name} has {len(images)} {split} images in {root} instead of {entry.splits[split]}: they are incomplete "
            f"or another version. Get the official files, or list {name} under data.unofficial if you trust these."
        )
    images = replace(images, name=called, class_names=entry.class_names)
    images.save(path, files=json.dumps(files.read))
    return images


def _is_fresh(path: Path, root: Path) -> bool:
    """Whether the files that a cache was made from are as they were, as far as they are still there, and no others."""
    with np.load(path, allow_pickle=False) as cached:
        read = json.loads(str(cached["files"]))
    found = {name: (root / name).stat() for name in read if (root / name).exists()}
    return all([there.st_size, there.st_mtime_ns] == read[name] for name, there in found.items())


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
