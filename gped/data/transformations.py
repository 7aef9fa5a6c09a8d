"""Transformed copies of images: more inputs for D', which students hear of and which are not like the training images.

Everything is a function of the data seed, drawn once over the full set in file order.
"""

from collections.abc import Callable

import numpy as np

from gped.data.manipulations import generator_of

NOISE = 0.2
"""Standard deviation of the noise on copies, in units of the range of pixels."""


def turned(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Each turned by 90, 180 or 270 degrees."""
    if images.shape[2] != images.shape[3]:
        raise ValueError(f"images of {images.shape[2]}×{images.shape[3]} cannot be turned: they must be square.")
    quarters = generator.integers(1, 4, len(images))
    result = np.empty_like(images)
    for turns in (1, 2, 3):
        which = quarters == turns
        result[which] = np.rot90(images[which], turns, (2, 3))
    return result


def noisy(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Each with Gaussian noise on its pixels."""
    result = np.empty_like(images)
    for start in range(0, len(images), 1000):  # in parts, because double precision takes eight times the memory
        part = images[start : start + 1000]
        result[start : start + 1000] = (part + generator.normal(0, 255 * NOISE, part.shape)).round().clip(0, 255)
    return result


def mixed(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Each mixed with another, in a proportion that is uniform in [0, 1] (mixup)."""
    others = generator.permutation(len(images))
    shares = generator.uniform(0, 1, len(images))[:, None, None, None]
    result = np.empty_like(images)
    for start in range(0, len(images), 1000):
        at = slice(start, start + 1000)
        result[at] = (shares[at] * images[at] + (1 - shares[at]) * images[others[at]]).round()
    return result


COPIES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "turned": turned,
    "noisy": noisy,
    "mixed": mixed,
}


def copies(images: np.ndarray, how: str, *, data_seed: int) -> np.ndarray:
    """A transformed copy of each image.

    Args:
        images: Bytes of shape (count, channels, height, width): the full set, in file order.
        how: "turned", "noisy" or "mixed".
        data_seed: Decides what is drawn.
    """
    if how not in COPIES:
        raise ValueError(f"copies cannot be {how!r}: they must be one of {', '.join(COPIES)}.")
    return COPIES[how](images, generator_of(data_seed, "copies", how))
