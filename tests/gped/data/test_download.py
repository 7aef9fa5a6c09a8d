"""Downloads that stall and archives that lie: one sentence each, and nothing half-written."""

import http.server
import io
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile

import numpy as np
import pytest

from gped import data
from gped.data import download
from tests.helpers import files_in


def test_a_server_that_goes_silent_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(download, "STALLED", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
        with pytest.raises(data.DataError, match=r"cannot download file .*timed out"):
            download.fetch(tmp_path / "file", [url], None)
    assert files_in(tmp_path) == []


class Half(http.server.BaseHTTPRequestHandler):
    """Announces a thousand bytes, sends half of them, and hangs up."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(bytes(500))

    def log_message(self, *_):
        pass


def test_half_a_file_is_not_kept_although_nobody_knows_its_hash(tmp_path):
    with http.server.HTTPServer(("127.0.0.1", 0), Half) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/notMNIST_small.tar.gz"
        with pytest.raises(data.DataError, match="500 bytes instead of the announced 1000"):
            download.fetch(tmp_path / "notMNIST_small.tar.gz", [url], None)
    assert files_in(tmp_path) == []


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
    with pytest.raises(data.DataError, match=rf"set\.{kind} is truncated or damaged. Move it away"):
        download.extract(path, tmp_path / "set")
    assert files_in(tmp_path) == [f"set.{kind}"]


def test_an_archive_of_something_else_is_refused(tmp_path):
    path = tmp_path / "set.zip"
    path.write_bytes(archive("zip", {"other/a": b"1"}))
    with pytest.raises(data.DataError, match="has no folder set"):
        download.extract(path, tmp_path / "set")
    assert files_in(tmp_path) == ["set.zip"]


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_that_would_fill_the_disk_is_refused_before_anything_is_written(kind, monkeypatch, tmp_path):
    monkeypatch.setattr(download, "LARGEST", 10**7)
    monkeypatch.setattr(zipfile.ZipFile, "extractall", lambda *_: pytest.fail("it was extracted"))
    monkeypatch.setattr(tarfile.TarFile, "extractall", lambda *_, **__: pytest.fail("it was extracted"))
    path = tmp_path / f"set.{kind}"
    path.write_bytes(archive(kind, {"set/a": bytes(6 * 10**6), "set/b": bytes(6 * 10**6)}))
    with pytest.raises(data.DataError, match=rf"set\.{kind} would unpack to more than 0\.01 GB"):
        download.extract(path, tmp_path / "set")
    assert files_in(tmp_path) == [f"set.{kind}"]


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [(6, 1, "encrypted, password required"), (8, 97, "compression method is not supported")],
    ids=["encrypted", "unknown compression"],
)
def test_a_zip_that_cannot_be_read_gets_a_sentence(position, value, reason, tmp_path):
    """The flags and the method of its member are changed where it stands, and in the directory two bytes later."""
    content = bytearray(archive("zip", {"set/a": b"1"}))
    content[position] = content[content.index(b"PK\x01\x02") + position + 2] = value
    path = tmp_path / "set.zip"
    path.write_bytes(content)
    with pytest.raises(data.DataError, match=rf"set\.zip cannot be extracted: .*{reason}.* Move it away"):
        download.extract(path, tmp_path / "set")
    assert files_in(tmp_path) == ["set.zip"]


@pytest.mark.slow
def test_a_torchvision_whose_operators_do_not_match_torch_is_imported_all_the_same():
    def python(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)

    if python("import torchvision").returncode == 0:
        pytest.skip("here torchvision's operators match torch")
    result = python("from gped.data import download; print(download.torchvision('datasets').MNIST.__name__)")
    assert result.stdout == "MNIST\n", result.stderr
