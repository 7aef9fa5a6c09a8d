"""What the paper left open, on a cell or two each. No ablation changes a cell or student of the experiments."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gped.names import Cell, StudentId

if TYPE_CHECKING:
    from gped.matrix import Matrix

NOISE = 1e-3  # on the inputs D', as in Bayesian Dark Knowledge


class Ablation(NamedTuple):
    """One setting of something that the paper left open, and the cell and student on which it is measured."""

    name: str
    setting: str
    cell: Cell
    student: StudentId | None = None  # None if only the teacher is looked at


def every(matrix: "Matrix") -> Iterator[Ablation]:
    """Every setting that can be compared."""
    yield from _schedules(matrix)
    yield from _of_the_fcnn(matrix)
    yield from _scalings(matrix)
    yield from _references(matrix)


def _schedules(matrix: "Matrix") -> Iterator[Ablation]:
    """Does the gap shrink with data, or with the learning-rate budget that a student gets with more data?"""
    for role in matrix.masked_roles:
        if not matrix.models[role]["students"]["halving"].endswith("epochs"):
            continue  # in steps it is the same for all training sizes
        student = matrix.student(role, "predictive", "us")
        for cell in matrix.grid(role):
            if cell.mask == 0:
                yield Ablation("schedule", "halving per pass over D", cell, student)
                yield Ablation("schedule", "halving as at the largest N", cell, replace(student, variant="budget"))


def _of_the_fcnn(matrix: "Matrix") -> Iterator[Ablation]:
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


def _scalings(matrix: "Matrix") -> Iterator[Ablation]:
    if "cnn_cifar10" not in matrix.models:
        return
    words = {True: "standardised", False: "in [0, 1]"}
    configured = matrix.models["cnn_cifar10"]["standardise"]
    for cell in matrix.focus("cnn_cifar10"):
        yield Ablation("pixels", words[configured], cell)
        yield Ablation("pixels", words[not configured], replace(cell, variant="rescaled"))


def _references(matrix: "Matrix") -> Iterator[Ablation]:
    for role, model in matrix.models.items():
        for cell in matrix.full(role):
            yield Ablation("reference", f"every {model['chain']['reference_every']} steps", cell)


def set_otherwise(matrix: "Matrix", cell: Cell, variant: str) -> dict[str, Any]:
    """What a variant of a student sets otherwise than the configuration."""
    students = matrix.models[cell.role]["students"]
    if variant == "budget":
        largest = replace(cell, train_size=max(matrix.models[cell.role]["train_sizes"]))
        return {"halving_every": matrix.in_steps(largest, students["halving"])}
    if variant == "first":
        return {"dropout_layers": 1}
    if variant == "noise":
        return {"input_noise": NOISE}
    if variant == "cold":
        cold = dict.fromkeys(("temperature", "teacher_temperature", "prediction_temperature"), 1)
        return {"end2": students["end2"] | cold}
    if variant == "warm":
        return {"end2": students["end2"] | {"prediction_temperature": students["end2"]["temperature"]}}
    return {}
