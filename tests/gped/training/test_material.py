"""What is read of a folder: sizes, colours, what is held out, and what is refused."""

import numpy as np
import pytest
import torch
from PIL import Image

import gped
from gped.training.material import held_out, read_material
from tests.gped.training.conftest import NAMES


def test_the_same_share_of_each_class_is_held_out_and_at_least_one():
    labels = torch.tensor([0] * 100 + [1] * 5 + [2] * 33)[torch.randperm(138, generator=gped.stream(0, "order"))]
    kept = held_out(labels, seed=0)
    assert labels[kept].bincount().tolist() == [20, 1, 7]
    assert torch.equal(kept, held_out(labels, seed=0)) and not torch.equal(kept, held_out(labels, seed=1))
    many = torch.arange(30_000) % 3
    assert held_out(many, seed=0).sum() == 2001  # 2,000, of which each class has a third
    assert held_out(torch.cat([many, torch.full((5,), 3)]), seed=0)[-5:].sum() == 1


def test_every_image_is_either_learnt_from_or_held_out(pictures):
    material, found = read_material(pictures, None, [], seed=0), gped.image_folder(pictures, (1, 8, 8))
    both = torch.cat([material.train.images, material.held_out.images])
    labels = torch.cat([material.labels, material.truth])
    assert material.truth.bincount().tolist() == [8, 8, 8]
    expected = sorted(zip(found.labels.tolist(), found.images.flatten(1).tolist(), strict=True))
    assert sorted(zip(labels.tolist(), both.flatten(1).tolist(), strict=True)) == expected
    assert material.class_names == NAMES and material.refused == []
    assert material.train.scaling == material.held_out.scaling == gped.Scaling.standardising(material.train.images)


def test_grey_images_are_seen_in_grey_also_if_they_are_stored_in_colour(pictures, digits):
    grey, stored_in_colour = (read_material(path, None, [], 0) for path in (pictures, digits(mode="RGB")))
    assert grey.train.shape == stored_in_colour.train.shape == (1, 8, 8)
    assert grey.digest == stored_in_colour.digest


def test_one_image_in_colour_is_enough_to_see_all_in_colour(digits):
    folder = digits()
    Image.new("RGB", (8, 8), (200, 100, 0)).save(folder / "one" / "orange.png")
    assert read_material(folder, None, [], 0).train.shape == (3, 8, 8)


def test_the_size_is_that_of_most_images_or_what_was_asked_for(digits, caplog):
    folder = digits()
    Image.new("L", (20, 10)).save(folder / "one" / "wide.png")
    assert read_material(folder, None, [], 0).train.shape == (1, 8, 8)
    assert read_material(folder, "12x9", [], 0).train.shape == (1, 9, 12)
    for file in folder.rglob("*.png"):
        Image.open(file).resize((120, 60)).save(file)
    with caplog.at_level("INFO", logger="gped"):
        assert read_material(folder, None, [], 0).train.shape == (1, 16, 32)
    assert "most images are of 120×60 pixels and made smaller, 32×16; see --size" in caplog.messages


def test_unlabelled_images_come_after_those_that_are_learnt_from(pictures, tmp_path):
    for number in range(3):
        (tmp_path / "more" / "deep").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (30, 40), (number, 9, 9)).save(tmp_path / "more" / "deep" / f"{number}.png")
    Image.new("L", (8, 8), 77).save(tmp_path / "alone.png")
    plain = read_material(pictures, None, [], 0)
    assert torch.equal(plain.unlabelled.images, plain.train.images)
    material = read_material(pictures, None, [tmp_path / "more", tmp_path / "alone.png"], 0)
    assert torch.equal(material.train.images, plain.train.images)
    assert torch.equal(material.unlabelled.images[: len(plain.train)], plain.train.images)
    assert material.unlabelled.images[len(plain.train) :].shape == (4, 1, 8, 8)
    assert (material.unlabelled.images[-1] == 77).all()


def test_the_digest_changes_with_an_image_a_label_a_name_and_what_is_held_out(digits):
    def digest(seed: int = 0) -> str:
        return read_material(folder, None, [], seed).digest

    folder = digits()
    digests = [digest(), digest(seed=1)]
    first = min((folder / "one").iterdir())
    first.rename(folder / "two" / first.name)
    digests.append(digest())
    (folder / "two").rename(folder / "zwei")
    digests.append(digest())
    pixels = np.array(Image.open(folder / "zwei" / first.name))
    pixels[3, 3] ^= 1
    Image.fromarray(pixels).save(folder / "zwei" / first.name)
    digests.append(digest())
    material = read_material(folder, None, [], 0)
    for other in ({"labels": material.labels.flip(0)}, {"truth": material.truth.flip(0)}):
        digests.append(material._replace(**other).digest)
    assert len(set(digests)) == 7


def test_what_cannot_be_read_is_left_out_and_named(digits):
    folder, more = digits(), digits("more", each=2)
    for broken in (folder / "one" / "broken.png", more / "two" / "broken.png"):
        broken.write_bytes(b"no image")
    material = read_material(folder, None, [more], 0)
    assert material.refused == [folder / "one" / "broken.png", more / "two" / "broken.png"]
    assert len(material.train) + len(material.held_out) == 120
    assert len(material.unlabelled) == len(material.train) + 6


# What is refused


def test_a_folder_that_is_not_there_gets_a_suggestion(pictures):
    with pytest.raises(FileNotFoundError, match=r"there are no images at .*picture\. Did you mean .*pictures\?"):
        read_material(pictures.with_name("picture"), None, [], 0)


def test_a_folder_without_classes_is_refused(pictures, digits):
    with pytest.raises(
        ValueError, match=r"the images in .*nought are not labelled: .*/nought/\d+\.png is not in a fold"
    ):
        read_material(pictures / "nought", None, [], 0)
    with pytest.raises(
        ValueError, match=r"not labelled: .*/above/pictures/nought/\d+\.png is not .*/above/cat/\d+\.png"
    ):
        read_material(digits("above/pictures").parent, None, [], 0)


def test_a_single_class_is_refused(digits):
    folder = digits()
    for name in NAMES[1:]:
        (folder / name).rename(folder.parent / name)
    with pytest.raises(ValueError, match="pictures are of one class, nought: there is nothing to tell apart"):
        read_material(folder, None, [], 0)


def test_classes_with_too_few_images_are_refused_by_name(digits):
    folder = digits()
    for name in NAMES[:2]:
        for file in sorted((folder / name).iterdir())[4 if name == "nought" else 5 :]:
            file.unlink()
    with pytest.raises(ValueError, match=r"too few images of nought \(4\): at least 5 of each class"):
        read_material(folder, None, [], 0)


def test_a_colour_that_never_changes_is_refused(tmp_path):
    for name in NAMES[:2]:
        (tmp_path / name).mkdir()
        for number in range(5):
            pixels = np.random.default_rng(number).integers(0, 256, (8, 8, 3), np.uint8)
            pixels[..., 1] = 3
            Image.fromarray(pixels).save(tmp_path / name / f"{number}.png")
    with pytest.raises(ValueError, match="a colour has the same value in all pixels of all images"):
        read_material(tmp_path, None, [], 0)
