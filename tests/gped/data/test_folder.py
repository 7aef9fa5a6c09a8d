"""Folders of images, and of classes of images."""

import os

import numpy as np
import pytest
from PIL import Image

import gped


def test_folders_of_classes_give_labels_in_the_order_of_their_names(tmp_path):
    for name, level in (("dog", 10), ("cat", 200)):
        (tmp_path / name).mkdir()
        for number in range(2):
            Image.new("RGB", (8, 4), (level, 0, level)).save(tmp_path / name / f"{number}.PNG")
    found = gped.image_folder(tmp_path, (3, 4, 8))
    assert found.classes == ("cat", "dog") and found.labels.tolist() == [0, 0, 1, 1]
    assert found.images.shape == (4, 3, 4, 8) and found.images[2, :, 0, 0].tolist() == [10, 0, 10]
    assert found.files[0] == tmp_path / "cat/0.PNG"


def test_images_of_another_shape_are_converted_cut_and_resized(tmp_path):
    pixels = np.zeros((10, 20, 3), np.uint8)
    pixels[:, 5:15] = 255  # the centred square: half of the image
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = gped.image_folder(tmp_path, (1, 5, 5))
    assert found.labels is None and found.classes == ()
    assert found.images.shape == (1, 1, 5, 5) and found.images.float().mean() > 240


def test_hidden_folders_are_left_out_and_pixels_of_16_bits_refused(tmp_path):
    for name in ("cat", "dog", ".checkpoints"):
        (tmp_path / name).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / name / "0.png")
    assert gped.image_folder(tmp_path, (1, 4, 4)).classes == ("cat", "dog")
    Image.fromarray(np.full((4, 4), 1000, np.uint16)).save(tmp_path / "cat/1.png")
    with pytest.raises(gped.data.DataError, match=r"1\.png has pixels of more than 8 bits \(I;16\)"):
        gped.image_folder(tmp_path / "cat/1.png", (1, 4, 4))


def test_an_image_that_cannot_be_read_is_reported_and_left_out(tmp_path, caplog):
    for name, level in (("cat", 10), ("dog", 200), ("eel", 0)):
        (tmp_path / name).mkdir()
        for number in range(2):
            Image.new("L", (4, 4), level + number).save(tmp_path / name / f"{number}.png")
    broken = [tmp_path / "cat/0.png", tmp_path / "eel/0.png", tmp_path / "eel/1.png"]
    for path in broken:
        path.write_bytes(b"no picture")
    found = gped.image_folder(tmp_path, (1, 4, 4))
    assert list(found.refused) == broken
    assert caplog.text.count("left out: ") == 3 and "0.png cannot be decoded as an image" in caplog.text
    assert found.files == [tmp_path / "cat/1.png", tmp_path / "dog/0.png", tmp_path / "dog/1.png"]
    assert found.images[:, 0, 0, 0].tolist() == [11, 200, 201]
    assert found.classes == ("cat", "dog") and found.labels.tolist() == [0, 1, 1]


def test_a_folder_in_which_no_image_can_be_read_is_an_error(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"no picture")
    with pytest.raises(gped.data.DataError, match=r"0\.png cannot be decoded .* for 2 more: nothing is left"):
        gped.image_folder(tmp_path, (1, 4, 4))


def test_links_to_folders_are_followed_but_not_in_circles_and_pipes_are_no_images(tmp_path):
    for name in ("cat", "elsewhere/dog"):
        (tmp_path / name).mkdir(parents=True)
        Image.new("L", (4, 4)).save(tmp_path / name / "0.png")
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "cat").symlink_to(tmp_path / "cat")
    (folder / "dog").symlink_to(tmp_path / "elsewhere/dog")
    (folder / "again").symlink_to(folder)
    os.mkfifo(tmp_path / "cat/1.png")
    found = gped.image_folder(folder, (1, 4, 4))
    assert found.classes == ("cat", "dog") and found.files == [folder / "cat/0.png", folder / "dog/0.png"]
