"""Bayesian Dark Knowledge beside what one would otherwise take: SGD, Monte Carlo dropout, a deep ensemble.

The chain and its student are those of a cell of experiment 1. The others are networks that SGD trains on the same D, in
the same cell's folder; each kind is also a teacher of the same student.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Any

from workflow.experiments import settings
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId

ROLE = "fcnn_mnist"
CHAIN = "chain"
TEACHERS = {"sgd": "SGD", "dropout": "MC dropout", "ensemble": "deep ensemble", CHAIN: "SGLD"}
"""By their names in files, as the table calls them. All but the chain are networks that SGD trains."""
ENSEMBLES = [name for name in TEACHERS if name != CHAIN]


@dataclass(frozen=True)
class Network:
    """A network that SGD trains: one that is tried, or one of a teacher, with the best of the settings that were tried.

    Args:
        name: Of its files.
        kind: plain or dropout.
        tried: Weight decay and dropout, if they are tried.
        number: Tells networks of the same settings apart.
    """

    name: str
    kind: str
    tried: tuple[float, float] | None = None
    number: int = 0


def is_wanted(matrix: Matrix) -> bool:
    """Whether the configuration asks for it."""
    return "bdk" in matrix.config


def cells(matrix: Matrix) -> list[Cell]:
    """Where the chain is run: one for each seed."""
    return matrix.full(ROLE) if is_wanted(matrix) else []


def student(matrix: Matrix) -> StudentId:
    """The chain's student: the predictive distribution by U_s."""
    return matrix.student(ROLE, "predictive", "us")


def networks(matrix: Matrix) -> dict[str, Network]:
    """All networks of a cell that SGD trains, by name."""
    bdk = matrix.config["bdk"]
    every = [
        *(Network(f"tried-plain-{n}", "plain", (decay, 0.0)) for n, decay in enumerate(bdk["weight_decays"])),
        *(
            Network(f"tried-dropout-{n}", "dropout", both)
            for n, both in enumerate(product(bdk["weight_decays"], bdk["dropouts"]))
        ),
        *(Network(f"plain-{number}", "plain", number=number) for number in range(bdk["members"])),
        Network("dropout-0", "dropout"),
    ]
    return {network.name: network for network in every}


def tried(matrix: Matrix, network: Network) -> list[str]:
    """The names of those among which a network's settings are chosen; none if its own are tried."""
    if network.tried:
        return []
    return [one.name for one in networks(matrix).values() if one.tried and one.kind == network.kind]


def members(matrix: Matrix, teacher: str) -> list[str]:
    """The names of a teacher's networks."""
    if teacher == "ensemble":
        return [f"plain-{number}" for number in range(matrix.config["bdk"]["members"])]
    return ["dropout-0" if teacher == "dropout" else "plain-0"]


# What jobs need to know


def training(matrix: Matrix, cell: Cell, network: Network) -> dict[str, Any]:
    """Settings of a network."""
    bdk = matrix.config["bdk"]
    told = {
        "role": cell.role,
        "seed": cell.seed,
        "number": network.number,
        "device": matrix.config["device"],
        "inputs": settings.inputs(matrix, cell),
        "batch_size": matrix.models[cell.role]["chain"]["batch_size"],
        **{key: bdk[key] for key in ("epochs", "learning_rate", "momentum")},
    }
    if network.tried:
        told |= dict(zip(("weight_decay", "dropout"), network.tried, strict=True))
    return told


def teaching(matrix: Matrix, cell: Cell, teacher: str) -> dict[str, Any]:
    """Settings of a teacher and its student, which is the chain's in everything: its updates and its schedule, too."""
    own = student(matrix)
    like = settings.training(matrix, cell, own)
    return {
        **{key: like[key] for key in ("role", "seed", "device", "inputs", "learning_rate", "input_noise", "dropout")},
        "updates": updates(matrix),
        "halving_every": max(1, round(like["halving_every"] / own.thinning)),
        "reading_size": matrix.models[cell.role]["chain"]["reading_size"],
        "draws": passes(matrix, teacher),
    }


def steps(matrix: Matrix, cell: Cell) -> int:
    """Of SGD."""
    return matrix.config["bdk"]["epochs"] * ceil(cell.train_size / matrix.models[cell.role]["chain"]["batch_size"])


def updates(matrix: Matrix) -> int:
    """Of every student."""
    chain, thinning = matrix.models[ROLE]["chain"], student(matrix).thinning
    return chain["steps"] // thinning - chain["burn_in"] // thinning


def passes(matrix: Matrix, teacher: str) -> int:
    """How many networks say what a teacher says, or how many draws of one."""
    bdk, chain = matrix.config["bdk"], matrix.models[ROLE]["chain"]
    draws = chain["steps"] // chain["reference_every"] - chain["burn_in"] // chain["reference_every"]
    return {"sgd": 1, "dropout": bdk["draws"], "ensemble": bdk["members"], CHAIN: draws}[teacher]


def tabulating(matrix: Matrix) -> dict[str, Any]:
    """What the table is computed from, and what its caption tells."""
    model, (first, *_) = matrix.models[ROLE], cells(matrix)
    return {
        "dataset": matrix.called(first.dataset),
        "set": first.dataset,
        "role": ROLE,
        "cells": [cell.path for cell in cells(matrix)],
        "chain": CHAIN,
        "slug": student(matrix).slug,
        "teachers": [
            {
                "name": name,
                "method": method,
                "passes": passes(matrix, name),
                "networks": 1 if name == "dropout" else passes(matrix, name),
            }
            for name, method in TEACHERS.items()
        ],
        "caption": {
            "train_size": first.train_size,
            **{key: model["chain"][key] for key in ("steps", "burn_in", "step_size", "prior_precision")},
            "thinning": student(matrix).thinning,
            "updates": updates(matrix),
            "epochs": matrix.config["bdk"]["epochs"],
            "seeds": matrix.config["seeds"],
        },
    }
