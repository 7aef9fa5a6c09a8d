"""The experiment matrix: which teachers and students there are, what each is called, and the settings of each.

Pure Python over a checked configuration. A *cell* is one teacher; a student is identified by its cell and its slug,
never by the experiment that asked for it, so that experiments share theirs.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from typing import Any

from gped import ablations
from gped.names import Cell, StudentId

PAPER_STEPS = 10**6
SIZES = ("base", "large")
PAPER_SETS = {"MNIST", "CIFAR10"}
PUBLISHED = ("exp1", "estimators", "test_metrics", "ood_auroc", "ndcg")
"""The tidy files whose rows the paper's tables have, too."""
TIDY = (*PUBLISHED, "tradeoff", "ood_extended", "accuracy", "pruning", "constants")
"""The run's tidy files."""
ESTIMATORS = ("us", "uo")


def chosen_models(config: dict[str, Any]) -> Any:
    """The models that take part. A file laid over another can only add to it, so null leaves one out."""
    models = config.get("models")
    return {role: model for role, model in models.items() if model is not None} if isinstance(models, dict) else models


class Matrix:
    """All cells and students of a configuration.

    Args:
        config: A configuration that has passed `gped.configuration.check`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.models: dict[str, dict[str, Any]] = chosen_models(config)
        self.experiments = set(config["experiments"])

    @property
    def is_on_the_papers_data(self) -> bool:
        """Whether its numbers can be set beside the published ones."""
        return {model["dataset"] for model in self.models.values()} <= PAPER_SETS

    # Cells

    def grid(self, role: str) -> list[Cell]:
        """The cells of experiments 1 and 2: every training size with every mask, for every seed."""
        model = self.models[role]
        return [
            Cell(role, model["dataset"], size, mask, seed)
            for size, mask, seed in product(model["train_sizes"], model["masks"], self.config["seeds"])
        ]

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
        return [(self.focus(role)[0].model, m["dataset"], m["chain"]["steps"]) for role, m in self.models.items()]

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
        return sorted(needed, key=lambda student: (student.kind, student.slug))

    def batches(self, cell: Cell) -> list[tuple[str, ...]]:
        """The slugs of a cell's students, as many to a job as the configuration says, one kind to a job."""
        size = self.config["students_per_job"]
        by_kind: dict[str, list[str]] = {}
        for student in [*self.students(cell), *self.ablated_students(cell)]:
            by_kind.setdefault(student.kind, []).append(student.slug)
        return [tuple(slugs[at : at + size]) for slugs in by_kind.values() for at in range(0, len(slugs), size)]

    # Ablations: what the paper left open, on a cell or two each. They change no cell or student of the experiments.

    def ablations(self) -> list[ablations.Ablation]:
        """Every setting that is compared."""
        return [ablation for ablation in ablations.every(self) if ablation.name in self.config["ablations"]]

    def ablated_cells(self) -> list[Cell]:
        """The cells that only ablations need."""
        return sorted({ablation.cell for ablation in self.ablations()} - set(self.cells()))

    def ablated_students(self, cell: Cell) -> list[StudentId]:
        """The students of a cell that only ablations need."""
        wanted = {one.student for one in self.ablations() if one.cell == cell and one.student}
        return sorted(wanted - set(self.students(cell)), key=lambda student: (student.kind, student.slug))

    # Settings: all that a job needs to know, and nothing that it does not depend on

    def sets(self, cell: Cell) -> dict[str, str]:
        """The data files that a cell reads: what for, and which."""
        files = {"train": f"{cell.dataset}-train", "test": f"{cell.dataset}-test"}
        return files | {name: f"{name}-test" for name in self.ood(cell)}

    def ood(self, cell: Cell) -> list[str]:
        """The out-of-distribution sets of a cell: none but in experiment 4."""
        return self.models[cell.role]["ood"] if 4 in self.experiments and cell in self.focus(cell.role) else []

    def inputs(self, cell: Cell) -> dict[str, Any]:
        """How a cell's images are prepared."""
        return {
            "train_size": cell.train_size,
            "mask": cell.mask,
            "data_seed": self.config["data_seed"],
            "standardise": self.models[cell.role]["standardise"] != (cell.variant == "rescaled"),
            **({"ood_limit": self.config["data"]["ood_limit"]} if self.ood(cell) else {}),
        }

    def teacher(self, cell: Cell) -> dict[str, Any]:
        """Settings of a cell's chain."""
        chain = dict(self.models[cell.role]["chain"])
        students = self.students(cell) + self.ablated_students(cell) or self.estimator_students(cell.role)
        return {
            "role": cell.role,
            "seed": cell.seed,
            "device": self.config["device"],
            "inputs": self.inputs(cell),
            **chain,
            "thinning": min(student.thinning for student in students),
            "further_steps": self.fine_tuning_steps(cell) if self.is_pruned(cell) else 0,
        }

    def is_pruned(self, cell: Cell) -> bool:
        """Whether some student of a cell is pruned, so that its chain must go on for the fine-tuning."""
        return (
            3 in self.experiments
            and cell in self.focus(cell.role)
            and bool(self.models[cell.role]["pruning"]["strengths"])
        )

    def fine_tuning_steps(self, cell: Cell) -> int:
        """F."""
        return self.in_steps(cell, self.models[cell.role]["pruning"]["fine_tuning"])

    def training(self, cell: Cell, kind: str) -> dict[str, Any]:
        """Settings of the students of one kind in a cell; the rest is in their slugs."""
        model = self.models[cell.role]
        students, pruning = model["students"], model["pruning"]
        kind, _, variant = kind.partition("-")
        settings = {
            "role": cell.role,
            "seed": cell.seed,
            "device": self.config["device"],
            "inputs": self.inputs(cell),
            "steps": model["chain"]["steps"],
            "learning_rate": students["learning_rate"],
            "halving_every": self.in_steps(cell, students["halving"]),
            "input_noise": students["input_noise"],
            "dropout": {"plain": students["dropout"], "pruned": 0.0}.get(kind, students["joint_dropout"]),
        }
        if kind == "pruned":
            settings["pruning"] = {
                "fine_tuning_steps": self.fine_tuning_steps(cell),
                "fine_tuning_rate": pruning["learning_rate"],
                **{key: pruning[key] for key in ("threshold", "proximal", "biases", "output_layer")},
            }
        if kind == "end2":
            settings["end2"] = students["end2"]
        return settings | ablations.set_otherwise(self, cell, variant)

    def in_steps(self, cell: Cell, duration: str) -> int:
        """A duration in steps of the chain, whether it is given as "250 steps" or "200 epochs".

        An epoch is a pass over D, shortened as much as the chain is shorter than the paper's.
        """
        number, unit = duration.split()
        chain = self.models[cell.role]["chain"]
        epoch = cell.train_size / chain["batch_size"] * chain["steps"] / PAPER_STEPS
        return max(1, round(float(number) * (epoch if unit == "epochs" else 1)))

    # Tables and figures: what each is made from

    def tables(self) -> list[str]:
        """The paper's tables that the configured experiments can fill."""
        return [part for kind in PUBLISHED for part in self.parts(kind)]

    def parts(self, kind: str) -> list[str]:
        """The files of numbers that make up one of the run's tidy files."""
        if kind == "exp1":
            return ["exp1"] if self.experiments & {1, 2} else []
        if kind in ("estimators", "constants"):
            return [f"{kind}_{role}" for role in self.models] if 2 in self.experiments else []
        if kind in ("tradeoff", "pruning"):
            roles = [role for role, model in self.models.items() if kind == "tradeoff" or model["pruning"]["strengths"]]
            pairs = product(roles, ("predictive", "entropy")) if 3 in self.experiments else ()
            return [f"{kind}_{target}_{role}" for role, target in pairs]
        pairs = product(ESTIMATORS, SIZES) if 4 in self.experiments else ()
        return [f"{kind}_{estimator}_{size}" for estimator, size in pairs]

    @property
    def masked_roles(self) -> list[str]:
        """The models of MNIST or what takes its place: the paper masks no others."""
        return [role for role in self.models if role.endswith("_mnist")]

    def figures(self) -> list[str]:
        """The paper's figures that the configured experiments can fill."""
        names = ["masking"] if self.masked_roles else []
        if 2 in self.experiments:
            names += [f"robustness_{role}" for role in self.models]
        if 3 in self.experiments:
            names += [f"tradeoff_{what}_{role}" for what in ("nll", "accuracy", "entropy") for role in self.models]
        if 4 in self.experiments:
            names += ["comparison_gped_end2", "joint_entropy"]
        return names

    def measured(self, numbers: str) -> list[dict[str, Any]]:
        """The same as plain values, with the out-of-distribution sets of each cell."""
        return [
            {
                "cell": asdict(cell),
                "students": [student.slug for student in students],
                "ood": self.ood(cell),
                "ablations": [
                    (one.name, one.setting, one.student.slug if one.student else None)
                    for one in (self.ablations() if numbers == "ablations" else ())
                    if one.cell == cell
                ],
            }
            for cell, students in self.needs(numbers)
        ]

    def needs(self, numbers: str) -> Iterator[tuple[Cell, list[StudentId]]]:
        """The cells, and of each the students, that a file of numbers is computed from."""
        if numbers == "ablations":
            every = self.ablations()
            for cell in dict.fromkeys(one.cell for one in every):
                yield cell, list(dict.fromkeys(one.student for one in every if one.cell == cell and one.student))
            return
        for role in self.models:
            if numbers == "exp1":
                students = [self.student(role, "predictive", "us"), self.student(role, "entropy", "uo")]
                yield from ((cell, students) for cell in self.full(role))
            elif numbers in (f"estimators_{role}", f"constants_{role}"):
                yield from ((cell, self.estimator_students(role)) for cell in self.grid(role))
            elif numbers.startswith(("tradeoff_", "pruning_")) and numbers.endswith(f"_{role}"):
                kind, target = numbers.removesuffix(f"_{role}").split("_")
                students = self.search_students(role, target) if kind == "tradeoff" else []
                students += self.pruned_students(role, target)
                yield from ((cell, students) for cell in self.focus(role))
            elif numbers.startswith(("test_metrics_", "ood_auroc_", "ood_extended_", "ndcg_", "accuracy_")):
                estimator, size = numbers.split("_")[-2:]
                students = [self.downstream_student(role, target, estimator, size) for target in ("joint", "end2")]
                yield from ((cell, students) for cell in self.focus(role))
