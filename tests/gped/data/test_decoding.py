"""Image files: what cannot be decoded is named."""

import pytest
from PIL import Image

import gped
from gped import data


def test_an_image_that_cannot_be_decoded_is_named(tmp_path):
    (tmp_path / "LSUN").mkdir()
    (tmp_path / "LSUN/broken.jpg").write_bytes(b"not a picture")
    with pytest.raises(data.DataError, match=r"broken\.jpg cannot be decoded.*Replace or delete it"):
        data.load("LSUN", "test", tmp_path)


@pytest.mark.parametrize("shape", [(2, 5, 5), (28, 28)])
def test_a_shape_that_no_image_has_is_refused_by_name(shape, tmp_path):
    Image.new("L", (5, 5)).save(tmp_path / "a.png")
    with pytest.raises(gped.data.DataError, match="1 or 3 channels"):
        gped.image_folder(tmp_path, shape)
