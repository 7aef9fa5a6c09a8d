"""What the paper does to its sets: square masks, smaller training sets, and out-of-distribution sets of a bounded size.

Everything is a function of the data seed and a name, drawn over the full set in file order: subsets share their masks.
"""

import hashlib

import numpy as np


def generator_of(data_seed: int, *names: object) -> np.random.Generator:
    """A stream of random numbers that depends on the data seed and the names alone."""
    digest = hashlib.sha256("/".join(map(str, (data_seed, *names))).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def mask(images: np.ndarray, side: int, *, data_seed: int, role: str) -> np.ndarray:
    """Set a random square of each image to 0.

    Args:
        images: Bytes of shape (count, channels, height, width): the full set, in file order.
        side: m, the side of the square; 0 for none. Every position where it fits is equally likely.
        data_seed: Together with role and side, it decides all positions.
        role: "D", "D'", "test", or the name of an out-of-distribution set: each has masks of its own.
    """
    count, _, height, width = images.shape
    if not 0 <= side < min(height, width):
        raise ValueError(
            f"a mask of side {side} does not suit images of {height}×{width}: it must be at least 0 and smaller than "
            "the image."
        )
    if side == 0:
        return images
    generator = generator_of(data_seed, "mask", role, side)
    top = generator.integers(0, height - side + 1, count)[:, None]
    left = generator.integers(0, width - side + 1, count)[:, None]
    in_rows = (np.arange(height) >= top) & (np.arange(height) < top + side)
    in_columns = (np.arange(width) >= left) & (np.arange(width) < left + side)
    visible = ~(in_rows[:, None, :, None] & in_columns[:, None, None, :])
    return images * visible


def nested_subsample(labels: np.ndarray, size: int, *, data_seed: int) -> np.ndarray:
    """Indices of a random subset with as equal class counts as possible; a smaller one is part of a larger one."""
    if not 1 <= size <= len(labels):
        raise ValueError(f"a training size of {size} cannot be taken from {len(labels)} images.")
    generator = generator_of(data_seed, "subsample")
    shuffled = generator.permutation(len(labels))
    # Each image's rank within its class; taking all of rank 0 first, then all of rank 1, … keeps the classes balanced.
    # Within a rank the order of the classes is that of the shuffle, which favours none.
    rank = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        members = labels[shuffled] == label
        rank[members] = np.arange(members.sum())
    return np.sort(shuffled[np.argsort(rank, kind="stable")][:size])


def at_most(count: int, limit: int, *, data_seed: int, role: str) -> np.ndarray:
    """Indices of a random choice of at most `limit` out of `count` images, in file order."""
    if limit < 1:
        raise ValueError(f"a limit of {limit} images leaves nothing of {role}: it must be at least 1.")
    if count <= limit:
        return np.arange(count)
    return np.sort(generator_of(data_seed, "choice", role).choice(count, limit, replace=False))
