"""Bad files, bad mirrors and full disks: one sentence each, and nothing half-written that a later run would trust."""

import gzip
import hashlib
import http.server
import io
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gped import data
from gped.data import download, official


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


IMAGES = {
    "t10k-images-idx3-ubyte.gz": idx(np.arange(3 * 784).reshape(3, 28, 28) % 256),
    "t10k-labels-idx1-ubyte.gz": idx(np.array([3, 1, 4])),
}


class Mirror(http.server.BaseHTTPRequestHandler):
    """Serves IMAGES under paths that say what goes wrong: /good/, /truncated/, /altered/."""

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        _, fault, name = self.path.split("/")
        content = IMAGES.get(name)
        if content is None or fault == "missing":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            if fault == "truncated":
                content = content[: len(content) // 2]
            elif fault == "altered":
                content = content[:-5] + b"wrong"
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def mirror():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def small_mnist(mirror, monkeypatch):
    """MNIST whose official files are three images on the local mirror."""
    hashes = {name: hashlib.md5(content).hexdigest() for name, content in IMAGES.items()}
    monkeypatch.setitem(official.IDX_FILES, "MNIST", hashes)

    def serve(*faults: str) -> None:
        monkeypatch.setattr(official, "_idx_urls", lambda name, file: [f"{mirror}/{fault}/{file}" for fault in faults])

    return serve


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_is_missing_is_downloaded_and_kept(small_mnist, tmp_path):
    small_mnist("good")
    assert data.load("MNIST", "test", tmp_path).labels.tolist() == [3, 1, 4]
    kept = [name for name in files_in(tmp_path) if "cache" not in name]
    assert kept == [f"MNIST/raw/{name}" for name in sorted(IMAGES)]
    small_mnist("missing")
    (cache,) = tmp_path.glob("cache/*")
    cache.unlink()
    assert len(data.load("MNIST", "test", tmp_path)) == 3


def test_a_bad_mirror_is_passed_over_for_a_good_one(small_mnist, tmp_path):
    small_mnist("missing", "truncated", "altered", "good")
    assert len(data.load("MNIST", "test", tmp_path)) == 3


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("missing", "Not Found"), ("truncated", "damaged or incomplete"), ("altered", "instead of")],
)
def test_a_download_that_fails_leaves_nothing_and_says_what_to_do(fault, reason, small_mnist, tmp_path):
    small_mnist(fault)
    with pytest.raises(data.DataError, match=rf"cannot download t10k-images.*{reason}.*by hand to {tmp_path}") as error:
        data.load("MNIST", "test", tmp_path)
    assert "\n" not in str(error.value)
    assert files_in(tmp_path) == []
    small_mnist("good")
    assert len(data.load("MNIST", "test", tmp_path)) == 3


def test_without_a_network_the_sentence_says_so(small_mnist, monkeypatch, tmp_path):
    monkeypatch.setattr(official, "_idx_urls", lambda name, file: ["http://127.0.0.1:9/" + file])
    with pytest.raises(data.DataError, match=r"cannot download t10k-images.*Connection refused.*data.root"):
        data.load("MNIST", "test", tmp_path)
    assert files_in(tmp_path) == []


def test_a_server_that_goes_silent_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "STALLED", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
        with pytest.raises(data.DataError, match=r"cannot download file .*timed out"):
            download.fetch(tmp_path / "file", [url], None)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("fault", ["truncated", "altered", "empty"])
def test_a_damaged_file_on_disk_is_noticed_and_not_cached(fault, small_mnist, tmp_path):
    small_mnist("good")
    data.load("MNIST", "test", tmp_path)
    (cache,) = tmp_path.glob("cache/*")
    cache.unlink()
    path = tmp_path / "MNIST/raw/t10k-images-idx3-ubyte.gz"
    content = path.read_bytes()
    path.write_bytes({"truncated": content[:-20], "altered": content[:-5] + b"wrong", "empty": b""}[fault])
    with pytest.raises(data.DataError, match=r"t10k-images-idx3-ubyte\.gz has the MD5 .* not the official"):
        data.load("MNIST", "test", tmp_path)
    with pytest.raises(data.DataError, match=r"t10k-images-idx3-ubyte\.gz is truncated or (damaged|not an idx)"):
        data.load("MNIST", "test", tmp_path, unofficial=["MNIST"])
    assert not list(tmp_path.glob("cache/*"))


def test_images_of_another_shape_are_refused(tmp_path):
    raw = tmp_path / "MNIST/raw"
    raw.mkdir(parents=True)
    (raw / "t10k-images-idx3-ubyte").write_bytes(gzip.decompress(idx(np.zeros((3, 27, 28)))))
    (raw / "t10k-labels-idx1-ubyte").write_bytes(gzip.decompress(idx(np.zeros(3))))
    with pytest.raises(data.DataError, match=r"MNIST in .* has images of shape \(3, 27, 28\)"):
        data.load("MNIST", "test", tmp_path)


