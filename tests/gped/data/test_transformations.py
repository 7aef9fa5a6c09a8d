"""Transformed copies of images, against what was done to single ones by hand."""

import numpy as np
import pytest

from gped.data import copies


def some_images(count: int = 300) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 1, 8, 8), dtype=np.uint8)


def test_a_turned_copy_is_the_image_turned_by_one_two_or_three_quarters_and_each_as_often():
    images = some_images()
    turned = copies(images, "turned", data_seed=3)
    quarters = [
        next(k for k in (0, 1, 2, 3) if np.array_equal(copy[0], np.rot90(image[0], k)))
        for image, copy in zip(images, turned, strict=True)
    ]
    counts = np.bincount(quarters, minlength=4)
    assert counts[0] == 0 and counts[1:].min() > 70


def test_noise_has_the_standard_deviation_that_it_should():
    grey = np.full((500, 1, 8, 8), 128, np.uint8)
    noise = copies(grey, "noisy", data_seed=0).astype(float) - 128
    assert noise.std() == pytest.approx(0.2 * 255, rel=0.03)  # a little less, because pixels end at 0 and 255
    assert abs(noise.mean()) < 1.5


def test_a_mixed_copy_lies_between_the_image_and_another():
    images = some_images(40)
    mixed = copies(images, "mixed", data_seed=0).astype(float)
    for number, copy in enumerate(mixed):
        fits = []
        for other in images.astype(float):
            difference = images[number] - other
            share = (difference * (copy - other)).sum() / max((difference**2).sum(), 1)
            fits.append(np.abs(other + share * difference - copy).max())
        assert min(fits) < 0.6  # pixels are rounded, and the share is fitted to them


@pytest.mark.parametrize("how", ["turned", "noisy", "mixed"])
def test_copies_are_bytes_of_the_same_shape_that_depend_on_the_data_seed_alone(how):
    images = some_images()
    once, again, other = (copies(images, how, data_seed=seed) for seed in (1, 1, 2))
    assert once.dtype == np.uint8 and once.shape == images.shape
    assert np.array_equal(once, again) and not np.array_equal(once, other)


def test_copies_that_cannot_be_made_get_a_sentence():
    with pytest.raises(ValueError, match="copies cannot be 'turnd': they must be one of turned, noisy, mixed"):
        copies(some_images(), "turnd", data_seed=0)
    with pytest.raises(ValueError, match="images of 8×6 cannot be turned: they must be square"):
        copies(some_images()[..., :6], "turned", data_seed=0)
