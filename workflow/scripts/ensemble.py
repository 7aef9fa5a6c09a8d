"""What trained networks together say of the test inputs, and a student that learns it from them."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import safetensors.torch
from torch import nn

from gped.distillation import distill
from gped.networks.network import Dropout, Network
from gped.sampling.ensemble import Ensemble
from gped.sampling.members import Member, MonteCarloDropout
from gped.sampling.reference import Reference
from gped.students.specification import bayesian_dark_knowledge
from gped.support.randomness import stream
from workflow.experiments.models import MODELS
from workflow.jobs import job
from workflow.jobs.arrays import save_arrays
from workflow.jobs.cell_inputs import prepare
from workflow.jobs.checkpoints import checkpointed


def members(files: list[str], role: str, classes: int, draws: int, seed: int) -> Sequence[Member]:
    """The networks in these files, each with what is told of it; of a single one with dropout, so many draws."""
    networks = []
    for file, told in zip(files[::2], files[1::2], strict=True):
        dropout = json.loads(Path(told).read_text())["dropout"]
        network = Network(
            MODELS[role].architecture, classes, stream(0, "replaced at once"), dropout, stream(0, "never drawn from")
        )
        network.load_state_dict(safetensors.torch.load_file(file))
        networks.append(network)
    if not any(isinstance(layer, Dropout) for layer in networks[0]):
        return networks
    layers = (nn.Dropout(layer.rate) if isinstance(layer, Dropout) else layer for layer in networks[0])
    return MonteCarloDropout(nn.Sequential(*layers), draws, seed)


def main() -> None:
    """Write --reference, --student and --predictions."""
    given = job.arguments(
        __doc__, "settings", "sets=", "networks+", "reference", "student", "predictions", "checkpoints"
    )
    settings = job.read_settings(given.settings)
    inputs, seed, role = prepare(settings["inputs"], dict(given.sets)), settings["seed"], settings["role"]
    reference = Reference(inputs.evaluated["test"])
    teachers = members(given.networks, role, inputs.classes, settings["draws"], seed)
    ensemble = Ensemble(
        teachers,
        inputs.unlabelled,
        steps=settings["updates"],
        reading_size=settings["reading_size"],
        seed=seed,
        references={"test": reference},
        device=settings["device"],
    )
    options = {key: settings[key] for key in ("learning_rate", "halving_every", "input_noise", "dropout", "seed")}
    specification = bayesian_dark_knowledge(
        MODELS[role].architecture, inputs.classes, class_names=inputs.class_names, **options
    )
    outputs = [given.reference, given.student, given.predictions]
    networks = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in given.networks]
    with checkpointed(Path(given.checkpoints), outputs, settings, networks, inputs.digest) as checkpoint:
        if checkpoint is None:
            return
        (student,) = distill(ensemble, [specification], checkpoint=checkpoint)
        save_arrays(given.reference, {f"test/{name}": values for name, values in reference.result().items()})
        answers = student.predict(inputs.evaluated["test"])
        save_arrays(given.predictions, {f"test/{name}": v.astype(np.float32) for name, v in answers.known.items()})
        student.save(given.student)


if __name__ == "__main__":
    job.run(main)
