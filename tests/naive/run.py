"""A run: which cells and students it has, where their files are, and the numbers that tables share."""

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.naive import metrics
from tests.naive.networks import NETWORKS
from tests.naive.told import Told

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One teacher."""

    role: str
    size: int
    mask: int
    seed: int

    @property
    def model(self) -> str:
        """As tables call it."""
        return "CNN" if NETWORKS[self.role][2] else "FCNN"

    @property
    def masking_rate(self) -> float:
        """Share of the pixels that are masked, in hundredths."""
        _, height, width = NETWORKS[self.role][0]
        return round(self.mask * self.mask / (height * width), 2)


class Run:
    """A finished run, for one seed.

    Args:
        folder: Its folder.
        config: Its configuration.
    """

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.config = config
        self.models: dict[str, dict[str, Any]] = config["models"]
        (self.seed,) = config["seeds"]
        self.arrays = cache(lambda path: dict(np.load(path)))

    def grid(self, role: str) -> list[Cell]:
        """The cells of experiment 2."""
        model = self.models[role]
        return [Cell(role, size, mask, self.seed) for size, mask in product(model["train_sizes"], model["masks"])]

    def full(self, role: str) -> Cell:
        """The cell of experiment 1."""
        return Cell(role, max(self.models[role]["train_sizes"]), 0, self.seed)

    def focus(self, role: str) -> Cell:
        """The cell of experiments 3 and 4."""
        focus = self.models[role]["focus"]
        return Cell(role, focus["train_size"], focus["mask"], self.seed)

    def cells(self) -> list[Cell]:
        """All of them."""
        return list(dict.fromkeys(cell for role in self.models for cell in (*self.grid(role), self.focus(role))))

    def students(self, cell: Cell) -> list[Told]:
        """All students of a cell, each once."""
        told = [self.told(cell, *which) for which in product(("predictive", "entropy"), ("us", "uo"))]
        told = told if cell in self.grid(cell.role) else []
        if cell == self.focus(cell.role):
            for target in ("predictive", "entropy"):
                told += [*self.searched(cell, target), *self.pruned(cell, target)]
            for target, estimator, size in product(("joint", "end2"), ("us", "uo"), ("base", "large")):
                told.append(self.told(cell, target, estimator, *self.widths(cell.role, size)))
        return list(dict.fromkeys(told))

    def told(self, cell: Cell, target: str, estimator: str, *rest: Any) -> Told:
        """A student of a cell."""
        return Told(cell.role, cell.size, cell.seed, target, estimator, *rest)

    def widths(self, role: str, size: str) -> tuple[float, float]:
        """K1 and K2 of students of experiment 4."""
        search = self.models[role]["search"]
        return (max(search["k1"]), max(search["k2"])) if size == "large" else (1, 1)

    def searched(self, cell: Cell, target: str) -> list[Told]:
        """Students of all widths: the predictive by U_s, the entropy by U_o."""
        search, estimator = self.models[cell.role]["search"], {"predictive": "us", "entropy": "uo"}[target]
        return [self.told(cell, target, estimator, k1, k2) for k1, k2 in product(search["k1"], search["k2"])]

    def pruned(self, cell: Cell, target: str) -> list[Told]:
        """The largest students, regularised by all strengths."""
        strengths, estimator = self.models[cell.role]["pruning"]["strengths"], {"predictive": "us", "entropy": "uo"}
        return [
            self.told(cell, target, estimator[target], *self.widths(cell.role, "large"), strength)
            for strength in strengths
        ]

    # Files

    def path(self, cell: Cell) -> Path:
        """The folder of a cell."""
        where = f"{cell.model.lower()}-{self.models[cell.role]['dataset']}"
        return self.folder / "cells" / where / f"n{cell.size}-m{cell.mask}-s{cell.seed}"

    def student(self, cell: Cell, told: Told, form: str) -> Path:
        """The file of a student."""
        return self.path(cell) / "students" / f"{told.slug(self.models[cell.role])}.{form}"

    def images(self, name: str, split: str) -> tuple[np.ndarray, np.ndarray]:
        """A decoded set, with its labels."""
        arrays = self.arrays(self.folder / "data" / f"{name}-{split}.npz")
        return arrays["images"], arrays["labels"]

    def labels(self, cell: Cell) -> np.ndarray:
        """Of the test set."""
        return self.images(self.models[cell.role]["dataset"], "test")[1]

    def reference(self, cell: Cell, what: str) -> np.ndarray:
        """What the ensemble says."""
        return self.arrays(self.path(cell) / "reference.npz")[what]

    def said(self, cell: Cell, told: Told, what: str) -> np.ndarray:
        """What a student says."""
        return self.arrays(self.student(cell, told, "npz"))[what].astype(np.float64)

    # Numbers

    def names(self, role: str) -> Row:
        """The columns with which tables begin."""
        return {"model": self.focus(role).model, "dataset": self.models[role]["dataset"]}

    def teacher_nll(self, cell: Cell) -> float:
        """Of the ensemble."""
        return metrics.nll(self.reference(cell, "test/predictive"), self.labels(cell))

    def nll(self, cell: Cell, told: Told, stage: str = "") -> float:
        """Of a student."""
        return metrics.nll(self.said(cell, told, f"{stage}test/probabilities"), self.labels(cell))

    def mae(self, cell: Cell, told: Told, stage: str = "") -> float:
        """Of a student's expected entropy, not of its total uncertainty."""
        return metrics.mae(self.said(cell, told, f"{stage}test/data"), self.reference(cell, "test/entropy"))

    def uncertainty(self, cell: Cell, told: Told | None, name: str, kind: str) -> np.ndarray:
        """Total or knowledge uncertainty of a set, of a student or of the ensemble."""
        if told:
            return self.said(cell, told, f"{name}/{kind}")
        total = metrics.entropy(self.reference(cell, f"{name}/predictive"))
        return total if kind == "total" else total - self.reference(cell, f"{name}/entropy")
