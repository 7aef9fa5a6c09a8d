"""Getting official files: downloads checked by hash, archives that cannot reach outside, no half-written files."""

import gzip
import hashlib
import http.client
import importlib
import socket
import sys
import tarfile
import urllib.error
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

from gped.data.images import DataError
from gped.support.files import replacing

STALLED = 60  # seconds without a byte after which a download has failed


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
    utils = torchvision("datasets.utils")
    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(STALLED)  # torchvision sets none, and would wait forever for a server that went silent
    try:
        utils.download_url(url, path.parent, path.name)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _DownloadFailed(str(getattr(error, "reason", error))) from error
    finally:
        socket.setdefaulttimeout(patience)
    if md5 and (actual := checksum(path)) != md5:
        raise _DownloadFailed(f"{path.stat().st_size} bytes with MD5 {actual} instead of {md5}, damaged or incomplete")


def extract(archive: Path, folder: Path) -> None:
    """Extract the folder of that name from an archive, whole or not at all, and nothing outside it."""
    damaged = f"{archive} is truncated or damaged. Delete it and run again to download it anew."
    with replacing(folder) as part:
        try:
            if zipfile.is_zipfile(archive):
                _extract_zip(archive, part.parent)
            else:
                with tarfile.open(archive) as tar:
                    tar.extractall(part.parent, filter="data")
        except tarfile.FilterError as error:
            raise DataError(f"{archive} is not to be trusted: {error}. Nothing was kept of it.") from error
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(damaged) from error
        if not part.is_dir():
            raise DataError(f"{archive} has no folder {folder.name}: it is not the official archive.")


def _extract_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        for name in zipped.namelist():
            if not (target / name).resolve().is_relative_to(target.resolve()):
                raise DataError(f"{archive} is not to be trusted: {name!r} points outside. Nothing was kept of it.")
        zipped.extractall(target)
