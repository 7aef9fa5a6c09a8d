"""The images of a cell, as its settings say."""

from pathlib import Path

import numpy as np
import pytest
import torch

from gped.data.images import ImageSet
from tests.naive.images import seen
from workflow.jobs.cell_inputs import prepare

SETTINGS = {"train_size": 20, "mask": 0, "data_seed": 0, "standardise": False, "ood_limit": 5}


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("sets")
    generator = np.random.default_rng(0)
    for name, count in {"train": 60, "test": 12, "Far": 9, "Missing": 0}.items():
        images = generator.integers(1, 256, (count, 1, 28, 28), dtype=np.uint8)
        names = ("cat", "dog", "lion")
        ImageSet("MNIST", images, np.arange(count) % 3, "made up", names).save(folder / f"{name}.npz")
    return {name: str(folder / f"{name}.npz") for name in ("train", "test", "Far", "Missing")}


def test_d_is_a_part_of_the_training_images_and_d_prime_all_of_them(sets):
    inputs = prepare(SETTINGS, sets)
    assert (len(inputs.labelled), len(inputs.labels), len(inputs.unlabelled)) == (20, 20, 60)
    assert inputs.classes == 3 and inputs.class_names == ("cat", "dog", "lion")
    assert torch.equal(inputs.unlabelled.images, torch.from_numpy(ImageSet.load(sets["train"]).images))


def test_a_set_that_was_not_available_is_left_out_and_a_large_one_is_cut(sets):
    inputs = prepare(SETTINGS, sets)
    assert {name: len(images) for name, images in inputs.evaluated.items()} == {"test": 12, "Far": 5}


def test_masks_are_on_all_images_and_the_far_ones_are_also_there_without(sets):
    inputs = prepare(SETTINGS | {"mask": 14}, sets)
    for images in (inputs.labelled, inputs.unlabelled, inputs.evaluated["test"], inputs.evaluated["Far"]):
        assert ((images.images == 0).sum((1, 2, 3)) == 14 * 14).all()
    whole = inputs.evaluated["Far-unmasked"].images
    assert (whole > 0).all()
    seen = inputs.evaluated["Far"].images
    assert torch.equal(torch.where(seen > 0, seen, whole), whole)  # the same images, in the same order


def test_copies_follow_the_training_images_in_d_prime_with_masks_of_their_own(sets):
    inputs = prepare(SETTINGS | {"mask": 14, "copies": "turned"}, sets)
    assert torch.equal(inputs.unlabelled.images[:60], prepare(SETTINGS | {"mask": 14}, sets).unlabelled.images)
    first, copied = (part == 0 for part in inputs.unlabelled.images.split(60))
    assert (copied.sum((1, 2, 3)) == 14 * 14).all()
    assert (first == copied).all((1, 2, 3)).float().mean() < 0.1  # masks of the same places are rare


def test_pixels_are_standardised_by_the_training_images(sets):
    every = prepare(SETTINGS | {"standardise": True}, sets).unlabelled[torch.arange(60)]
    assert abs(float(every.mean())) < 1e-4 and abs(float(every.std()) - 1) < 1e-2


@pytest.mark.parametrize("mask", [0, 14])
@pytest.mark.parametrize("standardise", [False, True])
def test_every_role_has_the_images_masks_and_scaling_of_the_protocol(mask, standardise, sets):
    """Against loops: each role has masks of its own, drawn over its full set; the scaling is that of all of D'."""
    settings = {"mask": mask, "standardise": standardise, "data_seed": 3}
    inputs = prepare(SETTINGS | settings, sets)
    arrays = {name: (one.images, one.labels) for name, path in sets.items() for one in [ImageSet.load(path)]}
    expected = seen(arrays, SETTINGS["train_size"], mask, 3, standardise, SETTINGS["ood_limit"], ["Far"])
    assert inputs.labels.tolist() == expected.labels.tolist()
    assert inputs.evaluated.keys() == expected.evaluated.keys()
    pairs = [(inputs.labelled, expected.labelled), (inputs.unlabelled, expected.unlabelled)]
    for ours, theirs in (*pairs, *((inputs.evaluated[name], expected.evaluated[name]) for name in inputs.evaluated)):
        np.testing.assert_array_equal(ours.images.numpy(), theirs)
        np.testing.assert_allclose(ours[:].numpy(), expected.scaled(theirs), atol=1e-5)


@pytest.mark.parametrize("change", [{"mask": 3}, {"train_size": 21}, {"data_seed": 1}], ids=str)
def test_the_digest_changes_with_what_is_seen(change, sets):
    assert prepare(SETTINGS, sets).digest == prepare(SETTINGS, sets).digest
    assert prepare(SETTINGS | change, sets).digest != prepare(SETTINGS, sets).digest
