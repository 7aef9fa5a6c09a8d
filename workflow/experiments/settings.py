"""All that a job needs to know, and nothing that it does not depend on: what decides when it is run again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gped.data.transformations import COPIES
from workflow.experiments.ablations import NOISE, ablated_students
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paper import PAPER_STEPS


def images(matrix: Matrix, name: str) -> dict[str, Any]:
    """How a set is read; not where from, because that decides nothing."""
    data = matrix.config["data"]
    return {"unofficial": name in data["unofficial"], "optional": name in data["optional"]}


def inputs(matrix: Matrix, cell: Cell) -> dict[str, Any]:
    """How a cell's images are prepared."""
    return {
        "train_size": cell.train_size,
        "mask": cell.mask,
        "data_seed": matrix.config["data_seed"],
        "standardise": matrix.models[cell.role]["standardise"] != (cell.variant == "rescaled"),
        **({"copies": how} if (how := copies(matrix, cell)) else {}),
        **({"ood_limit": matrix.config["data"]["ood_limit"]} if matrix.ood(cell) else {}),
    }


def copies(matrix: Matrix, cell: Cell) -> str:
    """The transformed copies of training images by which D' is extended; empty for none."""
    configured = matrix.models[cell.role]["copies"]
    return cell.variant if cell.variant in COPIES else configured if configured in COPIES else ""


def teacher(matrix: Matrix, cell: Cell) -> dict[str, Any]:
    """Settings of a cell's chain."""
    chain = dict(matrix.models[cell.role]["chain"])
    students = matrix.students(cell) + ablated_students(matrix, cell) or matrix.estimator_students(cell.role)
    return {
        "role": cell.role,
        "seed": cell.seed,
        "device": matrix.config["device"],
        "inputs": inputs(matrix, cell),
        **chain,
        "thinning": min(student.thinning for student in students),
        "further_steps": fine_tuning_steps(matrix, cell) if matrix.is_pruned(cell) else 0,
    }


def without_mask(told: dict[str, Any]) -> dict[str, Any]:
    """The same without what the cell's path tells and cells that share a job have each for itself."""
    return told | {"inputs": {key: value for key, value in told["inputs"].items() if key != "mask"}}


def fine_tuning_steps(matrix: Matrix, cell: Cell) -> int:
    """F."""
    return in_steps(matrix, cell, matrix.models[cell.role]["pruning"]["fine_tuning"])


def training(matrix: Matrix, cell: Cell, student: StudentId) -> dict[str, Any]:
    """Settings of the students of a cell that are of the same kind and variant as this one."""
    model, kind = matrix.models[cell.role], student.kind
    students, pruning = model["students"], model["pruning"]
    joint_dropout = students["joint_dropout"]
    settings = {
        "role": cell.role,
        "seed": cell.seed,
        "device": matrix.config["device"],
        "inputs": inputs(matrix, cell),
        "steps": model["chain"]["steps"],
        "learning_rate": students["learning_rate"],
        "halving_every": halving(matrix, cell, student),
        "input_noise": students["input_noise"],
        "dropout": {
            "plain": students["dropout"],
            "pruned": 0.0,
            "joint": joint_dropout,
            "end2": joint_dropout,
        }[kind],
    }
    if kind == "pruned":
        settings["pruning"] = {
            "fine_tuning_steps": fine_tuning_steps(matrix, cell),
            "fine_tuning_rate": pruning["learning_rate"],
            **{key: pruning[key] for key in ("threshold", "proximal", "biases", "output_layer")},
        }
    if kind == "end2":
        settings["end2"] = students["end2"]
    else:
        settings["entropy_loss"] = students["entropy_loss"]
    if kind == "joint":
        settings["joint_head"] = students["joint_head"]
    return settings | VARIANTS[student.variant](matrix, cell, student)


def halving(matrix: Matrix, cell: Cell, student: StudentId, duration: str | None = None) -> int:
    """Steps after which the learning rate is halved.

    In a chain that is shorter than the paper's they are as much fewer, so that the number of halvings is the paper's;
    or they are the paper's own, and with them the updates between two halvings.
    """
    students = matrix.models[cell.role]["students"]
    keeps = students["joint_halving_keeps" if student.kind in ("joint", "end2") else "halving_keeps"]
    return in_steps(matrix, cell, duration or students["halving"], shortened=keeps == "halvings")


def in_steps(matrix: Matrix, cell: Cell, duration: str, shortened: bool = True) -> int:
    """A duration in steps of the chain, whether it is given as "250 steps" or "200 epochs".

    An epoch is a pass over D, if need be shortened as much as the chain is shorter than the paper's.
    """
    number, unit = duration.split()
    chain = matrix.models[cell.role]["chain"]
    epoch = cell.train_size / chain["batch_size"] * (chain["steps"] / PAPER_STEPS if shortened else 1)
    return max(1, round(float(number) * (epoch if unit == "epochs" else 1)))


Varied = Callable[[Matrix, Cell, StudentId], dict[str, Any]]


def _halving_of(choose: Callable[[list[int]], int]) -> Varied:
    """The schedule that another training size has."""

    def settings(matrix: Matrix, cell: Cell, student: StudentId) -> dict[str, Any]:
        other = replace(cell, train_size=choose(matrix.models[cell.role]["train_sizes"]))
        return {"halving_every": halving(matrix, other, student)}

    return settings


def _cold(matrix: Matrix, cell: Cell, student: StudentId) -> dict[str, Any]:
    temperatures = ("temperature", "teacher_temperature", "prediction_temperature")
    return {"end2": matrix.models[cell.role]["students"]["end2"] | dict.fromkeys(temperatures, 1)}


def _warm(matrix: Matrix, cell: Cell, student: StudentId) -> dict[str, Any]:
    end2 = matrix.models[cell.role]["students"]["end2"]
    return {"end2": end2 | {"prediction_temperature": end2["temperature"]}}


def _fixed(**settings: Any) -> Varied:
    return lambda matrix, cell, student: settings


VARIANTS: dict[str, Varied] = {
    "": _fixed(),
    "budget": _halving_of(max),
    "scarce": _halving_of(min),
    "hundred": lambda matrix, cell, student: {"halving_every": halving(matrix, cell, student, "100 epochs")},
    "slow": lambda matrix, cell, student: {"halving_every": 10 * halving(matrix, cell, student)},
    "first": _fixed(dropout_layers=1),
    "left_on": _fixed(dropout_layers=1, dropout_at_prediction=True),
    "absolute": _fixed(entropy_loss="absolute"),
    "squared": _fixed(entropy_loss="squared"),
    "deviance": _fixed(entropy_loss="deviance"),
    "separate": _fixed(joint_head="separate"),
    "share": _fixed(joint_head="share"),
    "noise": _fixed(input_noise=NOISE),
    "cold": _cold,
    "warm": _warm,
}
"""What the variants of a student set differently from the configuration."""
