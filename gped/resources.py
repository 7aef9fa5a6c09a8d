"""What a job of the matrix will need on a cluster: minutes and megabytes, from the sizes of its networks.

Rough by intention. A job that runs out of time is told so, saves its state, and goes on at its next attempt; one that
runs out of memory is given more.
"""

from gped import cost
from gped.architectures import BY_ROLE, Architecture
from gped.matrix import Matrix
from gped.names import Cell, StudentId

CLASSES = 10
MINUTES_TO_START = 5  # and to read the data, and to predict
MEGABYTES = 1500  # torch, the images as bytes in several roles, the references' sums
SLACK = 1.5  # the core may be slower than the one that was measured


def milliseconds(architecture: Architecture) -> float:
    """One update with 100 inputs on one core, fitted to measurements on a cloud machine; right within a third."""
    layers = cost.layers(architecture, CLASSES)
    weights = sum(fan_in * units for fan_in, units, _ in layers) / 1e6
    convolutions = sum(fan_in * units * at for fan_in, units, at in layers if at > 1) / 1e6
    activations = sum(units * at for _, units, at in layers if at > 1) / 1e3
    return 3 + 12 * weights + 10 * convolutions + 0.65 * activations


def chain_work(matrix: Matrix, cell: Cell) -> float:
    """Minutes that a cell's chain steps, and half of it again for its references."""
    settings = matrix.teacher(cell)
    return 1.5 * (settings["steps"] + settings["further_steps"]) * milliseconds(BY_ROLE[cell.role]) / 60_000


def student_work(matrix: Matrix, cell: Cell, students: list[StudentId]) -> float:
    """Minutes that students of one job learn."""
    settings = matrix.teacher(cell)
    steps = settings["steps"] + settings["further_steps"] - settings["burn_in"]
    return sum(steps / student.thinning * milliseconds(_architecture(cell, student)) for student in students) / 60_000


def chain_minutes(matrix: Matrix, cell: Cell) -> int:
    """Time to ask for a cell's chain."""
    return round(MINUTES_TO_START + SLACK * chain_work(matrix, cell))


def student_minutes(matrix: Matrix, cell: Cell, students: list[StudentId]) -> int:
    """Time to ask for students that share a job."""
    return round(MINUTES_TO_START + SLACK * student_work(matrix, cell, students))


def student_megabytes(cell: Cell, students: list[StudentId]) -> int:
    """Memory of students that share a job: parameters, gradient, two moments, a copy to save, and the table of U_o."""
    parameters = sum(cost.parameters(_architecture(cell, student), CLASSES) for student in students)
    return round(MEGABYTES + 6 * 4 * parameters / 1e6 + 10 * len(students))


def _architecture(cell: Cell, student: StudentId) -> Architecture:
    return BY_ROLE[cell.role].scaled(student.k1, student.k2)
