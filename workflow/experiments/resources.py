"""What chains and students will need: minutes and megabytes, from the sizes of their networks.

Rough by intention. A job that runs out of time is told so, saves its state, and goes on at its next attempt; one that
runs out of memory is given more.
"""

from collections.abc import Sequence

from gped.networks import cost
from gped.networks.architectures import Architecture
from gped.support.status import Job
from workflow.experiments.batches import batches
from workflow.experiments.matrix import Matrix
from workflow.experiments.models import MODELS
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paths import Jobs, Paths
from workflow.experiments.settings import teacher

OUTPUTS = 10  # of every network, about: the output layer hardly counts
MINUTES_TO_START = 5  # and to read the data, and to predict
MEGABYTES = 1500  # torch, the images as bytes in several roles, the references' sums
SLACK = 1.5  # the core may be slower than the one that was measured


def milliseconds(architecture: Architecture) -> float:
    """One update with 100 inputs on one core, fitted to measurements on a cloud machine; right within a third."""
    layers = cost.layers(architecture, OUTPUTS)
    weights = sum(fan_in * units for fan_in, units, _ in layers) / 1e6
    convolutions = sum(fan_in * units * at for fan_in, units, at in layers if at > 1) / 1e6
    activations = sum(units * at for _, units, at in layers if at > 1) / 1e3
    return 3 + 12 * weights + 10 * convolutions + 0.65 * activations


def chain_work(matrix: Matrix, cell: Cell) -> float:
    """Minutes that a cell's chain steps, and half of it again for its references."""
    settings = teacher(matrix, cell)
    return 1.5 * (settings["steps"] + settings["further_steps"]) * milliseconds(MODELS[cell.role].architecture) / 60_000


def student_work(matrix: Matrix, cell: Cell, students: Sequence[StudentId]) -> float:
    """Minutes that students of one job learn."""
    settings = teacher(matrix, cell)
    steps = settings["steps"] + settings["further_steps"] - settings["burn_in"]
    return sum(steps / student.thinning * milliseconds(_architecture(cell, student)) for student in students) / 60_000


def chain_minutes(matrix: Matrix, cell: Cell) -> int:
    """Time to ask for a cell's chain."""
    return round(MINUTES_TO_START + SLACK * chain_work(matrix, cell))


def student_minutes(matrix: Matrix, cell: Cell, students: Sequence[StudentId]) -> int:
    """Time to ask for students that share a job."""
    return round(MINUTES_TO_START + SLACK * student_work(matrix, cell, students))


def student_megabytes(cell: Cell, students: Sequence[StudentId]) -> int:
    """Memory of students that share a job: parameters, gradient, two moments, a copy to save, and the table of U_o."""
    parameters = sum(cost.parameters(_architecture(cell, student), OUTPUTS) for student in students)
    return round(MEGABYTES + 6 * 4 * parameters / 1e6 + 10 * len(students))


def _architecture(cell: Cell, student: StudentId) -> Architecture:
    return MODELS[cell.role].architecture.scaled(student.k1, student.k2)


def jobs(matrix: Matrix) -> list[Job]:
    """All chains and students of the experiments, for `gped status`. Paths are relative to the run's folder."""
    here, every = Paths("."), []
    for cell in matrix.cells():
        settings = teacher(matrix, cell)
        steps = settings["steps"] + settings["further_steps"]
        name, work, log = f"{cell.path} chain", chain_work(matrix, cell), here.log(Jobs.teacher(cell.path))
        every.append(Job(name, "chains", work, [here.reference(cell.path)], log, steps))
        wanted = set(matrix.students(cell))  # others are of ablations, which are a target of their own
        for batch in batches(matrix, cell):
            files = [here.predictions(cell.path, student.slug) for student in batch if student in wanted]
            if not files:
                continue
            first = batch[0].slug
            name = f"{cell.path} {first}" + (f" and {len(batch) - 1} more" if len(batch) > 1 else "")
            log = here.log(Jobs.student(cell.path, first))
            every.append(Job(name, "students", student_work(matrix, cell, batch), files, log, steps))
    return every
