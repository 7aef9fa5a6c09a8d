"""The paper's sets, decoded from their official files.

Files are found where torchvision or the archives put them, or downloaded there. Whatever has an official checksum is
checked, found or downloaded, unless the caller says that a set's files are known to be unofficial.
"""

import gzip
import hashlib
import math
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from gped.data.decoding import image_files, read_images
from gped.data.download import ANEW, LARGEST, checksum, extract, fetch, torchvision
from gped.data.images import DataError, ImageSet

CIFAR10_MEMBERS = {  # MD5 of the members of cifar-10-binary.tar.gz
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
IDX_FILES = {  # MD5 of the compressed files
    "MNIST": {
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    },
    "KMNIST": {
        "train-images-idx3-ubyte.gz": "bdb82020997e1d708af4cf47b453dcf7",
        "train-labels-idx1-ubyte.gz": "e144d726b3acfaa3e44228e80efcd344",
        "t10k-images-idx3-ubyte.gz": "5c965bf0a639b31b8f53240b1b52f4d7",
        "t10k-labels-idx1-ubyte.gz": "7320c461ea6c1c855c0b718fb2a4b134",
    },
}
IDX_CONTENTS = {  # MD5 of what is in them, where it is known
    "MNIST": {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    "KMNIST": {
        "t10k-images-idx3-ubyte": "bf305b8cd328700fbc17f5acbc2856d2",
        "t10k-labels-idx1-ubyte": "9f55f451c0988b028eccdf7d5cc265ab",
    },
}
SVHN_TEST_MD5 = "eb5a983be6a315427106f1b164d9cef3"
# Two files of the official notMNIST_small are no images.
BROKEN_NOTMNIST = {"A/RGVtb2NyYXRpY2FCb2xkT2xkc3R5bGUgQm9sZC50dGY=.png", "F/Q3Jvc3NvdmVyIEJvbGRPYmxpcXVlLnR0Zg==.png"}


@dataclass(frozen=True)
class Root:
    """The folder of the official files.

    Args:
        path: The folder.
        unofficial: Sets whose files are known to differ from the official ones: their checksums are not compared.
        read: What was read so far, relative to the folder: each file with its size and when it was last changed; and
            with nothing those that were looked for first and not found.
    """

    path: Path
    unofficial: frozenset[str] = frozenset()
    read: dict[str, list[int] | None] = field(default_factory=dict)

    def file(self, name: str, candidates: dict[str, str | None], urls: Callable[[], Iterable[str]]) -> Path:
        """The first candidate that exists, or else the first, downloaded.

        Args:
            name: Of the set.
            candidates: Where the file may be, with its official MD5 there.
            urls: Where to download it, asked only if need be.
        """
        self.read.update(dict.fromkeys(one for one in candidates if not (self.path / one).is_file()))
        for candidate, md5 in candidates.items():
            path = self.path / candidate
            if path.is_file():
                self.check(name, path, md5)
                return path
        candidate, md5 = next(iter(candidates.items()))
        path = self.path / candidate
        fetch(path, urls(), md5)
        self.note(path)
        return path

    def folder(self, name: str, folder: str, archive: str, url: str, md5: str | None = None) -> Path:
        """A folder, if need be extracted from its archive, if need be downloaded."""
        path, packed, top = self.path / folder, self.path / archive, self.path / Path(folder).parts[0]
        if not path.is_dir() and not top.exists():
            if packed.is_file():
                self.check(name, packed, md5)
            else:
                fetch(packed, [url], md5)
            extract(packed, top)
        if not path.is_dir():
            raise DataError(f"{path} is missing although {top} is there. Move {top} away and run again.")
        return path

    def images(self, folder: Path) -> list[Path]:
        """All images in a folder."""
        files = image_files(folder)
        for path in {file.parent for file in files} | set(files):  # a folder changes when it gets a file more
            self.note(path)
        return files

    def note(self, path: Path) -> None:
        """Remember that this was read."""
        found = path.stat()
        self.read[str(path.relative_to(self.path))] = [found.st_size, found.st_mtime_ns]

    def check(self, name: str, path: Path, md5: str | None) -> None:
        """Refuse a file whose checksum is not the official one."""
        self.note(path)
        if md5 and name not in self.unofficial and (actual := checksum(path)) != md5:
            raise DataError(
                f"{path} has the MD5 {actual}, not the official {md5}: it is damaged or another version. Move it away "
                f"to download it anew, or list {name} under data.unofficial if you trust it."
            )


def mnist(root: Root, split: str) -> ImageSet:
    """MNIST (LeCun et al., 1998)."""
    return _idx_set("MNIST", root, split)


def kmnist(root: Root, split: str) -> ImageSet:
    """Kuzushiji-MNIST (Clanuwat et al., 2018)."""
    return _idx_set("KMNIST", root, split)


def cifar10(root: Root, split: str) -> ImageSet:
    """CIFAR-10 (Krizhevsky, 2009), the binary version, which has no pickle."""
    folder = root.folder(
        "CIFAR10",
        "cifar-10-batches-bin",
        "cifar-10-binary.tar.gz",
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c32a1d4ab5d03f1284b67883e8d87530",
    )
    batches, sources = [], []
    for member, md5 in CIFAR10_MEMBERS.items():
        if member.startswith("test") != (split == "test"):
            continue
        path = folder / member
        if not path.is_file():
            raise DataError(f"{path} is missing. Move {folder} away and run again to extract or download it anew.")
        root.check("CIFAR10", path, md5)
        content = np.fromfile(path, np.uint8)
        if len(content) != 10_000 * 3073:
            raise DataError(f"{path} has {len(content)} bytes instead of 30730000. {ANEW}")
        batches.append(content.reshape(-1, 3073))
        sources.append(_source(path))
    records = np.concatenate(batches)
    images = np.ascontiguousarray(records[:, 1:]).reshape(-1, 3, 32, 32)
    return ImageSet("CIFAR10", images, records[:, 0].astype(np.int64), "; ".join(sources))


def svhn(root: Root, split: str) -> ImageSet:
    """Street View House Numbers (Netzer et al., 2011), the cropped test digits."""
    path = root.file(
        "SVHN",
        {"SVHN/test_32x32.mat": SVHN_TEST_MD5, "test_32x32.mat": SVHN_TEST_MD5},
        lambda: [torchvision("datasets").SVHN.split_list["test"][0]],
    )
    images, labels = _read_mat(path, "X", "y")
    if images.ndim != 4 or images.shape[:3] != (32, 32, 3) or images.dtype != np.uint8:
        raise DataError(f"{path} has {images.dtype} of shape {images.shape} instead of bytes of (32, 32, 3, count).")
    if labels.dtype.kind not in "iuf":
        raise DataError(f"{path} has labels that are no numbers, but {labels.dtype}. {ANEW}")
    images = np.ascontiguousarray(images.transpose(3, 2, 0, 1))
    return ImageSet("SVHN", images, labels.ravel().astype(np.int64) % 10, _source(path))  # the digit 0 has label 10


def notmnist(root: Root, split: str) -> ImageSet:
    """notMNIST_small (Bulatov, 2011): the letters A to J in many fonts."""
    folder = root.folder(
        "notMNIST",
        "notMNIST_small",
        "notMNIST_small.tar.gz",
        "http://yaroslavvb.com/upload/notMNIST/notMNIST_small.tar.gz",
    )
    images, labels = [], []
    for label, letter in enumerate("ABCDEFGHIJ"):
        files = [file for file in root.images(folder / letter) if f"{letter}/{file.name}" not in BROKEN_NOTMNIST]
        images.append(read_images(files, (1, 28, 28)))
        labels.append(np.full(len(files), label, np.int64))
    return ImageSet("notMNIST", np.concatenate(images), np.concatenate(labels), _folder_source(folder))


def tiny_imagenet(root: Root, split: str) -> ImageSet:
    """TinyImageNet (CS231N, 2017), whose test images have no labels, at half their size."""
    folder = root.folder(
        "TIM",
        "tiny-imagenet-200/test/images",
        "tiny-imagenet-200.zip",
        "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
    )
    return _unlabelled_folder("TIM", root, folder)


def lsun(root: Root, split: str) -> ImageSet:
    """LSUN (Yu et al., 2015), as a folder of images: its official form is a database of another kind."""
    folder = root.path / "LSUN"
    if not folder.is_dir():
        raise DataError(
            f"there is no folder {folder}. LSUN is not downloaded: put images of its test set there, as JPEG or PNG "
            "files of any size, or leave LSUN out of the configuration."
        )
    return _unlabelled_folder("LSUN", root, folder)


def _idx_set(name: str, root: Root, split: str) -> ImageSet:
    prefix = {"train": "train", "test": "t10k"}[split]
    arrays, sources = [], []
    for kind in ("images-idx3", "labels-idx1"):
        plain = f"{prefix}-{kind}-ubyte"
        packed = f"{plain}.gz"
        md5 = IDX_FILES[name][packed]
        inner = IDX_CONTENTS.get(name, {}).get(plain)
        candidates = {f"{name}/raw/{packed}": md5, f"{name}/raw/{plain}": inner, packed: md5, plain: inner}
        path = root.file(name, candidates, partial(_idx_urls, name, packed))
        arrays.append(_read_idx(path))
        sources.append(_source(path))
    images, labels = arrays
    if images.shape[1:] != (28, 28) or labels.shape != (len(images),):
        raise DataError(
            f"{name} in {path.parent} has images of shape {images.shape} and labels of shape {labels.shape} instead of "
            "(count, 28, 28) and (count,)."
        )
    return ImageSet(name, images[:, None], labels.astype(np.int64), "; ".join(sources))


def _idx_urls(name: str, file: str) -> list[str]:
    return [mirror + file for mirror in getattr(torchvision("datasets"), name).mirrors]


def _read_idx(path: Path) -> np.ndarray:
    """An array of bytes in the idx format: 0, 0, 8, number of dimensions, each as a big-endian integer, the bytes."""
    try:
        with (gzip.open if path.suffix == ".gz" else Path.open)(path, "rb") as file:
            content = file.read(LARGEST)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} is truncated or damaged: {error}. {ANEW}") from error
    dimensions = content[3] if content[:3] == b"\x00\x00\x08" and len(content) > 3 else 0
    start = 4 + 4 * dimensions
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, start, 4))
    if not dimensions or len(content) != start + math.prod(shape):
        raise DataError(f"{path} is truncated or not an idx file of bytes. {ANEW}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


READ_MAT = """
import sys
import numpy
from scipy.io import loadmat
path, result, *names = sys.argv[1:]
content = loadmat(path, variable_names=names)
numpy.savez(result, *(content[name] for name in names))
"""


def _read_mat(path: Path, *names: str) -> list[np.ndarray]:
    """Arrays of a MATLAB file, read in a process of its own: a damaged file can end it."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "arrays.npz"
        command = [sys.executable, "-c", READ_MAT, str(path.absolute()), str(result), *names]
        reading = subprocess.run(command, capture_output=True, text=True)
        try:
            if reading.returncode:
                raise ValueError(reading.stderr.strip().rpartition("\n")[2] or "its reader crashed")
            with np.load(result, allow_pickle=False) as arrays:
                return list(arrays.values())
        except ValueError as error:
            raise DataError(f"{path} is damaged ({error}). {ANEW}") from error


def _unlabelled_folder(name: str, root: Root, folder: Path) -> ImageSet:
    images = read_images(root.images(folder), (3, 32, 32))
    return ImageSet(name, images, np.zeros(len(images), np.int64), _folder_source(folder))


def _source(path: Path) -> str:
    return f"{path.name} md5 {checksum(path)}"


def _folder_source(folder: Path) -> str:
    """A fingerprint of a folder of images: their names and sizes."""
    files = image_files(folder)
    listing = "\n".join(f"{file.relative_to(folder)} {file.stat().st_size}" for file in files)
    digest = hashlib.md5(listing.encode(), usedforsecurity=False).hexdigest()
    return f"{len(files)} files in {folder.name}, md5 of names and sizes {digest}"
