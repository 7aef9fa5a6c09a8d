"""Image files of any size, decoded to arrays of one shape."""

import os
import struct
import warnings
from pathlib import Path

import numpy as np

from gped.data.images import DataError
from gped.support.progress import progress

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"})


def image_files(folder: Path) -> list[Path]:
    """All images in a folder and its folders, sorted; what is hidden is left out, and links are followed."""

    def refuse(error: OSError) -> None:
        raise DataError(
            f"{error.filename} cannot be read: {error.strerror}. Let it be read, or leave it out."
        ) from error

    found = []
    for parent, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".") and not _leads_back(Path(parent, name))]
        images = (name for name in files if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES)
        found += [path for name in images if not (path := Path(parent, name)).is_fifo()]  # which would be waited for
    if not found:
        raise DataError(f"{folder} has no images: no file ends in {', '.join(sorted(SUFFIXES))}.")
    return sorted(found)


def _leads_back(folder: Path) -> bool:
    """Whether a folder is a link to one that it is in."""
    here, there = folder.parent.resolve(), folder.resolve()
    return folder.is_symlink() and there in (here, *here.parents)


def read_images(files: list[Path], shape: tuple[int, ...], refused: dict[Path, str] | None = None) -> np.ndarray:
    """Decode images, cut them centred to the wanted proportions, and resize them with antialiasing.

    Args:
        files: What to read.
        shape: Channels (1 for grey, 3 for colour), height and width.
        refused: If given, images that cannot be read are left out, and what is wrong with each is entered here.
    """
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise DataError(f"images have 1 or 3 channels, a height and a width; the shape {shape} was asked for.")
    decoded, count = np.empty((len(files), *shape), np.uint8), 0
    where = Path(os.path.commonpath([file.parent for file in files])).name
    for file in progress(files, f"decoding {where}".rstrip(), len(files), "image"):
        try:
            decoded[count] = _read_image(file, shape)
            count += 1
        except DataError as error:
            if refused is None:
                raise
            refused[file] = str(error)
    return decoded[:count]


def _read_image(file: Path, shape: tuple[int, ...]) -> np.ndarray:
    from PIL import Image, ImageOps  # here, because most of those who import this never decode a file

    channels, height, width = shape
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, of what is odd about a file that it can read
            with Image.open(file) as stored:
                if stored.mode[0] in "IF":  # 16 or 32 bits a pixel, which Pillow would cut off at 255
                    raise DataError(f"{file} has pixels of more than 8 bits ({stored.mode}). Convert it to 8 bits.")
                image = stored.convert("L" if channels == 1 else "RGB")
    except Image.DecompressionBombError as error:
        raise DataError(f"{file} is too large ({error}). Make it smaller, or leave it out.") from error
    except (
        OSError,
        SyntaxError,
        ValueError,
        TypeError,
        IndexError,
        EOFError,
        struct.error,
    ) as error:  # as Pillow has it
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"{file} cannot be read: {error.strerror}. Let it be read, or leave it out.") from error
        raise DataError(f"{file} cannot be decoded as an image ({error}). Replace it, or leave it out.") from error
    if image.size != (width, height):
        image = ImageOps.fit(image, (width, height), Image.Resampling.BICUBIC)
    return np.asarray(image).reshape(height, width, channels).transpose(2, 0, 1)
