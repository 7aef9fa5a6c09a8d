"""The size in which images of a folder are looked at."""

import numpy as np
import pytest
from PIL import Image

from gped.data.sizes import common_size, reduced, size_of


def test_a_size_is_a_side_or_a_width_and_a_height():
    assert size_of("28") == (28, 28)
    assert size_of("32x24") == size_of(" 32×24 ") == (32, 24)


@pytest.mark.parametrize("text", ["", "0", "32x", "32x0", "-3", "28.5", "32x24x3", "big"])
def test_another_text_gets_a_sentence(text):
    with pytest.raises(ValueError, match=r"the size of images is .*: it must be a side, such as 28, or a width and"):
        size_of(text)


def test_the_common_size_is_that_of_most_images_and_files_that_are_none_do_not_count(tmp_path):
    sizes = [(8, 4), (30, 20), (8, 4), (2, 2), (30, 20), (8, 4)]
    for number, size in enumerate(sizes):
        Image.new("L", size).save(tmp_path / f"{number}.png")
    for number in range(4):
        (tmp_path / f"broken {number}.png").write_bytes(b"no image")
    assert common_size(sorted(tmp_path.iterdir())) == (8, 4)
    assert common_size([tmp_path / "1.png", tmp_path / "0.png"]) == (8, 4)  # as common: the smaller
    assert common_size(sorted(tmp_path.glob("broken*"))) == (32, 32)


def test_images_are_reduced_in_proportion_and_never_enlarged():
    assert reduced((640, 480)) == (32, 24)
    assert reduced((28, 28)) == (28, 28) and reduced((5, 32)) == (5, 32)
    assert reduced((10_000, 3)) == (32, 1)
    for width, height in np.random.default_rng(0).integers(1, 4000, (50, 2)):
        small = reduced((width, height))
        assert max(small) <= 32 and min(small) >= 1
        assert abs(small[0] - width * min(1, 32 / max(width, height))) <= 0.5 or small[0] == 1
