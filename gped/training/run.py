"""From a folder of images to a student's file, in one go or in several: `gped distill`."""

import json
import logging
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from gped.distillation import distill
from gped.networks.network import Network
from gped.sampling.chain import Chain, ChainDivergedError
from gped.sampling.reference import Reference
from gped.sampling.sgld import SGLD
from gped.students.specification import joint
from gped.students.student import Student
from gped.support.checkpoint import Checkpoint
from gped.support.codehash import code_hash
from gped.support.randomness import stream
from gped.support.suggestions import missing
from gped.training.material import Material, read_material
from gped.training.plan import Plan
from gped.training.verdict import judged

ATTEMPTS = 3  # with the planned step size, a tenth of it, and a hundredth
log = logging.getLogger("gped")


def distill_folder(
    folder: Path,
    output: Path,
    *,
    size: str | None = None,
    steps: int | None = None,
    unlabelled: Sequence[Path] = (),
    seed: int = 0,
    force: bool = False,
) -> list[Path]:
    """Train a student on a folder of images, judge it, and write it to a file; the images that could not be read.

    A run that was killed goes on when it is started again: its state is in a folder beside the output.

    Args:
        folder: Has a folder for each class, with its images.
        output: The student's file.
        size: Of the images, "28" or "32x24"; the size that most of them have, unless it is too large, if not given.
        steps: T, the length of the chain; by the number of images if not given.
        unlabelled: Folders of further images, of which the student hears what the draws say.
        seed: Of what is held out, of the chain and of the student.
        force: Whether to replace a file that is there already.
    """
    _check(folder, output, force)
    material = read_material(folder, size, unlabelled, seed)
    plan = Plan.of(material, steps, seed)
    for line in (*material.told(), *plan.told(material)):
        log.info("%s", line)
    _train(plan, material, output)
    return material.refused


def _check(folder: Path, output: Path, force: bool) -> None:
    """Refuse before any work what would fail, or surprise, after it."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file. First comes the folder of images, then the file of the student.")
    if output.is_dir():
        raise ValueError(
            f"{output} is a folder. Name the file that the student is to be: {output}/student.safetensors."
        )
    if not output.parent.is_dir():
        raise ValueError(f"there is no folder {output.parent} to write the student to.{missing(output.parent)}")
    if output.exists() and not force:
        raise ValueError(
            f"{output} is there already, and may be a student of other images. Choose another name, or let it be "
            "replaced by --force."
        )


def _train(plan: Plan, material: Material, output: Path) -> None:
    """Distil with the planned step size, or with smaller ones if the chain diverges; judge, and write the student."""
    checkpoints, before = output.with_name(f"{output.name}.checkpoint"), _stamp(output)
    versions = [platform.machine(), *map(version, ("torch", "numpy"))]
    decides = [material.digest, code_hash(Path(__file__)), versions]
    for _ in range(ATTEMPTS):
        with Checkpoint(checkpoints, json.dumps([asdict(plan), *decides])) as checkpoint:
            if checkpoint.waited and _stamp(output) != before:
                log.info("the other process has finished %s: nothing is left to do", output)
                return
            try:
                student, ensemble = _distilled(plan, material, checkpoint)
            except ChainDivergedError as error:
                # Its checkpoint stays: a run that is killed after this comes back to it, and diverges in a moment.
                plan = replace(plan, step_size=plan.step_size / 10)
                log.warning("%s", error)
                log.warning("trying that from the beginning: a step size of %.3g", plan.step_size)
                continue
            for line in judged(student.predict(material.held_out), ensemble, material):
                log.info("%s", line)
            student.save(output)
            shutil.rmtree(checkpoints, ignore_errors=True)  # also what other settings or older code have left
        log.info("%s is written: go on with gped predict and gped export", output)
        return
    raise ChainDivergedError(
        f"the chain diverged with {ATTEMPTS} step sizes, each a tenth of the one before. See whether the images are "
        "what they should be, or try another --size."
    )


def _distilled(plan: Plan, material: Material, checkpoint: Checkpoint) -> tuple[Student, dict[str, np.ndarray]]:
    """The student, and what the ensemble says of the images that were held out."""
    classes, listening = len(material.class_names), plan.steps - plan.burn_in
    reference = Reference(material.held_out, every=max(1, listening // 100))
    chain = Chain(
        Network(plan.architecture, classes, stream(plan.seed, "start")),
        material.train,
        material.labels,
        material.unlabelled,
        SGLD(plan.step_size),
        steps=plan.steps,
        burn_in=plan.burn_in,
        thinning=plan.thinning,
        batch_size=plan.batch_size,
        reading_size=plan.batch_size,
        seed=plan.seed,
        references={"held out": reference},
    )
    specification = joint(
        plan.architecture,
        classes,
        estimator="uo",
        head="share",
        learning_rate=2e-3,
        halving_every=max(1, listening // 5),
        seed=plan.seed,
        class_names=material.class_names,
    )
    (student,) = distill(chain, [specification], checkpoint=checkpoint)
    return student, reference.result()


def _stamp(path: Path) -> tuple[int, int] | None:
    """Tells a file from another that has taken its place."""
    if not path.exists():
        return None
    found = path.stat()
    return found.st_ino, found.st_mtime_ns
