"""Getting official files: downloads checked by length and hash, archives of a bounded size, no half-written files."""

import hashlib
import http.client
import importlib
import lzma
import sys
import tarfile
import urllib.error
import urllib.request
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from gped.data.images import DataError
from gped.support.files import replacing
from gped.support.progress import progress

STALLED = 60  # seconds without a byte after which a download has failed
BLOCK = 1 << 20
LARGEST = 2 * 10**9
"""Bytes that an archive may unpack to: four times as many as the largest official one does."""

ANEW = "Move it away and run again to download it anew, or replace it."


def torchvision(module: str) -> ModuleType:
    """Import a module of torchvision, also where its compiled operators do not match torch.

    Such a torchvision fails to import because torch does not know the operators that it wants to extend. Nothing here
    uses them, so it is enough to declare that they exist.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(f"torchvision.{module}")
        except ImportError as error:
            raise DataError("a download needs the package torchvision: pip install torchvision.") from error
        except RuntimeError as error:
            if "torchvision::nms" not in str(error):
                raise
            for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
                del sys.modules[name]
            declare_operators()
            return importlib.import_module(f"torchvision.{module}")


@cache
def declare_operators() -> object:
    """Tell torch the schemas of torchvision's nms and qnms; they last as long as the returned (and cached) library."""
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def checksum(path: Path) -> str:
    """MD5 of a file: not against attackers, but the hash that the sets' authors published."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


class _DownloadFailed(Exception):
    pass


def fetch(path: Path, urls: Iterable[str], md5: str | None) -> None:
    """Download a file, trying the addresses in turn. Shows progress; leaves the whole file or none."""
    failures = []
    for url in urls:
        try:
            with replacing(path) as part:
                _download(url, part, md5)
            return
        except _DownloadFailed as failure:
            failures.append(f"{url}: {failure}")
    raise DataError(
        f"cannot download {path.name} ({'; '.join(failures)}). Try again, or download it by hand to {path}, or set "
        "data.root to a folder that has it."
    )


def _download(url: str, path: Path, md5: str | None) -> None:
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "gped"})
        with urllib.request.urlopen(request, timeout=STALLED) as response, path.open("wb") as file:
            announced = response.length or 0
            blocks = progress(_blocks(response), f"downloading {path.name}", announced // BLOCK + 1, "megabyte")
            received = sum(file.write(block) for block in blocks)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _DownloadFailed(str(getattr(error, "reason", error))) from error
    if announced and received != announced:  # a connection that ends too soon is no error for urllib
        raise _DownloadFailed(f"{received} bytes instead of the announced {announced}, incomplete")
    if md5 and (actual := checksum(path)) != md5:
        raise _DownloadFailed(f"{received} bytes with MD5 {actual} instead of {md5}, damaged or incomplete")


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while block := response.read(BLOCK):
        yield block


def extract(archive: Path, folder: Path) -> None:
    """Extract the folder of that name from an archive, whole or not at all, and nothing outside it."""
    damaged = f"{archive} is truncated or damaged. {ANEW}"
    archive.open("rb").close()  # what may not be read is no fault of the folder
    with replacing(folder) as part:
        try:
            if zipfile.is_zipfile(archive):
                _extract_zip(archive, part.parent)
            else:
                _extract_tar(archive, part.parent)
        except DataError:
            raise
        except tarfile.FilterError as error:
            raise DataError(f"{archive} is not to be trusted: {error}. Nothing was kept of it.") from error
        except (RuntimeError, NotImplementedError) as error:  # zipfile's, of passwords and of unknown compression
            raise DataError(f"{archive} cannot be extracted: {error}. {ANEW}") from error
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise DataError(damaged) from error
        except OSError as error:
            if error.errno is not None:  # the disk's
                raise
            raise DataError(damaged) from error
        if not part.is_dir():
            raise DataError(f"{archive} has no folder {folder.name}: it is not the official archive.")


def _extract_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        _refuse_if_too_large(archive, (member.file_size for member in zipped.infolist()))
        for name in zipped.namelist():
            if not (target / name).resolve().is_relative_to(target.resolve()):
                raise DataError(f"{archive} is not to be trusted: {name!r} points outside. Nothing was kept of it.")
        zipped.extractall(target)


def _extract_tar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as tar:
        _refuse_if_too_large(archive, (member.size for member in tar))
        tar.extractall(target, filter="data")


def _refuse_if_too_large(archive: Path, sizes: Iterable[int]) -> None:
    """Before anything is written, and for an archive that is a stream before the rest of it is read."""
    total = 0
    for size in sizes:
        total += size
        if total > LARGEST:
            raise DataError(
                f"{archive} would unpack to more than {LARGEST / 1e9:g} GB: it is not the official archive. Nothing "
                "was kept of it."
            )
