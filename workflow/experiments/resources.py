"""What chains and students will need: minutes and megabytes, from the sizes of their networks.

Rough by intention. A job that runs out of time is told so, saves its state, and goes on at its next attempt; one that
runs out of memory is given more.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from gped.networks import cost
from gped.networks.architectures import Architecture
from gped.support.status import Job
from workflow.experiments import bdk
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


def network_work(matrix: Matrix, cell: Cell) -> float:
    """Minutes that SGD trains a network."""
    steps = bdk.steps(matrix, cell)
    return steps * milliseconds(MODELS[cell.role].architecture) / 60_000


def ensemble_work(matrix: Matrix, cell: Cell) -> float:
    """Minutes that the student of such networks learns, and half of it again for what they say."""
    return 1.5 * bdk.updates(matrix) * milliseconds(MODELS[cell.role].architecture) / 60_000


def network_minutes(matrix: Matrix, cell: Cell) -> int:
    """Time to ask for a network that SGD trains."""
    return round(MINUTES_TO_START + SLACK * network_work(matrix, cell))


def ensemble_minutes(matrix: Matrix, cell: Cell) -> int:
    """Time to ask for the student of such networks."""
    return round(MINUTES_TO_START + SLACK * ensemble_work(matrix, cell))


def chain_minutes(matrix: Matrix, cell: Cell, cells: int = 1) -> int:
    """Time to ask for a cell's chain, or for the chains of several like it that share a job."""
    return round(MINUTES_TO_START + SLACK * cells * chain_work(matrix, cell))


def student_minutes(matrix: Matrix, cell: Cell, students: Sequence[StudentId], cells: int = 1) -> int:
    """Time to ask for students that share a job, of a cell or of several like it."""
    return round(MINUTES_TO_START + SLACK * cells * student_work(matrix, cell, students))


def student_megabytes(cell: Cell, students: Sequence[StudentId]) -> int:
    """Memory of students that share a job: parameters, gradient, two moments, a copy to save, and the table of U_o."""
    parameters = sum(cost.parameters(_architecture(cell, student), OUTPUTS) for student in students)
    return round(MEGABYTES + 6 * 4 * parameters / 1e6 + 10 * len(students))


def _architecture(cell: Cell, student: StudentId) -> Architecture:
    return MODELS[cell.role].architecture.scaled(student.k1, student.k2)


def jobs(matrix: Matrix, cells: Iterable[Cell], paths: Paths, made: Collection[str]) -> list[Job]:
    """Those chains and students whose files are to be made, for `gped status`, with paths from the run's folder."""
    here, every = Paths("."), []
    for cell in cells:
        settings = teacher(matrix, cell)
        steps = settings["steps"] + settings["further_steps"]
        if paths.reference(cell.path) in made:
            name, work, log = f"{cell.path} chain", chain_work(matrix, cell), here.log(Jobs.teacher(cell.path))
            every.append(Job(name, "chains", work, [here.reference(cell.path)], log, steps))
        for batch in batches(matrix, cell):
            wanted = [student.slug for student in batch if paths.predictions(cell.path, student.slug) in made]
            if not wanted:
                continue
            files = [here.predictions(cell.path, slug) for slug in wanted]
            first = batch[0].slug
            name = f"{cell.path} {first}" + (f" and {len(batch) - 1} more" if len(batch) > 1 else "")
            log = here.log(Jobs.student(cell.path, first))
            every.append(Job(name, "students", student_work(matrix, cell, batch), files, log, steps))
    return [*every, *_jobs_of_sgd(matrix, paths, made)]


def _jobs_of_sgd(matrix: Matrix, paths: Paths, made: Collection[str]) -> Iterator[Job]:
    """Networks that SGD trains, and their students."""
    here = Paths(".")
    for cell in bdk.cells(matrix):
        for name in bdk.networks(matrix):
            if paths.network(cell.path, name)[0] in made:
                job, files = Jobs.network(cell.path, name), here.network(cell.path, name)[:1]
                work, steps = network_work(matrix, cell), bdk.steps(matrix, cell)
                yield Job(f"{cell.path} {name}", "networks", work, files, here.log(job), steps)
        for name in bdk.ENSEMBLES:
            if paths.ensemble(cell.path, name) in made:
                job, files = Jobs.ensemble(cell.path, name), [here.ensemble_student(cell.path, name)[1]]
                work, steps = ensemble_work(matrix, cell), bdk.updates(matrix)
                yield Job(f"{cell.path} {name}'s student", "students", work, files, here.log(job), steps)
