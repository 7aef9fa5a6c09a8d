"""Image files: what cannot be decoded is named."""

import pytest
from PIL import Image

import gped
from gped import data


def test_an_image_that_cannot_be_decoded_is_named(tmp_path):
    (tmp_path / "LSUN").mkdir()
    (tmp_path / "LSUN/broken.jpg").write_bytes(b"not a picture")
    with pytest.raises(data.DataError, match=r"broken\.jpg cannot be decoded.*Replace it, or leave it out"):
        data.load("LSUN", "test", tmp_path)


def test_an_image_of_more_pixels_than_pillow_opens_gets_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 40)
    Image.new("L", (8, 8)).save(tmp_path / "odd.png")  # one and a half times as many: a warning, which is not ours
    assert len(gped.image_folder(tmp_path, (1, 8, 8)).images) == 1
    Image.new("L", (10, 10)).save(tmp_path / "bomb.png")
    found = gped.image_folder(tmp_path, (1, 8, 8))
    assert found.files == [tmp_path / "odd.png"]
    assert "bomb.png is too large (" in found.refused[tmp_path / "bomb.png"]


@pytest.mark.parametrize("shape", [(2, 5, 5), (28, 28)])
def test_a_shape_that_no_image_has_is_refused_by_name(shape, tmp_path):
    Image.new("L", (5, 5)).save(tmp_path / "a.png")
    with pytest.raises(gped.data.DataError, match="1 or 3 channels"):
        gped.image_folder(tmp_path, shape)
