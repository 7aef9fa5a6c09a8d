"""The images of a cell, prepared as its settings say."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gped.data.images import ImageSet
from gped.data.manipulations import at_most, mask, nested_subsample
from gped.data.transformations import copies
from gped.inputs import Inputs, Scaling


@dataclass
class CellInputs:
    """D with its labels, D', and the test and out-of-distribution inputs by name."""

    classes: int
    class_names: tuple[str, ...]
    labelled: Inputs
    labels: Tensor
    unlabelled: Inputs
    evaluated: dict[str, Inputs]

    @property
    def digest(self) -> str:
        """Changes with any pixel or label."""
        labels = hashlib.sha256(self.labels.numpy().data).hexdigest()
        return " ".join(
            [labels, *(inputs.digest for inputs in (self.labelled, self.unlabelled, *self.evaluated.values()))]
        )


def prepare(settings: dict[str, Any], sets: dict[str, str]) -> CellInputs:
    """Mask, subsample and scale.

    Args:
        settings: As `workflow.experiments.settings.inputs` gives them.
        sets: Files of the decoded sets: train, test, and out-of-distribution sets by name.
    """
    side, seed = settings["mask"], settings["data_seed"]
    train = ImageSet.load(sets["train"])
    scaling = Scaling.standardising(torch.from_numpy(train.images)) if settings["standardise"] else Scaling()

    def inputs(images: Any) -> Inputs:
        return Inputs(torch.from_numpy(images), scaling)

    chosen = nested_subsample(train.labels, settings["train_size"], data_seed=seed)
    evaluated = {"test": inputs(mask(ImageSet.load(sets["test"]).images, side, data_seed=seed, role="test"))}
    for name in (name for name in sets if name not in ("train", "test")):
        images = ImageSet.load(sets[name]).images
        if not len(images):  # an optional set that was not available
            continue
        kept = at_most(len(images), settings["ood_limit"], data_seed=seed, role=name)
        evaluated[name] = inputs(mask(images, side, data_seed=seed, role=name)[kept])
        if side:
            evaluated[f"{name}-unmasked"] = inputs(images[kept])
    unlabelled = mask(train.images, side, data_seed=seed, role="D'")
    if how := settings.get("copies"):  # with masks of their own
        more = mask(copies(train.images, how, data_seed=seed), side, data_seed=seed, role=f"D' {how}")
        unlabelled = np.concatenate([unlabelled, more])
    return CellInputs(
        classes=train.classes,
        class_names=train.class_names if len(train.class_names) == train.classes else (),
        labelled=inputs(mask(train.images, side, data_seed=seed, role="D")[chosen]),
        labels=torch.from_numpy(train.labels[chosen]),
        unlabelled=inputs(unlabelled),
        evaluated=evaluated,
    )
