"""Work that tests kill in the middle: run in a process of its own, by functions that a fork server can import."""

import os
import signal
import time
from pathlib import Path

import torch

import gped
from gped import distillation  # noqa: F401 (so that the fork server has it)
from gped.support import checkpoint
from tests.helpers import TINY_CONV, TINY_DENSE, random_images

BURN_IN = 80
STEPS = 500
FURTHER = 100
PACE = {"record": (0.0, 5.0), "recorded": (0.02, 2.0), "live": (0.1, 1.0)}
"""Seconds between checkpoints and share of the run spent on them: so often that a kill costs only a few steps."""


def make_chain(architecture: gped.Architecture) -> gped.Chain:
    images = random_images(architecture, 60)
    return gped.Chain(
        gped.Network(architecture, 3, gped.stream(0, "θ_0")),
        images,
        torch.randint(0, 3, (60,), generator=gped.stream(0, "labels")),
        random_images(architecture, 40, "unlabelled"),
        gped.SGLD(1e-4),
        steps=STEPS,
        burn_in=BURN_IN,
        thinning=2,
        further_steps=FURTHER,
        batch_size=25,  # does not divide 60: the last minibatch of a pass is short
        reading_size=15,
        references={"test": gped.Reference(images[:20], 10)},
    )


def specifications(architecture: gped.Architecture) -> list[gped.StudentSpec]:
    common = {"steps": STEPS, "thinning": 2, "halving_every": 100}
    lasso = gped.GroupLasso(300.0, fine_tuning_steps=FURTHER, proximal=True)
    return [
        gped.joint(architecture, 3, estimator="uo", dropout=0.3, input_noise=0.01, **common),
        gped.end2(architecture, 3, **common),
        gped.StudentSpec(architecture, (gped.Target(gped.predictive, "uo"),), 3, pruning=lasso, **common),
    ]


def count(log: Path, stop_at: int | None = None) -> None:
    """Let every step that is executed, of a chain or on recorded readings, leave a byte; tell us to stop at one."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    tick = gped.Checkpoint.tick

    def counted(self, step):
        os.write(file, b".")
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        tick(self, step)

    gped.Checkpoint.tick = counted


def work(
    what: str,
    folder: Path,
    slow_write: bool = False,
    pace: tuple[float, float] | None = None,
    stop_at: int | None = None,
) -> None:
    """Record a chain, distil from it live, or distil from its recording, with checkpoints, from where it was."""
    architecture = TINY_CONV if what == "live" else TINY_DENSE
    count(folder / "steps", stop_at)
    if slow_write:
        # A reader of the test waits for this file, and kills us in the middle of the checkpoint's own write.
        write = checkpoint._write_bytes

        def slowly(path, content):
            path.write_bytes(content[: len(content) // 2])
            (folder / "writing").touch()
            time.sleep(0.2)
            write(path, content)

        checkpoint._write_bytes = slowly
    students = []
    with gped.Checkpoint(folder / "checkpoints", what, *(pace or PACE[what])) as saved:
        teacher = make_chain(architecture)
        if what == "record":
            gped.record(teacher, folder / "readings.bin", checkpoint=saved)
        elif what == "live":
            students = gped.distill(teacher, specifications(architecture), checkpoint=saved)
        else:
            recording = gped.Recording(folder.parent / "readings.bin", teacher.inputs)
            students = gped.distill(recording, specifications(architecture), checkpoint=saved)
        for number, student in enumerate(students):
            for stage, at in {"": student, **student.stages}.items():
                at.save(folder / f"student{number}{stage}.safetensors")
        if what != "recorded":
            (folder / "reference").write_bytes(
                b"".join(v.tobytes() for v in teacher.references["test"].result().values())
            )
        saved.remove()
    (folder / "done").touch()


def told_to_stop(what: str, folder: Path) -> None:
    """The same, told to stop in the middle, as a cluster would."""
    work(what, folder, pace=(1000, 1), stop_at=STEPS // 2)
