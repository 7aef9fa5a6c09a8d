"""The size in which the images of a folder are looked at, if nobody says which."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LARGEST = 32
"""The longer side, in pixels, of images whose size nobody has chosen: enough for the networks here, and quick."""


def size_of(text: str) -> tuple[int, int]:
    """Width and height that a person has written: `28`, or `32x24`."""
    written = re.fullmatch(r"(\d+)(?:[x×](\d+))?", text.strip())
    width, height = (int(side) for side in (written[1], written[2] or written[1])) if written else (0, 0)
    if not width or not height:
        raise ValueError(
            f"the size of images is {text!r}: it must be a side, such as 28, or a width and height, 32x24."
        )
    return width, height


def common_size(files: Iterable[Path]) -> tuple[int, int]:
    """Width and height that most of these images have. Where several are as common, the smallest.

    Only the beginning of each file is read. What is no image is not counted: whoever decodes it will say so.
    """
    from PIL import Image  # here, because most of those who import this never look at a file

    sizes = Counter[tuple[int, int]]()
    for file in files:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's, of what is odd about a file that it can read
                with Image.open(file) as image:
                    sizes[image.size] += 1
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
    return min(sizes, key=lambda size: (-sizes[size], size), default=(LARGEST, LARGEST))


def reduced(size: tuple[int, int], largest: int = LARGEST) -> tuple[int, int]:
    """The same proportions, with no side longer than this."""
    scale = min(1, largest / max(size))
    width, height = (max(1, round(side * scale)) for side in size)
    return width, height