def archive(kind: str, members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w") as zipped:
            for name, content in members.items():
                zipped.writestr(name, content)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for name, content in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_is_extracted_whole(kind, tmp_path):
    path = tmp_path / f"set.{kind}"
    path.write_bytes(archive(kind, {"set/a": b"1", "set/deep/b": b"2"}))
    download.extract(path, tmp_path / "set")
    assert files_in(tmp_path / "set") == ["a", "deep/b"]


@pytest.mark.parametrize(("kind", "name"), [("zip", "../../outside"), ("zip", "/outside"), ("tar.gz", "../../outside")])
def test_an_archive_member_that_points_outside_is_refused_with_all_the_rest(kind, name, tmp_path):
    inner = tmp_path / "inner" / "root"
    inner.mkdir(parents=True)
    path = inner / f"set.{kind}"
    path.write_bytes(archive(kind, {"set/a": b"1", name: b"2"}))
    with pytest.raises(data.DataError, match=rf"set\.{kind} is not to be trusted.*Nothing was kept"):
        download.extract(path, inner / "set")
    assert files_in(tmp_path) == [f"inner/root/set.{kind}"]


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_truncated_archive_is_refused(kind, tmp_path):
    path = tmp_path / f"set.{kind}"
    noise = np.random.default_rng(0).bytes(50_000)
    path.write_bytes(archive(kind, {"set/a": noise, "set/b": noise})[:-30_000])
    with pytest.raises(data.DataError, match=rf"set\.{kind} is truncated or damaged. Delete it"):
        download.extract(path, tmp_path / "set")
    assert files_in(tmp_path) == [f"set.{kind}"]


def test_an_archive_of_something_else_is_refused(tmp_path):
    path = tmp_path / "set.zip"
    path.write_bytes(archive("zip", {"other/a": b"1"}))
    with pytest.raises(data.DataError, match="has no folder set"):
        download.extract(path, tmp_path / "set")
    assert files_in(tmp_path) == ["set.zip"]


def test_lsun_is_read_as_a_folder_of_images_of_any_size(tmp_path):
    with pytest.raises(data.DataError, match=r"there is no folder .*LSUN\. LSUN is not downloaded"):
        data.load("LSUN", "test", tmp_path)
    folder = tmp_path / "LSUN" / "bedroom"
    folder.mkdir(parents=True)
    with pytest.raises(data.DataError, match="LSUN has no images"):
        data.load("LSUN", "test", tmp_path)
    wide = np.zeros((64, 128, 3), np.uint8)
    wide[:, 32:96] = (10, 200, 30)  # the centred square
    Image.fromarray(wide).save(folder / "a.png")
    Image.fromarray(wide[:, :, 0]).save(folder / "b.png")
    images = data.load("LSUN", "test", tmp_path).images
    assert images.shape == (2, 3, 32, 32)
    assert images[0, :, 16, 16].tolist() == [10, 200, 30]


def test_an_image_that_cannot_be_decoded_is_named(tmp_path):
    (tmp_path / "LSUN").mkdir()
    (tmp_path / "LSUN/broken.jpg").write_bytes(b"not a picture")
    with pytest.raises(data.DataError, match=r"broken\.jpg cannot be decoded.*Replace or delete it"):
        data.load("LSUN", "test", tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", None], ids=["empty", "foreign", "truncated"])
def test_a_damaged_cache_is_refused_with_a_remedy(content, tmp_path):
    data.load("Textures", "test", cache=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1000] if content is None else content)
    with pytest.raises(data.DataError, match=r"Textures.*\.npz is damaged .*Delete it and run again"):
        data.load("Textures", "test", cache=tmp_path)


def test_a_full_disk_costs_nothing_that_was_there(tmp_path):
    """A limit on file sizes makes the kernel refuse the write, as a full disk does."""
    code = (
        "import resource, sys, numpy as np\n"
        "from gped import data\n"
        "images = data.ImageSet('big', np.zeros((2000, 1, 28, 28), np.uint8), np.zeros(2000, np.int64), 'zeros')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))\n"
        "images.save(sys.argv[1])"
    )
    path = tmp_path / "big.npz"
    path.write_bytes(b"what was there before")
    result = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert f"DataError: cannot write {path}: File too large. Nothing was changed" in result.stderr
    assert path.read_bytes() == b"what was there before"
    assert files_in(tmp_path) == ["big.npz"]


def test_torchvision_can_be_imported_and_has_the_same_checksums():
    datasets = download.torchvision("datasets")
    for name, files in official.IDX_FILES.items():
        assert dict(getattr(datasets, name).resources) == files
    assert datasets.SVHN.split_list["test"][2] == official.SVHN_TEST_MD5


def test_a_torchvision_whose_operators_do_not_match_torch_is_imported_all_the_same():
    def python(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)

    if python("import torchvision").returncode == 0:
        pytest.skip("here torchvision's operators match torch")
    result = python("from gped.data import download; print(download.torchvision('datasets').MNIST.__name__)")
    assert result.stdout == "MNIST\n", result.stderr
