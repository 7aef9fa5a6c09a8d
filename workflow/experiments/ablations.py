"""What the paper left open, on a cell or two each. No ablation changes a cell or student of the experiments."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paper import ESTIMATORS

NOISE = 1e-3  # on the inputs D', as in Bayesian Dark Knowledge


class Ablation(NamedTuple):
    """One setting of something that the paper left open, and the cell and student on which it is measured."""

    name: str
    setting: str
    cell: Cell
    student: StudentId | None = None  # None if only the teacher is looked at


@cache  # because it is asked for every cell
def ablations(matrix: Matrix) -> dict[Cell, list[Ablation]]:
    """Every setting that the configuration wants to be compared, by cell."""
    by_cell: dict[Cell, list[Ablation]] = {}
    for name, settings in ABLATIONS.items():
        for one in settings(matrix) if name in matrix.config["ablations"] else ():
            ablation = Ablation(name, *one)
            by_cell.setdefault(ablation.cell, []).append(ablation)
    return by_cell


def ablated_cells(matrix: Matrix) -> list[Cell]:
    """The cells that only ablations need."""
    return sorted(ablations(matrix).keys() - set(matrix.cells()))


def ablated_students(matrix: Matrix, cell: Cell) -> list[StudentId]:
    """The students of a cell that only ablations need."""
    wanted = {one.student for one in ablations(matrix).get(cell, ()) if one.student}
    return sorted(wanted - set(matrix.students(cell)), key=StudentId.order)


Compared = Iterator[tuple[str, Cell, StudentId | None]]


def _unmasked_and_masked(matrix: Matrix, role: str) -> list[Cell]:
    """All training sizes of a model without masks, and with the masks of experiments 3 and 4."""
    sides = {0, matrix.models[role]["focus"]["mask"]}
    return [cell for cell in matrix.grid(role) if cell.mask in sides]


def _schedule(matrix: Matrix) -> Compared:
    """Does the gap shrink with data, or with the learning-rate budget that a student gets with more data?"""
    settings = {
        "": "halving per pass over D",
        "budget": "halving as at the largest N",
        "scarce": "halving as at the smallest N",
    }
    for role in matrix.masked_roles:
        if not matrix.models[role]["students"]["halving"].endswith("epochs"):
            continue  # in steps it is the same for all training sizes
        student = matrix.student(role, "predictive", "us")
        for cell, (variant, setting) in product(_unmasked_and_masked(matrix, role), settings.items()):
            yield setting, cell, replace(student, variant=variant)


def _release(matrix: Matrix) -> Compared:
    """What the authors' released code does differently from the paper, for both estimators."""
    settings = {
        "cnn_mnist": {"": "as configured", "hundred": "halving every 100 epochs"},
        "fcnn_mnist": {
            "": "as configured",
            "first": "dropout after the first hidden layer only",
            "left_on": "the same, left on at prediction",
        },
    }
    for role in (role for role in matrix.models if role in settings):
        students = [matrix.student(role, "predictive", estimator) for estimator in ESTIMATORS]
        cells = _unmasked_and_masked(matrix, role)
        for cell, student, (variant, setting) in product(cells, students, settings[role].items()):
            yield setting, cell, replace(student, variant=variant)


def _slower(matrix: Matrix) -> Compared:
    """Students of experiment 4 in a chain that is shorter than the paper's: as many halvings, or as many updates."""
    for role, target, estimator in product(matrix.models, ("joint", "end2"), ESTIMATORS):
        if matrix.models[role]["students"]["joint_halving_keeps"] == "updates":
            continue  # as slow as can be
        student = matrix.student(role, target, estimator)
        for cell in matrix.focus(role):
            yield "halving as configured", cell, student
            yield "ten times as long between two", cell, replace(student, variant="slow")


def _entropy_loss(matrix: Matrix) -> Compared:
    """In the cell of experiments 3 and 4, and, if that has masks, without them, where entropies are small."""
    for role in matrix.models:
        configured = matrix.models[role]["students"]["entropy_loss"]
        students = [matrix.student(role, "entropy", estimator) for estimator in ESTIMATORS]
        students.append(matrix.student(role, "joint", "us"))
        cells = dict.fromkeys([*(matrix.full(role) if role in matrix.masked_roles else ()), *matrix.focus(role)])
        for cell, student, loss in product(cells, students, ("absolute", "squared", "deviance")):
            yield loss, cell, student if loss == configured else replace(student, variant=loss)


def _joint_head(matrix: Matrix) -> Compared:
    """Data uncertainty on its own, or as a share of the total."""
    for role, estimator in product(matrix.models, ESTIMATORS):
        configured = matrix.models[role]["students"]["joint_head"]
        student = matrix.student(role, "joint", estimator)
        for cell, head in product(matrix.focus(role), ("separate", "share")):
            yield head, cell, student if head == configured else replace(student, variant=head)


def _unlabelled(matrix: Matrix) -> Compared:
    """More inputs in D' than the training images. Each kind needs a chain of its own, to read them."""
    for role in matrix.models:
        students = [matrix.student(role, target, "uo") for target in ("joint", "end2")]
        kinds = ("turned", "noisy", "mixed") if role in matrix.masked_roles else ("turned",)
        for cell, student in product(matrix.focus(role), students):
            yield "training images", cell, student
            for kind in kinds:
                yield f"and {kind} copies", replace(cell, variant=kind), student


def _input_noise(matrix: Matrix) -> Compared:
    for role in (role for role in matrix.models if role == "fcnn_mnist"):
        student = matrix.student(role, "predictive", "us")
        for cell in matrix.full(role):
            yield f"{matrix.models[role]['students']['input_noise']:g}", cell, student
            yield f"{NOISE:g}", cell, replace(student, variant="noise")


def _temperatures(matrix: Matrix) -> Compared:
    for role in (role for role in matrix.models if role == "fcnn_mnist"):
        student = matrix.student(role, "end2", "us")
        for cell in matrix.focus(role):
            yield "as configured", cell, student
            yield "all 1", cell, replace(student, variant="cold")
            yield "prediction as in training", cell, replace(student, variant="warm")


def _pixels(matrix: Matrix) -> Compared:
    for role in (role for role in matrix.models if role == "cnn_cifar10"):
        words = {True: "standardised", False: "in [0, 1]"}
        configured = matrix.models[role]["standardise"]
        for cell in matrix.focus(role):
            yield words[configured], cell, None
            yield words[not configured], replace(cell, variant="rescaled"), None


def _reference(matrix: Matrix) -> Compared:
    for role, model in matrix.models.items():
        for cell in matrix.full(role):
            yield f"every {model['chain']['reference_every']} steps", cell, None


ABLATIONS: dict[str, Callable[[Matrix], Compared]] = {
    "schedule": _schedule,
    "release": _release,
    "slower schedule": _slower,
    "entropy loss": _entropy_loss,
    "joint head": _joint_head,
    "unlabelled inputs": _unlabelled,
    "input noise": _input_noise,
    "EnD² temperatures": _temperatures,
    "pixels": _pixels,
    "reference": _reference,
}
"""By the names that the configuration knows them by."""
