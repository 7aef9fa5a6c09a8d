"""The experiment matrix: which teachers there are, and which students each has.

Pure Python over a checked configuration. A *cell* is one teacher; a student is identified by its cell and its slug,
never by the experiment that asked for it, so that experiments share theirs.
"""

from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

from gped.data.images import true_name
from gped.data.transformations import COPIES
from workflow.experiments.models import MODELS
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paper import ESTIMATORS, PAPER_SETS, SET_OF, SIZES


def chosen_models(config: dict[str, Any]) -> Any:
    """The models that take part. A file laid over another can only add to it, so null leaves one out."""
    models = config.get("models")
    return {role: model for role, model in models.items() if model is not None} if isinstance(models, dict) else models


class Matrix:
    """All cells and students of a configuration.

    Args:
        config: A configuration that has passed `workflow.experiments.configuration.check`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.models: dict[str, dict[str, Any]] = chosen_models(config)
        self.experiments = set(config["experiments"])

    @property
    def is_on_the_papers_data(self) -> bool:
        """Whether its numbers can be set beside the published ones."""
        return {self.called(model["dataset"]) for model in self.models.values()} <= PAPER_SETS

    def called(self, name: str) -> str:
        """What a set is called in tables: by its name, unless its files are not the official ones."""
        return true_name(name, self.config["data"]["unofficial"])

    # Cells

    def grid(self, role: str) -> tuple[Cell, ...]:
        """The cells of experiments 1 and 2: every training size with every mask, for every seed."""
        return self._grids[role]

    @cached_property
    def _grids(self) -> dict[str, tuple[Cell, ...]]:  # made once, because every cell is looked up here
        return {
            role: tuple(
                Cell(role, model["dataset"], size, mask, seed)
                for size, mask, seed in product(model["train_sizes"], model["masks"], self.config["seeds"])
            )
            for role, model in self.models.items()
        }

    def full(self, role: str) -> list[Cell]:
        """The cells of experiment 1: the largest training size without a mask."""
        return [c for c in self.grid(role) if c.mask == 0 and c.train_size == max(self.models[role]["train_sizes"])]

    def focus(self, role: str) -> list[Cell]:
        """The cells of experiments 3 and 4."""
        model = self.models[role]
        focus = model["focus"]
        return [Cell(role, model["dataset"], focus["train_size"], focus["mask"], seed) for seed in self.config["seeds"]]

    def cells(self) -> list[Cell]:
        """Every cell that some experiment needs."""
        needed = set()
        for role in self.models:
            needed |= set(
                self.grid(role) if 2 in self.experiments else self.full(role) if 1 in self.experiments else ()
            )
            needed |= set(self.focus(role) if self.experiments & {3, 4} else ())
        return sorted(needed)

    def chain_lengths(self) -> list[tuple[str, str, int]]:
        """Model, data set and T of each model's chains."""
        return [
            (self.focus(role)[0].model, self.called(model["dataset"]), model["chain"]["steps"])
            for role, model in self.models.items()
        ]

    # Students

    def widths(self, role: str, size: str) -> tuple[float, float]:
        """K1 and K2 of the base student, which is the teacher's architecture, or of the largest."""
        search = self.models[role]["search"]
        return (max(search["k1"]), max(search["k2"])) if size == "large" else (1, 1)

    def student(
        self, role: str, target: str, estimator: str, k1: float = 1, k2: float = 1, strength: float | None = None
    ) -> StudentId:
        """The student with the thinning that its target has in this model."""
        thinning = self.models[role]["students"]["thinning"]
        return StudentId(target, estimator, thinning.get(target, thinning["joint"]), k1, k2, strength)

    def estimator_students(self, role: str) -> list[StudentId]:
        """Experiments 1 and 2: both targets with both estimators, at the teacher's size."""
        return [self.student(role, target, u) for target, u in product(("predictive", "entropy"), ESTIMATORS)]

    def search_students(self, role: str, target: str) -> list[StudentId]:
        """Experiment 3, exhaustive search: every pair of multipliers. The predictive by U_s, the entropy by U_o."""
        search = self.models[role]["search"]
        estimator = "us" if target == "predictive" else "uo"
        return [self.student(role, target, estimator, k1, k2) for k1, k2 in product(search["k1"], search["k2"])]

    def pruned_students(self, role: str, target: str) -> list[StudentId]:
        """Experiment 3, pruning: the largest student with every strength of the regulariser."""
        estimator = "us" if target == "predictive" else "uo"
        k1, k2 = self.widths(role, "large")
        return [
            self.student(role, target, estimator, k1, k2, strength)
            for strength in self.models[role]["pruning"]["strengths"]
        ]

    def downstream_student(self, role: str, target: str, estimator: str, size: str) -> StudentId:
        """Experiment 4: a joint (GPED) or end2 (EnD²) student."""
        return self.student(role, target, estimator, *self.widths(role, size))

    def students(self, cell: Cell) -> list[StudentId]:
        """Every student of a cell, each once."""
        role, needed = cell.role, set()
        if (2 in self.experiments and cell in self.grid(role)) or (1 in self.experiments and cell in self.full(role)):
            needed |= set(self.estimator_students(role))
        if cell in self.focus(role):
            if 3 in self.experiments:
                for target in ("predictive", "entropy"):
                    needed |= {*self.search_students(role, target), *self.pruned_students(role, target)}
            if 4 in self.experiments:
                needed |= {
                    self.downstream_student(role, *which) for which in product(("joint", "end2"), ESTIMATORS, SIZES)
                }
        return sorted(needed, key=StudentId.order)

    # What a model is called, and what a cell needs

    def title(self, role: str) -> str:
        """A model with its data, for people."""
        return f"{MODELS[role].name} on {self.called(self.models[role]['dataset'])}"

    def description(self, role: str) -> str:
        """The same, with what the data stand for if they are not the paper's."""
        return f"{self.title(role)}{self.in_whose_place(role)}"

    def in_whose_place(self, role: str) -> str:
        """What a model's data stand for, to be added to their name; nothing if they are the paper's."""
        place = self.stand_ins.get(self.called(self.models[role]["dataset"]))
        return f" (in {place}'s place)" if place else ""

    def focus_in_words(self) -> str:
        """The data of experiments 3 and 4, in a sentence."""
        told = []
        for role, model in self.models.items():
            size, side = model["focus"]["train_size"], model["focus"]["mask"]
            masks = f"masks of {side}×{side} pixels" if side else "no masks"
            told.append(f"{self.title(role)}: {size:,} training images, {masks}")
        return f"{'; '.join(told)}."

    @property
    def stand_ins(self) -> dict[str, str]:
        """Sets that are not the paper's, and those in whose place they are."""
        sets = {self.called(model["dataset"]): SET_OF[role] for role, model in self.models.items()}
        return {name: place for name, place in sets.items() if name not in PAPER_SETS}

    @property
    def masked_roles(self) -> list[str]:
        """The models whose images the paper masks."""
        return [role for role in self.models if MODELS[role].is_masked]

    def ood(self, cell: Cell) -> list[str]:
        """The out-of-distribution sets of a cell: none but in experiment 4, and where its D' is varied."""
        cell = replace(cell, variant="") if cell.variant in COPIES else cell
        return self.models[cell.role]["ood"] if 4 in self.experiments and cell in self.focus(cell.role) else []

    def sets(self, cell: Cell) -> dict[str, tuple[str, str]]:
        """The sets that a cell reads: what for, and which split of which."""
        sets = {"train": (cell.dataset, "train"), "test": (cell.dataset, "test")}
        return sets | {name: (name, "test") for name in self.ood(cell)}

    def all_sets(self) -> list[tuple[str, str]]:
        """Every split of every set that the models name."""
        sets = [(model["dataset"], split) for model in self.models.values() for split in ("train", "test")]
        return list(
            dict.fromkeys([*sets, *((name, "test") for model in self.models.values() for name in model["ood"])])
        )

    def is_pruned(self, cell: Cell) -> bool:
        """Whether some student of a cell is pruned, so that its chain must go on for the fine-tuning."""
        return (
            3 in self.experiments
            and cell in self.focus(cell.role)
            and bool(self.models[cell.role]["pruning"]["strengths"])
        )
