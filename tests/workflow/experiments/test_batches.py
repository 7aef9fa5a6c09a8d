"""Students and cells that share a job."""

import re
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from tests.helpers import configuration
from workflow.experiments.ablations import ablated_students
from workflow.experiments.batches import Batch, Shared, batches
from workflow.experiments.matrix import Matrix
from workflow.experiments.plan import Plan
from workflow.experiments.settings import teacher, training


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_batches_partition_the_students_and_keep_kinds_apart(size):
    matrix = Matrix(configuration("paper") | {"students_per_job": size})
    for cell in matrix.cells():
        jobs = batches(matrix, cell)
        students = [*matrix.students(cell), *ablated_students(matrix, cell)]
        assert Counter(student for batch in jobs for student in batch) == Counter(students)
        assert all(len(batch) <= size for batch in jobs)
        assert all(len({(student.kind, student.variant) for student in batch}) == 1 for batch in jobs)


def planned(students: int, cells: int, preset: str | None = "paper", **more: object) -> Plan:
    return Plan(configuration(preset) | {"students_per_job": students, "cells_per_job": cells} | more)


@pytest.mark.parametrize(("students", "cells"), [*product((1, 3, 1000), (1, 4, 1000))])
def test_every_batch_of_every_cell_has_one_rule_whose_name_tells_its_kind_and_models(students, cells):
    plan = planned(students, cells)
    rules = plan.batches()
    having = [(path, batch) for path, cell in plan.cells.items() for batch in batches(plan.matrix, cell)]
    assert Counter((path, one.students) for one in rules.values() for path in one.every) == Counter(having)
    roles: dict[Batch, list[str]] = {}
    for path, batch in having:
        roles.setdefault(batch, []).append(plan.cells[path].role)
    for name, shared in rules.items():
        first = shared.students[0]
        variant = f"_{first.variant}" if first.variant else ""
        stem = f"students_{first.kind}{variant}_{'_and_'.join(dict.fromkeys(roles[shared.students]))}"
        masks = "".join(f"_m{mask}" for mask in re.findall(r"-m(\d+)-", " ".join(shared.cells)))
        assert re.fullmatch(rf"{stem}(_\d+)?{masks}", name)


def test_students_of_several_models_that_are_alike_share_a_rule_and_others_are_counted():
    rules = planned(16, 6, preset=None).batches()
    assert "students_joint_cnn_mnist_and_fcnn_mnist" in rules and "students_joint_cnn_cifar10" in rules
    assert {"students_plain_fcnn_mnist", "students_plain_fcnn_mnist_2", "students_end2_cold_fcnn_mnist"} <= rules.keys()


# Cells


def jobs_of(plan: Plan, shared: Shared) -> list[tuple[str, ...]]:
    """The cells of every job that Snakemake can make of a rule."""
    values = product(*map(dict.fromkeys, shared.wildcards.values()))
    told = [dict(zip(shared.wildcards, one, strict=True)) for one in values]
    return [tuple(path.format(**wildcards) for path in shared.cells) for wildcards in told]


@pytest.mark.parametrize("size", [1, 2, 4, 1000])
@pytest.mark.parametrize("preset", [None, "paper", "tiny"])
def test_wildcards_make_jobs_of_the_planned_cells_each_once_and_of_no_other(preset, size):
    plan = planned(1000, size, preset, seeds=[3, 5])
    chains, students = plan.chains(), plan.batches()
    made = Counter(path for shared in chains.values() for job in jobs_of(plan, shared) for path in job)
    assert made == Counter(list(plan.cells))
    for shared in (*chains.values(), *students.values()):
        jobs = jobs_of(plan, shared)
        assert sorted(path for job in jobs for path in job) == sorted(shared.every)
        assert all(len(job) <= size for job in jobs)
    assert [name for name, shared in chains.items() if len(shared.cells) == 1] == ["teacher"]
    assert (len(chains) == 1) == (size == 1)


@pytest.mark.parametrize("experiments", [[1], [2], [2, 3], [3, 4], [1, 2, 3, 4]], ids=str)
def test_cells_that_share_a_job_differ_in_their_masks_alone(experiments):
    """So that what the first is told tells when all must run again."""
    plan = planned(1000, 1000, experiments=experiments)
    shared = [one for one in (*plan.chains().values(), *plan.batches().values()) if len(one.cells) > 1]
    jobs = [(one.students, job) for one in shared for job in jobs_of(plan, one)]
    assert len(jobs) > 5
    for students, job in jobs:
        cells = [plan.cells[path] for path in job]
        assert len({replace(cell, mask=0) for cell in cells}) == 1 and len({cell.mask for cell in cells}) == len(cells)
        told = [training(plan.matrix, cell, students[0]) if students else teacher(plan.matrix, cell) for cell in cells]
        for settings in told:
            del settings["inputs"]["mask"]
        assert all(settings == told[0] for settings in told)


@pytest.mark.parametrize("preset", [None, "paper", "tiny"])
def test_what_needs_one_of_the_cells_that_share_a_job_needs_all_of_them(preset):
    """So that whoever wants one table or figure waits for nothing else."""
    plan = planned(1000, 1000, preset)
    wanted = [{need.cell.path for need in one.needs} for one in plan.measurements.values()]
    for figure in plan.figures.values():
        wanted.append({path for path in plan.cells if any(f"/{path}/" in file for file in figure.files())})
    jobs = [set(job) for shared in plan.chains().values() for job in jobs_of(plan, shared)]
    for cells in wanted:
        assert all(job <= cells or not job & cells for job in jobs)
