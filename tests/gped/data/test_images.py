"""A set of images is written whole or not at all."""

import subprocess
import sys

from tests.helpers import files_in


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
    assert f"NotWrittenError: cannot write {path}: File too large. Nothing was changed" in result.stderr
    assert path.read_bytes() == b"what was there before"
    assert files_in(tmp_path) == ["big.npz"]
