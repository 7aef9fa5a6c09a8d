"""What a cell and some of its students have to say, read from their files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gped.data.images import ImageSet
from gped.evaluation import metrics
from gped.evaluation.uncertainty import Uncertainty, decompose
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paths import Paths
from workflow.jobs.arrays import load_arrays

METHODS = {"gped": "joint", "end2": "end2"}
"""What the tables call the students of experiment 4, and their targets."""


class Said:
    """What a student says of the evaluated inputs.

    Args:
        arrays: Its predictions: under set/what, or stage/set/what for the stages of a pruned student.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays

    def probabilities(self, name: str, stage: str = "") -> np.ndarray:
        """Class probabilities of the inputs of a set."""
        return self._arrays[f"{stage}{name}/probabilities"]

    def data(self, name: str, stage: str = "") -> np.ndarray:
        """Expected entropies of the inputs of a set."""
        return self._arrays[f"{stage}{name}/data"]

    def uncertainty(self, name: str) -> Uncertainty:
        """All uncertainties of the inputs of a set."""
        return Uncertainty(*(self._arrays[f"{name}/{kind}"].astype(np.float64) for kind in Uncertainty._fields))

    def has(self, what: str) -> bool:
        """Whether it was taught this."""
        return f"test/{what}" in self._arrays

    @property
    def cost(self) -> dict[str, Any]:
        """Widths, parameters and multiply-adds."""
        return json.loads(str(self._arrays["cost"]))


class Results:
    """A cell, its ensemble, and some of its students.

    Args:
        paths: Of the run.
        cell: The cell.
        students: Those that the table is about.
        ood_sets: The out-of-distribution sets that the cell was asked about.
        keys: Columns in which all rows of the table are the same.
        ablations: What was compared, where the table is about that: name, setting, and the student if there is one.
        relaxations_per_block: Relaxation times of the chain in one of the blocks that its Monte Carlo error is from,
            where the table is about that.
        other_seeds: Cells that differ in their seeds alone.
        called: What sets are called in tables, if not by their names.
    """

    def __init__(
        self,
        paths: Paths,
        cell: Cell,
        students: Sequence[StudentId],
        ood_sets: Sequence[str] = (),
        keys: Mapping[str, str] | None = None,
        ablations: Sequence[tuple[str, str, StudentId | None]] = (),
        relaxations_per_block: float = np.nan,
        other_seeds: Sequence[Cell] = (),
        called: Mapping[str, str] | None = None,
    ) -> None:
        self.cell = cell
        self.students = students
        self.ood_sets = ood_sets
        self.keys = dict(keys or {})
        self.ablations = ablations
        self.relaxations_per_block = relaxations_per_block
        self.other_seeds = other_seeds
        self._called = dict(called or {})
        self._paths = paths
        self._said: dict[StudentId, Said] = {}

    @property
    def model(self) -> dict[str, str]:
        """The columns that every table begins with."""
        return {"model": self.cell.model, "dataset": self.called(self.cell.dataset)}

    def called(self, name: str) -> str:
        """What a set is called in tables."""
        return self._called.get(name, name)

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels of the test set."""
        return ImageSet.load(self._paths.images(self.cell.dataset, "test")).labels

    @cached_property
    def reference(self) -> dict[str, np.ndarray]:
        """The ensemble's expectations by set and name."""
        return load_arrays(self._paths.reference(self.cell.path))

    def of_all_seeds(self, what: str) -> np.ndarray:
        """One of the ensemble's expectations by the chains of all seeds, this one's first."""
        others = (load_arrays(self._paths.reference(cell.path))[what] for cell in self.other_seeds)
        return np.stack([self.reference[what], *others])

    def said(self, student: StudentId) -> Said:
        """What a student says."""
        if student not in self._said:
            self._said[student] = Said(load_arrays(self._paths.predictions(self.cell.path, student.slug)))
        return self._said[student]

    def the(self, **wanted: Any) -> Said:
        """What the one student with these properties says."""
        (student,) = (one for one in self.students if all(getattr(one, key) == v for key, v in wanted.items()))
        return self.said(student)

    @property
    def entropy(self) -> np.ndarray:
        """The ensemble's expected entropies on the test set."""
        return self.reference["test/entropy"]

    @property
    def teacher_nll(self) -> float:
        """NLL of the ensemble's predictive distribution on the test set."""
        return metrics.nll(self.reference["test/predictive"], self.labels)

    def nll(self, said: Said, stage: str = "") -> float:
        """NLL of a student's predictive distribution on the test set."""
        return metrics.nll(said.probabilities("test", stage), self.labels)

    def entropy_mae(self, said: Said, stage: str = "") -> float:
        """Mean absolute error of a student's expected entropy on the test set."""
        return metrics.entropy_mae(said.data("test", stage), self.entropy)

    def correlation(self, said: Said) -> float:
        """Of a student's expected entropies with the ensemble's, on the test set."""
        return metrics.correlation(said.data("test"), self.entropy)

    @property
    def constant_mae(self) -> float:
        """The error of the constant that comes nearest to the ensemble's entropies, their median."""
        return metrics.entropy_mae(np.full_like(self.entropy, np.median(self.entropy)), self.entropy)

    def ensemble(self, name: str) -> tuple[np.ndarray, Uncertainty]:
        """Probabilities and uncertainties of the ensemble on a set."""
        p = self.reference[f"{name}/predictive"]
        return p, decompose(p, self.reference[f"{name}/entropy"])

    def downstream(self, name: str) -> Iterator[tuple[str, np.ndarray, Uncertainty]]:
        """Experiment 4: the ensemble, GPED and EnD², with their probabilities and uncertainties on a set."""
        yield "ensemble", *self.ensemble(name)
        for method, target in METHODS.items():
            said = self.the(target=target)
            yield method, said.probabilities(name), said.uncertainty(name)
