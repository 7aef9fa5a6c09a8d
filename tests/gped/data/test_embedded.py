"""Sets that need no download: their shapes, their classes, and the same in every process."""

import subprocess
import sys

import numpy as np
import pytest

from gped import data

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", data.EMBEDDED)
def test_embedded_sets_have_their_shape_and_balanced_classes(name, tmp_path):
    for split in data.EMBEDDED[name].splits:
        images = data.load(name, split, cache=tmp_path)
        assert images.name == name
        assert len(images) == (4000 if split == "train" else 1000)
        assert images.images.shape[1:] == data.entry_of(name).shape
        if "train" in data.EMBEDDED[name].splits:
            assert set(np.bincount(images.labels)) == {len(images) // 10}
        assert 5 < images.images.std() < 128


def test_embedded_training_and_test_images_are_different_ones(tmp_path):
    for name in ("MNIST5k", "PhotoLetters"):
        train, test = (data.load(name, split, cache=tmp_path).images for split in ("train", "test"))
        assert not {image.tobytes() for image in train} & {image.tobytes() for image in test}


def test_embedded_sets_are_the_same_in_every_process_and_need_no_network_torch_or_torchvision(tmp_path):
    code = (
        "import hashlib, socket, sys\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "from gped import data\n"
        f"for name in data.EMBEDDED: print(hashlib.sha256(data.load(name, 'test', cache={str(tmp_path)!r} + "
        "sys.argv[1]).images.tobytes()).hexdigest())\n"
        "sys.exit('torch' in sys.modules or 'torchvision' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", code, f"/{n}"], capture_output=True, text=True) for n in (1, 2)]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert runs[0].stdout == runs[1].stdout and len(runs[0].stdout.splitlines()) == len(data.EMBEDDED)
