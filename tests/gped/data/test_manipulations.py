"""Masks and subsamples: exactly what the protocol says."""

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
