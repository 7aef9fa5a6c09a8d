"""Train some students of one cell from its recorded readings, and let them predict the evaluated inputs."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from gped import cost
from gped.architectures import BY_ROLE
from gped.distillation import distill
from gped.expectations import entropy, predictive
from gped.names import StudentId
from gped.pruning import GroupLasso
from gped.readings import Recording
from gped.students import Student, StudentSpec, Target, end2, joint
from workflow.scripts import jobs
from workflow.scripts.cells import CellInputs, prepare
from workflow.scripts.checkpoints import checkpointed

CLASSES = 10


def specification(settings: dict[str, Any], student: StudentId) -> StudentSpec:
    """What the student is to be: its kind's settings and what its slug says."""
    architecture = BY_ROLE[settings["role"]].scaled(student.k1, student.k2)
    options = {
        key: settings[key] for key in ("steps", "learning_rate", "halving_every", "dropout", "input_noise", "seed")
    }
    options |= {"thinning": student.thinning, "dropout_layers": settings.get("dropout_layers")}
    if student.strength is not None:
        options["pruning"] = GroupLasso(student.strength, **settings["pruning"])
    if student.target == "joint":
        return joint(architecture, CLASSES, estimator=student.estimator, **options)
    if student.target == "end2":
        return end2(architecture, CLASSES, estimator=student.estimator, **settings["end2"], **options)
    target = {"predictive": predictive, "entropy": entropy}[student.target]
    return StudentSpec(architecture, (Target(target, student.estimator),), CLASSES, **options)


def predictions(student: Student, inputs: CellInputs, names: list[str]) -> dict[str, Any]:
    """What the student says of each of these inputs, in single precision, and what it costs."""
    said: dict[str, Any] = {}
    for stage, network in (("", student), *((f"{stage}/", at) for stage, at in student.stages.items())):
        for name in names:
            images = inputs.evaluated[name].images
            for what, values in network.predict(images).expectations.items():
                said[f"{stage}{name}/{what}"] = values.astype(np.float32)
    outputs = sum(size for *_, size in student.heads)
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
    """Write a safetensors and an npz file for each student, told by the names in --output."""
    job = jobs.arguments(__doc__, "settings", "sets=", "readings", "output+", "checkpoints")
    inputs = prepare(job.settings["inputs"], dict(job.sets))
    recording = Recording(job.readings, inputs.unlabelled.to(job.settings["device"]))
    paths = [Path(path) for path in job.output if path.endswith(".safetensors")]
    ids = [StudentId.from_slug(path.name.removesuffix(".safetensors")) for path in paths]
    specifications = [specification(job.settings, student) for student in ids]
    decides = job.settings, inputs.digest, recording.fingerprint
    with checkpointed(Path(job.checkpoints) / ids[0].slug, job.output, *decides) as checkpoint:
        if checkpoint is None:
            return
        students = distill(recording, specifications, checkpoint=checkpoint)
        for path, identity, student in zip(paths, ids, students, strict=True):
            names = list(inputs.evaluated) if identity.target in ("joint", "end2") else ["test"]
            jobs.save_arrays(str(path.with_name(f"{identity.slug}.npz")), predictions(student, inputs, names))
            student.save(path)


if __name__ == "__main__":
    jobs.run(main)
