"""What the paper left open, as cells and students beside those of the experiments."""

from collections import Counter

import pytest

from gped.data.transformations import COPIES
from tests.helpers import ROOT, configuration, of_experiments
from workflow.experiments.ablations import ABLATIONS, Ablation, ablated_cells, ablated_students, ablations
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import StudentId
from workflow.experiments.settings import VARIANTS
from workflow.reporting.ablation_table import NOTES


def listed(matrix: Matrix) -> list[Ablation]:
    by_cell = ablations(matrix)
    assert all(one.cell == cell for cell, here in by_cell.items() for one in here)
    return [one for here in by_cell.values() for one in here]


@pytest.mark.parametrize("preset", [None, "paper"])
def test_ablations_add_to_the_experiments_and_change_nothing_of_them(preset):
    matrix = Matrix(configuration(preset))
    cells = set(matrix.cells())
    for ablation in listed(matrix):
        assert (ablation.cell in cells) == (not ablation.cell.variant)
        if ablation.student:
            assert StudentId.from_slug(ablation.student.slug) == ablation.student
        if ablation.student and ablation.cell in cells:
            of_experiments = ablation.student in matrix.students(ablation.cell)
            assert of_experiments != (ablation.student in ablated_students(matrix, ablation.cell))
            assert not (of_experiments and ablation.student.variant)


def test_only_other_pixels_and_other_unlabelled_inputs_need_chains_of_their_own():
    matrix = of_experiments(1, 2, 3, 4)
    assert {cell.path for cell in ablated_cells(matrix)} == {
        "cnn-CIFAR10/n20000-m0-s0-rescaled",
        "cnn-CIFAR10/n20000-m0-s0-turned",
        *(f"{model}-MNIST/n60000-m15-s0-{kind}" for model in ("fcnn", "cnn") for kind in COPIES),
    }


def test_every_ablation_is_counted():
    counts = Counter(ablation.name for ablation in listed(of_experiments(1, 2, 3, 4)))
    assert counts == {
        "schedule": 2 * (4 * 2) * 3,
        "release": (4 * 2) * 2 * 2 + (4 * 2) * 2 * 3,
        "slower schedule": 3 * 2 * 2 * 2,
        "entropy loss": (2 + 2 + 1) * 3 * 3,
        "joint head": 3 * 2 * 2,
        "unlabelled inputs": 2 * (2 * 4) + 2 * 2,
        "input noise": 2,
        "EnD² temperatures": 3,
        "pixels": 2,
        "reference": 3,
    }


def test_every_ablation_is_known_to_the_configuration_and_has_a_note():
    schema = (ROOT / "workflow/schemas/config.schema.yaml").read_text()
    assert list(ABLATIONS) == configuration()["ablations"] == list(NOTES)
    assert all(f"        - {name}\n" in schema for name in ABLATIONS)


def test_every_variant_that_is_compared_says_what_it_sets_and_none_says_it_in_vain():
    share = configuration("paper")
    for model in share["models"].values():
        model["students"] |= {"joint_head": "share", "entropy_loss": "squared"}
    compared = (one for config in (share, configuration("paper")) for one in listed(Matrix(config)))
    assert {one.student.variant for one in compared if one.student} == set(VARIANTS)


def test_no_setting_is_compared_with_itself():
    """Every setting of one name, cell and student but for its variant is another one."""
    for preset in (None, "reduced", "paper"):
        every = [(one.name, one.cell, one.student) for one in listed(Matrix(configuration(preset)))]
        assert len(set(every)) == len(every)
    assert not [one for one in listed(Matrix(configuration())) if one.name == "schedule"]  # which is in steps
    slower = {one for one in listed(Matrix(configuration("reduced"))) if one.name == "slower schedule"}
    assert not slower  # there the rate is never halved


def test_only_the_ablations_that_the_configuration_names_are_made():
    matrix = Matrix(configuration("paper") | {"ablations": ["input noise", "reference"]})
    assert {one.name for one in listed(matrix)} == {"input noise", "reference"}
    assert not ablated_cells(matrix)
