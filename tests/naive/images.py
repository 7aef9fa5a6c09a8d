"""What a cell shows to its chain and its students: subsamples, masks, choices and the scaling of pixels."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np


def generator(seed: int, *names: object) -> np.random.Generator:
    """The stream of these names."""
    text = "/".join(str(name) for name in (seed, *names))
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))


def masked(images: np.ndarray, side: int, seed: int, role: str) -> np.ndarray:
    """Each image of the full set with a black square at a place of its own: all tops are drawn, then all lefts."""
    if not side:
        return images
    stream, result = generator(seed, "mask", role, side), images.copy()
    tops = stream.integers(0, images.shape[2] - side + 1, len(images))
    lefts = stream.integers(0, images.shape[3] - side + 1, len(images))
    for number, (top, left) in enumerate(zip(tops, lefts, strict=True)):
        result[number, :, top : top + side, left : left + side] = 0
    return result


def subsample(labels: np.ndarray, size: int, seed: int) -> list[int]:
    """One image of each class after the other, in a random order, until there are enough."""
    left = list(generator(seed, "subsample").permutation(len(labels)))
    chosen: list[int] = []
    while len(chosen) < size:
        of_this_round, seen = [], set()
        for index in left:
            if labels[index] not in seen:
                seen.add(labels[index])
                of_this_round.append(index)
        chosen += of_this_round
        left = [index for index in left if index not in set(of_this_round)]
    return sorted(int(index) for index in chosen[:size])


def choice(count: int, limit: int, seed: int, role: str) -> list[int]:
    """At most so many of an out-of-distribution set, in file order."""
    if count <= limit:
        return list(range(count))
    return sorted(generator(seed, "choice", role).choice(count, limit, replace=False))


def statistics(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel's pixels in [0, 1]."""
    channels = [images[:, channel].astype(np.float64).ravel() / 255 for channel in range(images.shape[1])]
    return np.array([pixels.mean() for pixels in channels]), np.array([pixels.std() for pixels in channels])


@dataclass
class Seen:
    """The images of a cell as bytes, and how they enter a network."""

    labelled: np.ndarray
    labels: np.ndarray
    unlabelled: np.ndarray
    evaluated: dict[str, np.ndarray]
    mean: np.ndarray
    std: np.ndarray

    def scaled(self, images: np.ndarray) -> np.ndarray:
        """What a network reads."""
        return (images / 255 - self.mean[:, None, None]) / self.std[:, None, None]


def seen(sets: dict[str, Any], size: int, side: int, seed: int, standardise: bool, limit: int, ood: list[str]) -> Seen:
    """The images of a cell.

    Args:
        sets: Images and labels under "train" and "test", and images of the out-of-distribution sets by name.
        size: Of the training set.
        side: Of the masks.
        seed: The data seed.
        standardise: Whether pixels are standardised, by the statistics of all training images as they are in the file.
        limit: Of images in an out-of-distribution set.
        ood: The out-of-distribution sets.
    """
    train, labels = sets["train"]
    chosen = subsample(labels, size, seed)
    evaluated = {"test": masked(sets["test"][0], side, seed, "test")}
    for name in ood:
        kept = choice(len(sets[name][0]), limit, seed, name)
        evaluated[name] = masked(sets[name][0], side, seed, name)[kept]
        if side:
            evaluated[f"{name}-unmasked"] = sets[name][0][kept]
    none = np.zeros(train.shape[1]), np.ones(train.shape[1])
    return Seen(
        masked(train, side, seed, "D")[chosen],
        labels[chosen],
        masked(train, side, seed, "D'"),
        evaluated,
        *(statistics(train) if standardise else none),
    )
