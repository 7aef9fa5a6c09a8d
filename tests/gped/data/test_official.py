"""Official files, real where they are at hand; bad ones and bad mirrors leave nothing that a later run would trust."""

import gzip
import hashlib
import http.server
import threading

import numpy as np
import pytest
import scipy.io
from PIL import Image

from gped import data
from gped.data import download, official
from tests.helpers import files_in


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
    monkeypatch.setitem(data.OFFICIAL, "MNIST", data.OFFICIAL["MNIST"]._replace(splits={"test": 3}))

    def serve(*faults: str) -> None:
        monkeypatch.setattr(official, "_idx_urls", lambda name, file: [f"{mirror}/{fault}/{file}" for fault in faults])

    return serve


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
    [("missing", "Not Found"), ("truncated", "instead of the announced"), ("altered", "instead of")],
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


def test_what_was_trusted_once_is_not_taken_for_official_later(small_mnist, tmp_path):
    small_mnist("good")
    official_images = data.load("MNIST", "test", tmp_path)
    assert official_images.name == "MNIST"
    path = tmp_path / "MNIST/raw/t10k-images-idx3-ubyte.gz"
    path.write_bytes(idx(np.zeros((3, 28, 28))))
    trusted = data.load("MNIST", "test", tmp_path, unofficial=["MNIST"])
    assert trusted.name == "MNIST (unofficial)" and not trusted.images.any()
    for _ in range(2):  # neither from the cache of the first, nor from that of the second
        with pytest.raises(data.DataError, match=r"t10k-images-idx3-ubyte\.gz has the MD5 .* not the official"):
            data.load("MNIST", "test", tmp_path)
    path.write_bytes(IMAGES[path.name])
    again = data.load("MNIST", "test", tmp_path, unofficial=["MNIST"])
    np.testing.assert_array_equal(again.images, official_images.images)


def test_files_that_are_gone_are_read_from_the_cache(small_mnist, tmp_path):
    small_mnist("good")
    images = data.load("MNIST", "test", tmp_path)
    for path in (tmp_path / "MNIST/raw").iterdir():
        path.unlink()
    small_mnist("missing")
    np.testing.assert_array_equal(data.load("MNIST", "test", tmp_path).images, images.images)


def test_files_in_another_form_are_read_and_not_the_cache_of_those_that_are_gone(small_mnist, tmp_path):
    small_mnist("good")
    data.load("MNIST", "test", tmp_path, unofficial=["MNIST"])
    raw = tmp_path / "MNIST/raw"
    for path in raw.iterdir():
        path.unlink()
    (raw / "t10k-images-idx3-ubyte").write_bytes(gzip.decompress(idx(np.full((2, 28, 28), 7))))
    (raw / "t10k-labels-idx1-ubyte").write_bytes(gzip.decompress(idx(np.zeros(2))))
    assert data.load("MNIST", "test", tmp_path, unofficial=["MNIST"]).images.tolist() == [[[[7] * 28] * 28]] * 2


@pytest.mark.parametrize("name", ["MNIST", "KMNIST"])
def test_plain_files_of_another_set_are_not_official(name, tmp_path):
    raw = tmp_path / f"{name}/raw"
    raw.mkdir(parents=True)
    (raw / "t10k-images-idx3-ubyte").write_bytes(gzip.decompress(idx(np.zeros((10_000, 28, 28)))))
    (raw / "t10k-labels-idx1-ubyte").write_bytes(gzip.decompress(idx(np.zeros(10_000))))
    with pytest.raises(data.DataError, match=r"t10k-images-idx3-ubyte has the MD5 .* not the official"):
        data.load(name, "test", tmp_path)


@pytest.mark.slow
def test_the_plain_files_of_mnist_are_what_its_archives_hold(real_root):
    for packed, md5 in official.IDX_FILES["MNIST"].items():
        content = (real_root / "MNIST/raw" / packed).read_bytes()
        assert hashlib.md5(content).hexdigest() == md5
        inner = official.IDX_CONTENTS["MNIST"][packed.removesuffix(".gz")]
        assert hashlib.md5(gzip.decompress(content)).hexdigest() == inner


def test_fewer_images_than_a_set_has_are_refused_and_not_cached(tmp_path):
    folder = tmp_path / "tiny-imagenet-200/test/images"
    folder.mkdir(parents=True)
    for number in range(2):
        Image.new("RGB", (64, 64)).save(folder / f"{number}.png")
    with pytest.raises(data.DataError, match=r"TIM has 2 test images .* instead of 10000: .* under data\.unofficial"):
        data.load("TIM", "test", tmp_path)
    assert not list(tmp_path.glob("cache/*"))
    assert len(data.load("TIM", "test", tmp_path, unofficial=["TIM"])) == 2
    Image.new("RGB", (64, 64)).save(folder / "one more.png")
    assert len(data.load("TIM", "test", tmp_path, unofficial=["TIM"])) == 3


