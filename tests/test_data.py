"""Sets, masks and subsamples: exactly what the protocol says, from real files where they are at hand."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from gped import data

ones = np.ones((200, 1, 28, 28), np.uint8)


@given(side=st.integers(1, 27), seed=st.integers(0, 1000), role=st.sampled_from(["D", "D'", "test", "KMNIST"]))
def test_a_mask_is_one_square_of_zeros_in_each_image(side, seed, role):
    masked = data.mask(ones[:20], side, data_seed=seed, role=role)
    for image in masked[:, 0]:
        rows, columns = np.nonzero(image == 0)
        assert len(rows) == side**2
        assert np.ptp(rows) == np.ptp(columns) == side - 1


@pytest.mark.parametrize(
    ("side", "rate"), [(5, 0.03), (10, 0.13), (15, 0.29), (20, 0.51), (25, 0.80), (14, 0.25), (26, 0.862)]
)
def test_masking_rates_are_those_of_the_paper(side, rate):
    assert 1 - data.mask(ones, side, data_seed=0, role="D").mean() == pytest.approx(rate, abs=0.005)


def test_every_position_of_a_mask_is_equally_likely_the_last_included():
    many = np.ones((20_000, 1, 28, 28), np.uint8)
    masked = data.mask(many, 25, data_seed=0, role="D")[:, 0]
    tops, lefts = (masked == 0).any(2).argmax(1), (masked == 0).any(1).argmax(1)
    counts = np.histogram2d(tops, lefts, bins=[range(5), range(5)])[0]
    assert counts.sum() == len(many)
    assert scipy.stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_masks_depend_on_seed_role_and_side_and_on_nothing_else():
    def positions(**changes: object) -> np.ndarray:
        options = {"side": 10, "data_seed": 0, "role": "D"} | changes
        return data.mask(ones, options.pop("side"), **options)

    np.testing.assert_array_equal(positions(), positions())
    for change in ({"data_seed": 1}, {"role": "D'"}, {"role": "test"}):
        same = (positions() == positions(**change)).all((1, 2, 3)).mean()
        assert same < 0.05  # two independent masks of 19² positions rarely agree
    centre, larger = positions()[:, 0].argmin(1), positions(side=11)[:, 0].argmin(1)
    assert (centre == larger).all(1).mean() < 0.05


def test_no_mask_leaves_the_images_as_they_are_and_masks_leave_the_original_alone():
    images = ones.copy()
    assert data.mask(images, 0, data_seed=0, role="D") is images
    data.mask(images, 14, data_seed=0, role="D")
    assert images.all()


@pytest.mark.parametrize("side", [-1, 28, 40])
def test_impossible_masks_are_refused(side):
    with pytest.raises(ValueError, match=f"mask of side {side} does not suit images of 28×28"):
        data.mask(ones, side, data_seed=0, role="D")


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), sizes=st.lists(st.integers(1, 700), min_size=2, max_size=5))
def test_subsamples_are_nested_and_balanced(seed, sizes):
    labels = np.random.default_rng(1).permutation(np.arange(700) % 7)
    subsets = [data.nested_subsample(labels, size, data_seed=seed) for size in sorted(sizes)]
    for size, subset in zip(sorted(sizes), subsets, strict=True):
        counts = np.bincount(labels[subset], minlength=7)
        assert len(set(subset)) == size and counts.max() - counts.min() <= 1
    for smaller, larger in pairwise(subsets):
        assert set(smaller) <= set(larger)


def test_a_subsample_of_unequal_classes_is_balanced_as_long_as_it_can_be():
    labels = np.repeat([0, 1, 2], [10, 100, 100])
    assert np.bincount(labels[data.nested_subsample(labels, 30, data_seed=0)]).tolist() == [10, 10, 10]
    assert np.bincount(labels[data.nested_subsample(labels, 110, data_seed=0)]).tolist() == [10, 50, 50]
    assert data.nested_subsample(labels, 210, data_seed=0).tolist() == list(range(210))


def test_another_seed_gives_another_subsample():
    labels = np.arange(1000) % 10
    first, second = (data.nested_subsample(labels, 100, data_seed=seed) for seed in (0, 1))
    assert len(set(first) & set(second)) < 30


@pytest.mark.parametrize("size", [0, -5, 1001])
def test_impossible_training_sizes_are_refused(size):
    with pytest.raises(ValueError, match=f"training size of {size} cannot be taken from 1000"):
        data.nested_subsample(np.zeros(1000, int), size, data_seed=0)


def test_out_of_distribution_sets_are_cut_by_a_choice_of_the_seed():
    assert data.at_most(50, 100, data_seed=0, role="KMNIST").tolist() == list(range(50))
    chosen = data.at_most(10_000, 5_000, data_seed=0, role="KMNIST")
    assert len(set(chosen)) == 5_000 and (np.diff(chosen) > 0).all()
    assert not np.array_equal(chosen, data.at_most(10_000, 5_000, data_seed=0, role="notMNIST"))


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


def test_unknown_sets_and_splits_get_a_sentence_with_a_suggestion():
    with pytest.raises(ValueError, match=r"no set 'mnist'. Did you mean MNIST"):
        data.load("mnist", "train")
    with pytest.raises(ValueError, match="SVHN has no split 'train', only test"):
        data.load("SVHN", "train")


@pytest.mark.parametrize(
    ("name", "split", "counts"),
    [
        ("MNIST", "train", [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]),
        ("MNIST", "test", [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]),
        ("KMNIST", "test", [1000] * 10),
        ("CIFAR10", "train", [5000] * 10),
        ("CIFAR10", "test", [1000] * 10),
        ("notMNIST", "test", [1872, 1873, 1873, 1873, 1873, 1872, 1872, 1872, 1872, 1872]),
        ("TIM", "test", [10000]),
        ("SVHN", "test", None),
    ],
)
def test_real_sets_are_found_and_decoded_with_their_published_counts(name, split, counts, real_root, tmp_path):
    images = data.load(name, split, real_root, tmp_path, unofficial=["SVHN"])
    assert images.images.shape[1:] == data.entry_of(name).shape
    if counts:
        assert np.bincount(images.labels).tolist() == counts
    again = data.load(name, split, tmp_path / "nothing is here", tmp_path)
    np.testing.assert_array_equal(again.images, images.images)
    assert again.source == images.source


def test_the_statistics_of_real_pixels_are_the_well_known_ones(real_root, tmp_path):
    mnist = data.load("MNIST", "train", real_root, tmp_path).images / 255
    assert (mnist.mean(), mnist.std()) == pytest.approx((0.1307, 0.3081), abs=1e-4)
    cifar = data.load("CIFAR10", "train", real_root, tmp_path).images
    means = [cifar[:, channel].mean() / 255 for channel in range(3)]
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def test_a_file_of_another_version_is_refused_unless_the_user_trusts_it(real_root, tmp_path):
    with pytest.raises(data.DataError, match=r"test_32x32\.mat has the MD5 .* list SVHN under data\.unofficial"):
        data.load("SVHN", "test", real_root, tmp_path)
    assert not list(tmp_path.iterdir())
