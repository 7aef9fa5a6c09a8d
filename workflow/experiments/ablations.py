"""What the paper left open, on a cell or two each. No ablation changes a cell or student of the experiments."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId

NOISE = 1e-3  # on the inputs D', as in Bayesian Dark Knowledge


class Ablation(NamedTuple):
    """One setting of something that the paper left open, and the cell and student on which it is measured."""

    name: str
    setting: str
    cell: Cell
    student: StudentId | None = None  # None if only the teacher is looked at


def ablations(matrix: Matrix) -> list[Ablation]:
    """Every setting that the configuration wants to be compared."""
    every = (*_schedules(matrix), *_of_the_fcnn(matrix), *_scalings(matrix), *_references(matrix))
    return [one for one in every if one.name in matrix.config["ablations"]]


def ablated_cells(matrix: Matrix) -> list[Cell]:
    """The cells that only ablations need."""
    return sorted({one.cell for one in ablations(matrix)} - set(matrix.cells()))


def ablated_students(matrix: Matrix, cell: Cell) -> list[StudentId]:
    """The students of a cell that only ablations need."""
    wanted = {one.student for one in ablations(matrix) if one.cell == cell and one.student}
    return sorted(wanted - set(matrix.students(cell)), key=StudentId.order)


def _schedules(matrix: Matrix) -> Iterator[Ablation]:
    """Does the gap shrink with data, or with the learning-rate budget that a student gets with more data?"""
    for role in matrix.masked_roles:
        if not matrix.models[role]["students"]["halving"].endswith("epochs"):
            continue  # in steps it is the same for all training sizes
        student = matrix.student(role, "predictive", "us")
        for cell in matrix.grid(role):
            if cell.mask == 0:
                yield Ablation("schedule", "halving per pass over D", cell, student)
                yield Ablation("schedule", "halving as at the largest N", cell, replace(student, variant="budget"))


def _of_the_fcnn(matrix: Matrix) -> Iterator[Ablation]:
    role = "fcnn_mnist"
    if role not in matrix.models:
        return
    plain, end2 = matrix.student(role, "predictive", "us"), matrix.student(role, "end2", "us")
    for cell in matrix.full(role):
        yield Ablation("dropout", "after every hidden layer", cell, plain)
        yield Ablation("dropout", "after the first hidden layer only", cell, replace(plain, variant="first"))
        yield Ablation("input noise", f"{matrix.models[role]['students']['input_noise']:g}", cell, plain)
        yield Ablation("input noise", f"{NOISE:g}", cell, replace(plain, variant="noise"))
    for cell in matrix.focus(role):
        yield Ablation("EnD² temperatures", "as configured", cell, end2)
        yield Ablation("EnD² temperatures", "all 1", cell, replace(end2, variant="cold"))
        yield Ablation("EnD² temperatures", "prediction as in training", cell, replace(end2, variant="warm"))


def _scalings(matrix: Matrix) -> Iterator[Ablation]:
    if "cnn_cifar10" not in matrix.models:
        return
    words = {True: "standardised", False: "in [0, 1]"}
    configured = matrix.models["cnn_cifar10"]["standardise"]
    for cell in matrix.focus("cnn_cifar10"):
        yield Ablation("pixels", words[configured], cell)
        yield Ablation("pixels", words[not configured], replace(cell, variant="rescaled"))


def _references(matrix: Matrix) -> Iterator[Ablation]:
    for role, model in matrix.models.items():
        for cell in matrix.full(role):
            yield Ablation("reference", f"every {model['chain']['reference_every']} steps", cell)
