"""Inputs stay as they are stored, and enter networks as their scaling says."""

import numpy as np
import pytest
import torch

import gped
from tests.helpers import TINY_DENSE, random_images


def test_inputs_that_no_network_could_learn_from_are_refused():
    images = torch.rand(4, 3, 2, 2)
    with pytest.raises(ValueError, match="the scaling has 2 means, but the inputs have 3 channels"):
        gped.Inputs(images, gped.Scaling((0.1, 0.2), (1.0, 1.0)))
    images[2, 0, 1, 1] = torch.inf
    with pytest.raises(ValueError, match="input 2 has values that are not finite"):
        gped.Inputs(images)
    grey = torch.randint(0, 200, (50, 6, 5), dtype=torch.uint8)
    assert len(gped.Scaling.standardising(grey).mean) == 1


def test_standardised_images_have_mean_0_and_variance_1_in_each_channel():
    images = torch.randint(0, 200, (2500, 3, 5, 6), generator=gped.stream(0, "x"), dtype=torch.uint8)
    scaled = gped.Inputs(images, gped.Scaling.standardising(images))[:]
    torch.testing.assert_close(scaled.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(scaled.var((0, 2, 3), correction=0), torch.ones(3), atol=1e-4, rtol=0)


def test_numpy_arrays_and_images_without_their_single_channel_are_welcome():
    images = random_images(TINY_DENSE, 10)[:, 0].numpy()
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    labels = np.arange(10, dtype=np.uint8) % 3
    chain = gped.Chain(network, images, labels, images, gped.SGLD(1e-3), steps=5, burn_in=0, thinning=1, batch_size=2)
    assert len(list(chain)) == 5
    with pytest.raises(ValueError, match="convert them to bytes"):
        gped.Inputs(images.astype(np.int64))


def test_input_noise_has_its_size_in_pixels_and_stays_in_range():
    scaling = gped.Scaling((0.5,), (0.25,))
    scaled = scaling(torch.full((50, 1, 20, 20), 0.5))
    noisy = scaling.noisy(scaled, 0.01, gped.stream(0, "noise")) * 0.25 + 0.5
    assert noisy.std() == pytest.approx(0.01, rel=0.05)
    bright = scaling.noisy(scaling(torch.ones(50, 1, 20, 20)), 0.01, gped.stream(0, "noise")) * 0.25 + 0.5
    assert bright.max() <= 1 + 1e-6
