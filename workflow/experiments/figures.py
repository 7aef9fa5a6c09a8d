"""What every figure is: its name, its experiment, what it is drawn from, and what is said of it.

To add one, add an entry to `FIGURES` and a function of the drawing's name to `workflow/reporting/drawings.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workflow.experiments.ablations import ablations
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell
from workflow.experiments.paper import PAPER_SETS
from workflow.experiments.paths import Paths
from workflow.experiments.tables import TABLES, Part, Table


@dataclass(frozen=True)
class Figure:
    """A figure of the run.

    Args:
        name: Of its files.
        drawing: Name of the function that draws it.
        shows: What it shows, in two or three words.
        of: What it is about, in words.
        experiment: Where the report lists it; None for figures that the paper does not have.
        inputs: Files that it is drawn from, by the names of the drawing's arguments, alone or in lists or dictionaries.
        options: The drawing's other arguments.
        caption: What the report says of it.
        of_ablations: Whether it belongs to the target `ablations`, and is not among all.
    """

    name: str
    drawing: str
    shows: str
    of: str
    experiment: int | None
    inputs: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    caption: str = ""
    of_ablations: bool = False

    def files(self) -> list[str]:
        """All that it is drawn from."""
        return list(dict.fromkeys(_strings(self.inputs)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


def _table(name: str) -> Table:
    (table,) = (table for table in TABLES if table.name == name)
    return table


def _parts(matrix: Matrix, name: str) -> Iterator[tuple[str, Part]]:
    """The files of a table's parts, and the parts."""
    table = _table(name)
    yield from ((table.file(part), part) for part in table.parts_in(matrix))


def _masking(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    for role in matrix.masked_roles:
        model = matrix.models[role]
        side = model["focus"]["mask"] or max(model["masks"])
        if side:
            images = {"images": paths.images(model["dataset"], "test")}
            options = {"side": side, "data_seed": matrix.config["data_seed"]}
            share = Cell(role, model["dataset"], 1, side, 0).masking_rate
            caption = (
                f"Test images before and after masking with a random square of {side} pixels, {100 * share:.0f} % of "
                "each image. Masks raise the uncertainty of the posterior."
            )
            called = matrix.called(model["dataset"])
            yield Figure("masking", "masking", "masked images", called, 2, images, options, caption)
            return


def _robustness(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    caption = (
        "How distillation fares as uncertainty grows: the teacher's test NLL, how much worse the student's is (U_s), "
        "and the mean absolute error (MAE) of the student's expected entropy (U_o), over training sizes and, where "
        "there are masks, shares of masked pixels."
    )
    for file, part in _parts(matrix, "estimators"):
        numbers = {"numbers": paths.table(file)}
        options = {"title": part.of}
        yield Figure(f"robustness_{part.name}", "robustness", "robustness", part.of, 2, numbers, options, caption)


def _tradeoffs(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    caption = (
        "What a student is worth against what it costs, in multiply-adds for one input and in parameters. Grey: "
        "individual students. Blue: those that no cheaper student of the same method beats. Dashed: the cost of the "
        "base student, which has the teacher's architecture. Orange: the teacher's ensemble. Left of each pair, every "
        "width multiplier was tried; right, the largest student was pruned by group ℓ1/ℓ2 regularisation of several "
        f"strengths and fine-tuned. {matrix.focus_in_words()}"
    )
    kinds = {
        "predictive": {"nll": "NLL against cost", "accuracy": "accuracy against cost"},
        "entropy": {"entropy": "entropy error against cost"},
    }
    for file, part in _parts(matrix, "tradeoff"):
        cells = [need.cell for need in part.needs]
        inputs = {
            "numbers": paths.table(file),
            "references": [paths.reference(cell.path) for cell in cells],
            "images": paths.images(cells[0].dataset, "test"),
        }
        for what, shows in kinds[part.keys["target"]].items():
            role, title = cells[0].role, matrix.description(cells[0].role)
            options = {"what": what, "title": title}
            yield Figure(f"tradeoff_{what}_{role}", "tradeoff", shows, title, 3, inputs, options, caption)


def _comparison(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    if tables := [paths.table(file) for file, _ in _parts(matrix, "accuracy")]:
        name, numbers = "comparison_gped_end2", {"numbers": tables}
        caption = (
            "Test accuracy and NLL of students that learn posterior expectations directly (GPED) and of students that"
            " learn a Dirichlet distribution (EnD²), by estimator and student size. Dashed: the ensemble. Every panel "
            f"has its own scale, and none starts at zero. {matrix.focus_in_words()}"
        )
        yield Figure(name, name, "GPED and EnD²", "all models", 4, numbers, _titles(matrix), caption)


def _joint_entropy(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    parts = {part.name: part for _, part in _parts(matrix, "accuracy")}
    if not parts:
        return
    panels = [
        {
            "reference": paths.reference(need.cell.path),
            **{student.target: paths.predictions(need.cell.path, student.slug) for student in need.students},
        }
        for need in parts["us_large"].needs
        if need.cell.seed == matrix.config["seeds"][0]
    ]
    caption = (
        "Expected entropy of each test input, by the ensemble (horizontal) and by the largest student trained with "
        "U_s (vertical): the darker, the more inputs. The histograms are the marginals. On the green line the student "
        f"agrees with the ensemble. {matrix.focus_in_words()}"
    )
    name, inputs = "joint_entropy", {"panels": panels}
    yield Figure(name, name, "expected entropies", "all models", 4, inputs, _titles(matrix), caption)


def _titles(matrix: Matrix) -> dict[str, Any]:
    """What stands above the panels of each model, on two lines if it is long."""
    return {"titles": [matrix.description(role).replace(" (", "\n(") for role in matrix.models]}


def _published(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    made = any(table.is_published and table.parts_in(matrix) for table in TABLES)
    if made and any(model["dataset"] in PAPER_SETS for model in matrix.models.values()):
        name = "published_vs_reproduced"
        numbers = {"numbers": paths.table(name)}
        caption = (
            "Results in the paper's tables against this run's, as far as it makes them: on the line they are the same. "
            "Filled: ours agrees with the published one. Bars are standard deviations over seeds."
        )
        yield Figure(name, name, "published against reproduced", "all numbers", None, numbers, {}, caption)


def _schedule(matrix: Matrix, paths: Paths) -> Iterator[Figure]:
    if any(one.name == "schedule" for here in ablations(matrix).values() for one in here):
        numbers = {"numbers": paths.table("ablations")}
        models = ", ".join(matrix.description(role) for role in matrix.masked_roles)
        caption = (
            "How much worse students are than their teachers over training sizes, with the learning rate halved per "
            "pass over the data, as published, and with the same schedule for every training size. Bars are standard "
            "deviations over seeds."
        )
        shows = "schedules of the learning rate"
        yield Figure("schedule", "schedule", shows, models, None, numbers, {}, caption, of_ablations=True)


FIGURES: list[Callable[[Matrix, Paths], Iterator[Figure]]] = [
    _masking,
    _robustness,
    _tradeoffs,
    _comparison,
    _joint_entropy,
    _published,
    _schedule,
]


def figures(matrix: Matrix, paths: Paths) -> dict[str, Figure]:
    """All figures of the run by name, in the order of the paper, and then our own."""
    return {figure.name: figure for kind in FIGURES for figure in kind(matrix, paths)}
