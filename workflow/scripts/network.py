"""Train one network by SGD, and tell how good it is on the training images that are not in D.

Settings that are not given are the best of those that were tried.
"""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

from gped.data.images import ImageSet
from gped.data.manipulations import nested_subsample
from gped.evaluation import metrics
from gped.inputs import Inputs
from gped.networks.network import Network
from gped.readings.likelihoods import Categorical
from gped.sampling.reference import Reference
from gped.support.files import replacing, write_text
from gped.support.randomness import stream
from workflow.experiments.models import MODELS
from workflow.jobs import job
from workflow.jobs.cell_inputs import prepare
from workflow.jobs.checkpoints import checkpointed
from workflow.jobs.descent import Descent

TRIED = ("weight_decay", "dropout")


def best(files: list[str]) -> dict[str, Any]:
    """The settings of the network that makes the labels of the other images likeliest; the first of equals."""
    told = [json.loads(Path(file).read_text()) for file in files]
    return {key: min(told, key=lambda one: one["nll"])[key] for key in TRIED}


def said(network: Network, inputs: Inputs) -> np.ndarray:
    """Class probabilities."""
    reference = Reference(inputs)
    reference.start(1, Categorical(network.outputs), inputs.device)
    try:
        reference.update(network)
    except FloatingPointError as error:
        raise ValueError(f"{error} after the training: lower bdk.learning_rate.") from error
    return reference.result()["predictive"]


def main() -> None:
    """Write --parameters and --told."""
    given = job.arguments(__doc__, "settings", "sets=", "tried=", "parameters", "told", "checkpoints")
    settings, sets = job.read_settings(given.settings), dict(given.sets)
    inputs, train = prepare(settings["inputs"], sets), ImageSet.load(sets["train"])
    chosen = {key: settings[key] for key in TRIED} if "dropout" in settings else best([file for _, file in given.tried])
    in_d = nested_subsample(train.labels, settings["inputs"]["train_size"], data_seed=settings["inputs"]["data_seed"])
    others = np.setdiff1d(np.arange(len(train)), in_d)
    held_out = Inputs(torch.from_numpy(train.images[others]), inputs.labelled.scaling).to(settings["device"])

    name = f"network {settings['number']}"
    descent = Descent(
        Network(
            MODELS[settings["role"]].architecture,
            inputs.classes,
            stream(settings["seed"], f"{name}'s initialisation"),
            chosen["dropout"],
            stream(settings["seed"], f"{name}'s dropout", settings["device"]),
        ),
        inputs.labelled.to(settings["device"]),
        inputs.labels,
        **{key: settings[key] for key in ("epochs", "batch_size", "learning_rate", "momentum")},
        weight_decay=chosen["weight_decay"],
        order=stream(settings["seed"], f"{name}'s order of D"),
    )
    outputs = [given.parameters, given.told]
    with checkpointed(Path(given.checkpoints), outputs, settings, chosen, inputs.digest) as checkpoint:
        if checkpoint is None:
            return
        network = descent.trained(checkpoint)
        p, labels = said(network, held_out), train.labels[others]
        told = chosen | {"nll": metrics.nll(p, labels), "error": 100 * (1 - metrics.accuracy(p, labels))}
        logging.getLogger("gped").info("%s", told)
        with replacing(given.parameters) as part:
            safetensors.torch.save_file(network.state_dict(), part)
        write_text(given.told, json.dumps(told) + "\n")


if __name__ == "__main__":
    job.run(main)
