"""Train some students of one cell from its recorded readings, and let them predict the evaluated inputs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gped.distillation import distill
from gped.networks import cost
from gped.networks.network import Network
from gped.networks.pruning import GroupLasso
from gped.readings.recording import Recording
from gped.students.expectations import entropy_by, predictive
from gped.students.specification import StudentSpec, Target, end2, joint
from gped.students.student import Student
from gped.support.randomness import stream
from workflow.experiments.models import MODELS
from workflow.jobs import job
from workflow.jobs.arrays import save_arrays
from workflow.jobs.cell_inputs import CellInputs, prepare
from workflow.jobs.checkpoints import checkpointed


def specification(settings: dict[str, Any], student: dict[str, Any], classes: int) -> StudentSpec:
    """What a student is to be: the settings of its kind, and what is its own."""
    architecture = MODELS[settings["role"]].architecture.scaled(student["k1"], student["k2"])
    options = {
        key: settings[key] for key in ("steps", "learning_rate", "halving_every", "dropout", "input_noise", "seed")
    }
    options |= {"thinning": student["thinning"], "dropout_layers": settings.get("dropout_layers")}
    if student["strength"] is not None:
        options["pruning"] = GroupLasso(student["strength"], **settings["pruning"])
    target, estimator = student["target"], student["estimator"]
    if target == "joint":
        options |= {"head": settings["joint_head"], "entropy_loss": settings["entropy_loss"]}
        return joint(architecture, classes, estimator=estimator, **options)
    if target == "end2":
        return end2(architecture, classes, estimator=estimator, **settings["end2"], **options)
    expectation = {"predictive": predictive, "entropy": entropy_by(settings["entropy_loss"])}[target]
    return StudentSpec(architecture, (Target(expectation, estimator),), classes, **options)


def with_dropout(student: Student, settings: dict[str, Any]) -> Student:
    """The same student with its dropout left on, which an ablation asks about."""
    generator = stream(settings["seed"], "dropout at prediction")
    outputs = sum(output.size for output in student.heads)
    dropout = settings["dropout"], generator, settings["dropout_layers"]
    network = Network(student.architecture, outputs, stream(0, "replaced at once"), *dropout)
    for layer, trained in zip(network.weighted, student.network.weighted, strict=True):
        layer.load_state_dict(trained.state_dict())
    return replace(student, network=network.train())


def predictions(student: Student, inputs: CellInputs, names: list[str]) -> dict[str, Any]:
    """What the student says of each of these inputs, with its uncertainties, in single precision; and what it costs."""
    said: dict[str, Any] = {}
    for stage, network in (("", student), *((f"{stage}/", at) for stage, at in student.stages.items())):
        for name in names:
            prediction = network.predict(inputs.evaluated[name].images)
            for what, values in (prediction.known | prediction.further).items():
                said[f"{stage}{name}/{what}"] = values.astype(np.float32)
    outputs = sum(output.size for output in student.heads)
    said["cost"] = json.dumps(
        {
            "widths": [*student.architecture.channels, *student.architecture.hidden],
            "parameters": cost.parameters(student.architecture, outputs),
            "multiply_adds": cost.multiply_adds(student.architecture, outputs),
            "updates": student.updates,
        }
    )
    return said


def main() -> None:
    """Write the safetensors and npz files of --output: a pair for each student, named by its slug."""
    given = job.arguments(__doc__, "settings", "sets=", "readings", "output+", "checkpoints")
    paths = [Path(path) for path in given.output if path.endswith(".safetensors")]
    files = {path.name.removesuffix(".safetensors"): path for path in paths}
    told = {slug: job.read_settings(Path(given.settings) / f"{slug}.json") for slug in files}
    settings = next(iter(told.values()))["training"]  # the same for all who share a job
    inputs = prepare(settings["inputs"], dict(given.sets))
    recording = Recording(given.readings, inputs.unlabelled.to(settings["device"]))
    specifications = [specification(settings, one["student"], recording.info.classes) for one in told.values()]
    decides = settings, inputs.digest, recording.fingerprint
    with checkpointed(Path(given.checkpoints) / next(iter(told)), given.output, *decides) as checkpoint:
        if checkpoint is None:
            return
        students = distill(recording, specifications, checkpoint=checkpoint)
        for (slug, path), student in zip(files.items(), students, strict=True):
            names = list(inputs.evaluated) if told[slug]["student"]["target"] in ("joint", "end2") else ["test"]
            asked = with_dropout(student, settings) if settings.get("dropout_at_prediction") else student
            save_arrays(path.with_name(f"{slug}.npz"), predictions(asked, inputs, names))
            student.save(path)


if __name__ == "__main__":
    job.run(main)
