"""Students that share a job."""

from collections import Counter

import pytest

from tests.helpers import configuration
from workflow.experiments.ablations import ablated_students
from workflow.experiments.batches import batches
from workflow.experiments.matrix import Matrix
from workflow.experiments.plan import Plan


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_batches_partition_the_students_and_keep_kinds_apart(size):
    matrix = Matrix(configuration("paper") | {"students_per_job": size})
    for cell in matrix.cells():
        jobs = batches(matrix, cell)
        students = [*matrix.students(cell), *ablated_students(matrix, cell)]
        assert Counter(student for batch in jobs for student in batch) == Counter(students)
        assert all(len(batch) <= size for batch in jobs)
        assert all(len({(student.kind, student.variant) for student in batch}) == 1 for batch in jobs)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_every_batch_of_every_cell_has_one_rule_whose_name_tells_its_kind_and_models(size):
    plan = Plan(configuration("paper") | {"students_per_job": size})
    rules = plan.batches()
    found = Counter((path, batch) for batch, cells in rules.values() for path in cells)
    assert found == Counter((path, batch) for path, cell in plan.cells.items() for batch in batches(plan.matrix, cell))
    for name, (batch, cells) in rules.items():
        variant = f"_{batch[0].variant}" if batch[0].variant else ""
        roles = "_and_".join(dict.fromkeys(plan.cells[path].role for path in cells))
        stem = f"students_{batch[0].kind}{variant}_{roles}"
        assert name == stem or name.removeprefix(f"{stem}_").isdigit()


def test_students_of_several_models_that_are_alike_share_a_rule_and_others_are_counted():
    rules = Plan(configuration()).batches()
    assert "students_joint_cnn_mnist_and_fcnn_mnist" in rules and "students_joint_cnn_cifar10" in rules
    assert {"students_plain_fcnn_mnist", "students_plain_fcnn_mnist_2", "students_end2_cold_fcnn_mnist"} <= rules.keys()
