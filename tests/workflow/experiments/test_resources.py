"""What jobs ask a cluster for."""

import pytest

from tests.helpers import of_experiments
from workflow.experiments import resources
from workflow.experiments.models import MODELS


@pytest.mark.parametrize(
    ("role", "k", "measured"),
    [
        ("fcnn_mnist", 1, 7.7),
        ("fcnn_mnist", 5, 65),
        ("cnn_mnist", 1, 12),
        ("cnn_mnist", 3, 69),
        ("cnn_cifar10", 1, 30),
        ("cnn_cifar10", 3, 171),
    ],
)
def test_the_time_of_an_update_is_right_within_a_third_of_what_was_measured(role, k, measured):
    assert resources.milliseconds(MODELS[role].architecture.scaled(k, k)) == pytest.approx(measured, rel=1 / 3)


def test_chains_ask_for_hours_at_paper_scale_and_for_minutes_in_the_default_run():
    paper, demo = of_experiments(1, 2, 3, 4), of_experiments(1, 2, 3, 4, preset=None)
    assert {role: resources.chain_minutes(paper, paper.full(role)[0]) // 60 for role in paper.models} == {
        "fcnn_mnist": 5,
        "cnn_mnist": 7,
        "cnn_cifar10": 23,
    }
    assert all(resources.chain_minutes(demo, cell) < 10 for cell in demo.cells())


def test_students_that_share_a_job_ask_for_the_time_and_memory_of_all():
    matrix = of_experiments(1, 2, 3, 4)
    (cell,) = matrix.focus("fcnn_mnist")
    small, large = (matrix.downstream_student("fcnn_mnist", "joint", "us", size) for size in ("base", "large"))
    one, other, both = ([small], [large], [small, large])

    def beyond_start(students):
        return resources.student_minutes(matrix, cell, students) - resources.MINUTES_TO_START

    assert beyond_start(both) == pytest.approx(beyond_start(one) + beyond_start(other), abs=1)
    assert resources.student_megabytes(cell, one) < resources.student_megabytes(cell, other)
    assert resources.student_megabytes(cell, both) < resources.MEGABYTES + 200
