"""What shares a job, to load torch once: students of one kind and variant, and cells that differ in their masks."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

from workflow.experiments.ablations import ablated_students
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId

Batch = tuple[StudentId, ...]
Item = TypeVar("Item")


class Shared(NamedTuple):
    """What one rule makes: jobs of one cell each, or of several that have certain masks.

    Args:
        cells: Paths of a job's cells, with wildcards.
        wildcards: What each may be.
        every: Paths of all cells of all its jobs.
        students: Of each cell; none if it is about their chains.
    """

    cells: tuple[str, ...]
    wildcards: dict[str, list[str]]
    every: list[str]
    students: Batch


def batches(matrix: Matrix, cell: Cell) -> list[Batch]:
    """The students of a cell, those of ablations as well, job by job."""
    size, jobs = matrix.config["students_per_job"], list[Batch]()
    students = sorted([*matrix.students(cell), *ablated_students(matrix, cell)], key=StudentId.order)
    for _, members in groupby(students, key=lambda student: (student.kind, student.variant)):
        jobs += _cut(list(members), size)
    return jobs


def rows(cells: Iterable[Cell], size: int, row: dict[Cell, Hashable]) -> list[tuple[Cell, ...]]:
    """Cells that share a job.

    Args:
        cells: Some cells.
        size: How many may share a job.
        row: What those that may do so have in common.
    """
    together: dict[Hashable, list[Cell]] = {}
    for cell in cells:
        together.setdefault(row[cell], []).append(cell)
    return [job for alike in together.values() for job in _cut(alike, size)]


def _cut(items: Sequence[Item], size: int) -> list[tuple[Item, ...]]:
    return [tuple(items[at : at + size]) for at in range(0, len(items), size)]
