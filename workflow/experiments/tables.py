"""What every table is: its name, its experiment, what it is computed from, and what is said of it.

To add one, add an entry to `TABLES` and a function of the same name to `workflow/reporting/rows.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from workflow.experiments.ablations import Ablation, ablations
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paper import ESTIMATORS, SIZES, TRAINING_IMAGES
from workflow.experiments.paths import TABLE_FORMS

EXPERIMENTS = {
    1: "Experiment 1: base students",
    2: "Experiment 2: robustness to uncertainty",
    3: "Experiment 3: student architectures",
    4: "Experiment 4: downstream tasks",
}
"""Where the report lists tables and figures."""


@dataclass(frozen=True)
class Need:
    """A cell and some of its students, as far as a table is computed from them."""

    cell: Cell
    students: tuple[StudentId, ...] = ()
    ablations: tuple[Ablation, ...] = ()


@dataclass(frozen=True)
class Part:
    """Rows of a table that are computed from the same students, and have a file of their own.

    Args:
        name: What is added to the table's name; nothing if the table is all in one.
        needs: What the rows are computed from, in the order of the rows.
        of: What the rows are about, in words; nothing for all models.
        keys: Columns in which all rows are the same.
    """

    name: str
    needs: tuple[Need, ...]
    of: str = ""
    keys: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table of the run.

    Args:
        name: Of its tidy file, of the function that makes its rows, and, if the paper has it, of its published numbers.
        shows: What it shows, in two or three words.
        title: What it shows, as its caption says it.
        experiments: It can be made if one of these is run; the report lists it under the first.
        parts: What it is made of.
        is_published: Whether it is one of the paper's.
    """

    name: str
    shows: str
    title: str
    experiments: tuple[int, ...]
    parts: Callable[[Matrix], list[Part]]
    is_published: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """In which it is written: the paper's also for papers and for the report."""
        return TABLE_FORMS if self.is_published else ("csv", "md")

    def file(self, part: Part) -> str:
        """The name of a part's files."""
        return f"{self.name}_{part.name}" if part.name else self.name

    def parts_in(self, matrix: Matrix) -> list[Part]:
        """Its parts, if the run makes it."""
        return self.parts(matrix) if matrix.experiments & set(self.experiments) else []


def _base_students(matrix: Matrix) -> list[Part]:
    """On all training images of the paper's sets; of other sets, on the most that are wanted."""
    needs = [
        Need(cell, (matrix.student(role, "predictive", "us"), matrix.student(role, "entropy", "uo")))
        for role in matrix.models
        for cell in matrix.full(role)
        if cell.train_size == TRAINING_IMAGES.get(cell.dataset, cell.train_size)
    ]
    return [Part("", tuple(needs))] if needs else []  # there may be no such cells, nor any without masks


def _by_model(matrix: Matrix) -> list[Part]:
    """The cells of experiment 2, or of experiment 1 if that is not run."""
    cells = matrix.grid if 2 in matrix.experiments else matrix.full
    return [
        Part(
            role,
            tuple(Need(cell, tuple(matrix.estimator_students(role))) for cell in cells(role)),
            matrix.description(role),
        )
        for role in matrix.models
    ]


def _by_target_and_model(matrix: Matrix) -> list[Part]:
    return [
        Part(
            f"{target}_{role}",
            tuple(
                Need(cell, (*matrix.search_students(role, target), *matrix.pruned_students(role, target)))
                for cell in matrix.focus(role)
            ),
            f"{target}, {matrix.description(role)}",
            {"target": target},
        )
        for role, target in product(matrix.models, ("predictive", "entropy"))
    ]


def _pruned_by_target_and_model(matrix: Matrix) -> list[Part]:
    return [
        part
        for part in _by_target_and_model(matrix)
        if any(student.strength is not None for need in part.needs for student in need.students)
    ]


def _by_estimator_and_size(matrix: Matrix) -> list[Part]:
    return [
        Part(
            f"{estimator}_{size}",
            tuple(
                Need(
                    cell,
                    tuple(matrix.downstream_student(role, target, estimator, size) for target in ("joint", "end2")),
                )
                for role in matrix.models
                for cell in matrix.focus(role)
            ),
            f"{ESTIMATORS[estimator]}, {SIZES[size]}",
            {"estimator": estimator, "student": size},
        )
        for estimator, size in product(ESTIMATORS, SIZES)
    ]


def _ablated(matrix: Matrix) -> list[Part]:
    needs = [
        Need(cell, tuple(dict.fromkeys(one.student for one in here if one.student)), tuple(here))
        for cell, here in ablations(matrix).items()
    ]
    return [Part("", tuple(needs))]


TABLES = [
    Table(
        "exp1",
        "base students",
        "Distilling posterior expectations with students of the teacher's size, all training images, no masks",
        (1, 2),
        _base_students,
        is_published=True,
    ),
    Table(
        "estimators",
        "U_o and U_s",
        "U_o and U_s over training sizes and masking rates",
        (2,),
        _by_model,
        is_published=True,
    ),
    Table(
        "test_metrics",
        "test metrics",
        "In-distribution test metrics",
        (4,),
        _by_estimator_and_size,
        is_published=True,
    ),
    Table(
        "ood_auroc",
        "out-of-distribution detection",
        "AUROC for out-of-distribution detection",
        (4,),
        _by_estimator_and_size,
        is_published=True,
    ),
    Table(
        "ndcg",
        "ranking by uncertainty",
        "nDCG@20 of 100 random test inputs, mean ± standard deviation over 500 trials",
        (4,),
        _by_estimator_and_size,
        is_published=True,
    ),
    Table("tradeoff", "error and cost", "Error and cost of every student", (3,), _by_target_and_model),
    Table(
        "pruning",
        "steps of pruning",
        "Error before pruning, after it, and after fine-tuning",
        (3,),
        _pruned_by_target_and_model,
    ),
    Table(
        "ood_extended",
        "more of detection",
        "Detection with more measures, and without masks on out-of-distribution inputs",
        (4,),
        _by_estimator_and_size,
    ),
    Table(
        "accuracy",
        "accuracy and calibration",
        "Accuracy, calibration, and the share of inputs with negative knowledge uncertainty",
        (4,),
        _by_estimator_and_size,
    ),
    Table("constants", "best constants", "Entropy errors beside that of the best constant", (1, 2), _by_model),
]
ABLATIONS = Table("ablations", "ablations", "What the paper left open", (1, 2, 3, 4), _ablated)


@dataclass(frozen=True)
class Measurement:
    """One job: the parts of tables that are computed from the same students.

    Args:
        name: Of the job.
        parts: Each with its table.
    """

    name: str
    parts: tuple[tuple[Table, Part], ...]

    @property
    def needs(self) -> tuple[Need, ...]:
        """What all of them are computed from."""
        return self.parts[0][1].needs

    @property
    def keys(self) -> dict[str, str]:
        """The columns in which all their rows are the same."""
        return self.parts[0][1].keys

    @property
    def files(self) -> list[str]:
        """Names of the tables' files."""
        return [table.file(part) for table, part in self.parts]


def measurements(matrix: Matrix, tables: list[Table]) -> list[Measurement]:
    """The jobs that make these tables."""
    together: dict[object, list[tuple[Table, Part]]] = {}
    for table in tables:
        for part in table.parts_in(matrix):
            together.setdefault((part.needs, *part.keys.items()), []).append((table, part))
    jobs: dict[str, Measurement] = {}
    for parts in together.values():
        table, part = parts[0]
        name = part.name or table.name
        name = table.file(part) if name in jobs else name
        jobs[name] = Measurement(name, tuple(parts))
    return list(jobs.values())
