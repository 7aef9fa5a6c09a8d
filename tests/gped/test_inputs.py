"""Inputs stay as they are stored, and enter networks as their scaling says."""

import numpy as np
import pytest
import torch

import gped
from tests.helpers import TINY_DENSE, random_images, same


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


class Items(torch.utils.data.Dataset):
    """A data set that counts what it is asked for."""

    def __init__(self, items: torch.Tensor, labelled: bool = True) -> None:
        self.items, self.labelled, self.asked = items, labelled, 0

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int):
        self.asked += 1
        return (self.items[index], index % 3) if self.labelled else self.items[index]


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("kind", ["bytes without a channel", "bytes", "numbers", "double precision"])
def test_a_dataset_and_a_mapped_file_are_what_a_tensor_in_memory_is(kind, labelled, tmp_path):
    images = random_images(TINY_DENSE, 40)
    numbers = images.double() / 300
    kinds = {"bytes without a channel": images[:, 0], "bytes": images, "numbers": numbers.float()}
    images = kinds.get(kind, numbers)
    np.save(tmp_path / "images.npy", images.numpy())
    scaling = gped.Scaling((0.4,), (0.2,))
    plain = gped.Inputs(images, scaling)
    for other in (Items(images, labelled), np.load(tmp_path / "images.npy", mmap_mode="r")):
        mapped = gped.Inputs(other, scaling)
        assert (len(mapped), mapped.shape, mapped.are_pixels, mapped.digest) == (40, (1, 8, 8), True, plain.digest)
        assert gped.Scaling.standardising(other) == gped.Scaling.standardising(images)
        for which in (torch.tensor([3, 3, 39]), slice(35, 99)):
            assert torch.equal(mapped[which], plain[which])
        assert not isinstance(other, np.memmap) or mapped.images.data_ptr() == other.ctypes.data  # none was copied


def test_a_chain_reads_and_learns_from_a_dataset_as_from_memory_and_asks_for_no_more_than_it_needs(make_chain):
    images, labels = random_images(TINY_DENSE, 60), torch.arange(60) % 3
    settings = {"steps": 20, "burn_in": 0, "thinning": 10, "batch_size": 20, "reading_size": 5}

    def chain(data: object) -> gped.Chain:
        network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
        return gped.Chain(network, data, labels, data, gped.SGLD(1e-3), **settings)

    data = Items(images)
    assert all(same(a, b) for a, b in zip(chain(data), chain(images), strict=True))
    assert data.asked <= 20 * 20 + 2 * 5 + 5


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (torch.utils.data.DataLoader(Items(torch.zeros(3, 2))), "or a DataLoader does not have"),
        (Items(torch.zeros(0, 2)), "the data set of inputs is empty"),
        (["a picture"], "item 0 of the data set is a str: it must be a tensor"),
        ([torch.zeros(3), torch.zeros(4)], r"item 1 of the data set is torch.float32 of shape \(4,\), but item 0"),
        ([torch.zeros(3), torch.full((3,), torch.nan)], "input 1 has values that are not finite"),
    ],
)
def test_data_sets_that_cannot_be_inputs_are_refused_with_a_sentence(data, sentence):
    with pytest.raises(ValueError, match=sentence):
        gped.Inputs(data)[:2]