@pytest.mark.parametrize("bad", ["complex without a second part", "truncated", "foreign", "another array", "text"])
def test_a_damaged_matlab_file_gets_a_sentence(bad, tmp_path):
    """The first of these ends scipy, and the process that it is in."""
    path = tmp_path / "SVHN/test_32x32.mat"
    path.parent.mkdir()
    arrays = {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.ones((2, 1), np.uint8)}
    if bad == "another array":
        arrays["Z"] = arrays.pop("X")
    elif bad == "text":
        arrays["y"] = "one"
    scipy.io.savemat(path, arrays)
    content = bytearray(path.read_bytes())
    if bad == "truncated":
        content = content[:3000]
    elif bad == "foreign":
        content = bytearray(b"no matrix at all" * 100)
    elif bad.startswith("complex"):
        content[145] = 219
    path.write_bytes(content)
    with pytest.raises(data.DataError, match=r"test_32x32\.mat (is damaged|has labels)"):
        data.load("SVHN", "test", tmp_path, unofficial=["SVHN"])


def test_names_of_classes_come_with_the_sets(small_mnist, tmp_path):
    small_mnist("good")
    names = data.load("MNIST", "test", tmp_path).class_names
    assert names == data.load("MNIST", "test", tmp_path).class_names  # from the cache
    datasets = download.torchvision("datasets")
    assert [name.split(" - ")[0] for name in datasets.MNIST.classes] == list(names)
    said = dict(zip("おきすつなはまやれを", ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"], strict=True))
    assert [said[name] for name in data.entry_of("KMNIST").class_names] == datasets.KMNIST.classes


def test_images_of_another_shape_are_refused(tmp_path):
    raw = tmp_path / "MNIST/raw"
    raw.mkdir(parents=True)
    (raw / "t10k-images-idx3-ubyte").write_bytes(gzip.decompress(idx(np.zeros((3, 27, 28)))))
    (raw / "t10k-labels-idx1-ubyte").write_bytes(gzip.decompress(idx(np.zeros(3))))
    with pytest.raises(data.DataError, match=r"MNIST in .* has images of shape \(3, 27, 28\)"):
        data.load("MNIST", "test", tmp_path, unofficial=["MNIST"])


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
    images = data.load("LSUN", "test", tmp_path, unofficial=["LSUN"]).images
    assert images.shape == (2, 3, 32, 32)
    assert images[0, :, 16, 16].tolist() == [10, 200, 30]


def test_digits_of_svhn_have_their_own_labels_the_zero_which_the_file_calls_ten_included(tmp_path):
    digits = np.array([10, 1, 9, 5, 10])
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 5), dtype=np.uint8)
    scipy.io.savemat(tmp_path / "test_32x32.mat", {"X": pixels, "y": digits[:, None].astype(np.uint8)})
    images = data.load("SVHN", "test", tmp_path, unofficial=["SVHN"])
    assert images.labels.tolist() == [0, 1, 9, 5, 0]
    for number in range(5):
        np.testing.assert_array_equal(images.images[number], np.moveaxis(pixels[..., number], 2, 0))


def test_torchvision_can_be_imported_and_has_the_same_checksums():
    datasets = download.torchvision("datasets")
    for name, files in official.IDX_FILES.items():
        assert dict(getattr(datasets, name).resources) == files
    assert datasets.SVHN.split_list["test"][2] == official.SVHN_TEST_MD5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "split", "counts"),
    [
        ("MNIST", "train", [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]),
        ("MNIST", "test", [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
        ("KMNIST", "test", [1000] * 10),
        ("CIFAR10", "train", [5000] * 10),
        ("CIFAR10", "test", [1000] * 10),
        ("notMNIST", "test", [1872, 1873, 1873, 1873, 1873, 1872, 1872, 1872, 1872, 1872]),
        ("TIM", "test", [10000]),
        ("SVHN", "test", None),
    ],
)
def test_real_sets_are_found_and_decoded_with_their_published_counts(name, split, counts, real_root, tmp_path):
    images = data.load(name, split, real_root, tmp_path, unofficial=["SVHN"])
    assert images.images.shape[1:] == data.entry_of(name).shape
    if counts:
        assert np.bincount(images.labels).tolist() == counts
    again = data.load(name, split, tmp_path / "nothing is here", tmp_path, unofficial=["SVHN"])
    np.testing.assert_array_equal(again.images, images.images)
    assert again.source == images.source


@pytest.mark.slow
def test_the_statistics_of_real_pixels_are_the_well_known_ones(real_root, tmp_path):
    mnist = data.load("MNIST", "train", real_root, tmp_path).images / 255
    assert (mnist.mean(), mnist.std()) == pytest.approx((0.1307, 0.3081), abs=1e-4)
    cifar = data.load("CIFAR10", "train", real_root, tmp_path).images
    means = [cifar[:, channel].mean() / 255 for channel in range(3)]
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


@pytest.mark.slow
def test_a_file_of_another_version_is_refused_unless_the_user_trusts_it(real_root, tmp_path):
    with pytest.raises(data.DataError, match=r"test_32x32\.mat has the MD5 .* list SVHN under data\.unofficial"):
        data.load("SVHN", "test", real_root, tmp_path)
    assert not list(tmp_path.iterdir())
