"""Which students share a job: as many as the configuration says, of one kind and variant."""

from itertools import groupby

from workflow.experiments.ablations import ablated_students
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId

Batch = tuple[StudentId, ...]


def batches(matrix: Matrix, cell: Cell) -> list[Batch]:
    """The students of a cell, those of ablations, too, job by job."""
    size, jobs = matrix.config["students_per_job"], list[Batch]()
    students = sorted([*matrix.students(cell), *ablated_students(matrix, cell)], key=StudentId.order)
    for _, members in groupby(students, key=lambda student: (student.kind, student.variant)):
        alike = list(members)
        jobs += [tuple(alike[at : at + size]) for at in range(0, len(alike), size)]
    return jobs
