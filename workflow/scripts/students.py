"""Train some students of some cells from their recorded readings, and let them predict the evaluated inputs."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gped.distillation import distill
from gped.networks import cost
from gped.networks.network import Network
from gped.networks.pruning import GroupLasso
from gped.readings.likelihoods import Categorical
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


def specification(
    settings: dict[str, Any], student: dict[str, Any], classes: int, class_names: Sequence[str] = ()
) -> StudentSpec:
    """What a student is to be: the settings of its kind, and what is its own."""
    architecture = MODELS[settings["role"]].architecture.scaled(student["k1"], student["k2"])
    options = {
        key: settings[key] for key in ("steps", "learning_rate", "halving_every", "dropout", "input_noise", "seed")
    }
    options |= {
        "class_names": class_names,
        "thinning": student["thinning"],
        "dropout_layers": settings.get("dropout_layers"),
    }
    if student["strength"] is not None:
        options["pruning"] = GroupLasso(student["strength"], **settings["pruning"])
    target, estimator = student["target"], student["estimator"]
    if target == "joint":
        options |= {"head": settings["joint_head"], "entropy_loss": settings["entropy_loss"]}
        return joint(architecture, classes, estimator=estimator, **options)
    if target == "end2":
        return end2(architecture, classes, estimator=estimator, **settings["end2"], **options)
    expectation = {"predictive": predictive, "entropy": entropy_by(settings["entropy_loss"])}[target]
    return StudentSpec(architecture, (Target(expectation, estimator),), Categorical(classes), **options)


def with_dropout(student: Student, settings: dict[str, Any]) -> Student:
    """The same student with its dropout left on, which an ablation asks about."""
    generator = stream(settings["seed"], "dropout at prediction")
    outputs = sum(output.size for output in student.heads)
    dropout = settings["dropout"], generator, settings["dropout_layers"]
    network = Network(student.architecture, outputs, stream(0, "replaced at once"), *dropout)
    return replace(student, network=network.restored(student.network.state()).train())


def predictions(student: Student, inputs: CellInputs, names: list[str]) -> dict[str, Any]:
    """What the student says of each of these inputs, with its uncertainties, in single precision; and what it costs."""
    said: dict[str, Any] = {}
    for stage, network in (("", student), *((f"{stage}/", at) for stage, at in student.stages.items())):
        for name in names:
            prediction = network.predict(inputs.evaluated[name])
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


def train(told: dict[Path, Any], sets: dict[str, str], readings: str, folder: Path, unfinished: ExitStack) -> None:
    """Write the students of a cell, and their predictions. Their checkpoint stays as long as others learn.

    Args:
        told: What each student is told, by its file.
        sets: Files of the decoded sets.
        readings: What they listen to.
        folder: Of their checkpoint.
        unfinished: Takes the checkpoint away in the end.
    """
    settings = next(iter(told.values()))["training"]  # the same for all who share a job
    inputs = prepare(settings["inputs"], sets)
    recording = Recording(readings, inputs.unlabelled.to(settings["device"]))
    specifications = [
        specification(settings, one["student"], recording.info.values, inputs.class_names) for one in told.values()
    ]
    files = [str(path.with_suffix(ending)) for path in told for ending in (".safetensors", ".npz")]
    decides = settings, inputs.digest, recording.fingerprint
    checkpoint = unfinished.enter_context(checkpointed(folder, files, *decides))
    if checkpoint is None:
        return
    students = distill(recording, specifications, checkpoint=checkpoint)
    for (path, one), student in zip(told.items(), students, strict=True):
        names = list(inputs.evaluated) if one["student"]["target"] in ("joint", "end2") else ["test"]
        asked = with_dropout(student, settings) if settings.get("dropout_at_prediction") else student
        save_arrays(path.with_suffix(".npz"), predictions(asked, inputs, names))
        student.save(path)


def main() -> None:
    """Write the safetensors and npz files of --output: a pair for each student, in its cell, named by its slug."""
    given = job.arguments(__doc__, "settings", "sets=", "readings+", "output+", "checkpoints", "logs+")
    cells = job.by_cell(path for path in given.output if path.endswith(".safetensors"))
    with ExitStack() as unfinished:
        for (cell, paths), readings, log in zip(cells.items(), given.readings, given.logs, strict=True):
            job.go_on_in(log)
            slugs = {Path(path): path.rpartition("/")[2].removesuffix(".safetensors") for path in paths}
            settings = Path(given.settings, cell, "students")
            told = {path: job.read_settings(settings / f"{slug}.json") for path, slug in slugs.items()}
            folder = Path(given.checkpoints, cell, "students", next(iter(slugs.values())))
            train(told, dict(given.sets), readings, folder, unfinished)


if __name__ == "__main__":
    job.run(main)
