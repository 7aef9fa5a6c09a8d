"""Image files of any size, decoded to arrays of one shape."""

from pathlib import Path

import numpy as np

from gped.data.images import DataError
from gped.support.progress import progress

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"})


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
    from PIL import Image, ImageOps  # here, because most of those who import this never decode a file

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
