"""The experiment matrix: which teachers and students there are, in counts as in the paper, and what they are called."""

import pytest

from tests.helpers import configuration, of_experiments
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId


def all_students(matrix: Matrix) -> set[tuple[str, str]]:
    return {(cell.path, student.slug) for cell in matrix.cells() for student in matrix.students(cell)}


def test_the_paper_has_504_students_on_51_teachers():
    matrix = of_experiments(1, 2, 3, 4)
    assert len(matrix.cells()) == 51
    assert len(all_students(matrix)) == 504


def test_each_experiment_has_its_students_and_two_share_six():
    second, third, fourth = (all_students(of_experiments(n)) for n in (2, 3, 4))
    assert (len(second), len(third), len(fourth)) == (204, 282, 24)
    assert len(second & third) == 6
    assert not fourth & (second | third)
    assert all_students(of_experiments(1)) < second


def test_slugs_and_paths_are_those_of_the_contract_and_can_be_read_back():
    matrix = of_experiments(1, 2, 3, 4)
    slugs = {slug for _, slug in all_students(matrix)}
    assert {"predictive-us-h100-k1x1", "joint-us-h10-k5x5", "entropy-uo-h10-k5x5-gl1e-05"} <= slugs
    assert "end2-uo-h10-k3x3" in slugs
    assert all(StudentId.from_slug(slug).slug == slug for slug in slugs)
    assert "fcnn-MNIST/n60000-m15-s0" in {cell.path for cell in matrix.cells()}


def test_another_seed_is_another_cell_with_the_same_students():
    matrix = Matrix(configuration() | {"seeds": [0, 1, 2]})
    assert len(matrix.cells()) == 3 * 51
    one, two, three = matrix.focus("cnn_mnist")
    assert matrix.students(one) == matrix.students(two) == matrix.students(three)


def test_a_model_that_is_left_out_has_no_cells():
    config = configuration()
    config["models"]["cnn_mnist"] = None
    matrix = Matrix(config)
    assert list(matrix.models) == ["fcnn_mnist", "cnn_cifar10"]
    assert {cell.role for cell in matrix.cells()} == {"fcnn_mnist", "cnn_cifar10"}


def test_masking_rates_are_shares_of_the_models_own_images():
    rates = {role: Cell(role, "x", 100, 16, 0).masking_rate for role in ("fcnn_mnist", "cnn_cifar10")}
    assert rates == {"fcnn_mnist": 0.33, "cnn_cifar10": 0.25}


@pytest.mark.parametrize(("preset", "is_so"), [(None, False), ("reduced", True), ("paper", True)])
def test_only_the_presets_are_on_the_papers_data(preset, is_so):
    assert Matrix(configuration(preset)).is_on_the_papers_data == is_so


@pytest.mark.parametrize(("unofficial", "is_so"), [(["MNIST"], False), (["CIFAR10"], False), (["SVHN"], True)])
def test_files_that_only_have_the_names_of_the_papers_data_are_not_called_so(unofficial, is_so):
    config = configuration("paper")
    config["data"]["unofficial"] = unofficial
    matrix = Matrix(config)
    assert matrix.is_on_the_papers_data == is_so
    assert matrix.called(unofficial[0]) == f"{unofficial[0]} (unofficial)" and matrix.called("KMNIST") == "KMNIST"
    assert matrix.title("fcnn_mnist") == f"FCNN on {matrix.called('MNIST')}"
