"""The settings of jobs: all that the protocol says, and nothing that they do not depend on."""

import copy
from dataclasses import replace

import pytest

from tests.helpers import configuration, of_experiments
from workflow.experiments.ablations import ablated_cells
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.settings import inputs, teacher, training

KINDS = ("plain", "pruned", "joint", "end2")


def of_kind(matrix: Matrix, cell: Cell, kind: str) -> StudentId:
    """Some student of that kind."""
    role = cell.role
    return {
        "plain": matrix.student(role, "predictive", "us"),
        "pruned": replace(matrix.student(role, "predictive", "us"), strength=1.0),
        "joint": matrix.student(role, "joint", "us"),
        "end2": matrix.student(role, "end2", "us"),
    }[kind]


def test_halvings_and_fine_tuning_are_those_of_the_protocol():
    matrix = of_experiments(1, 2, 3, 4)
    plain = matrix.student("cnn_mnist", "predictive", "us")
    steps = {
        cell.train_size: training(matrix, cell, plain)["halving_every"]
        for cell in matrix.grid("cnn_mnist")
        if not cell.mask
    }
    assert steps == {10_000: 20_000, 20_000: 40_000, 30_000: 60_000, 60_000: 120_000}  # 50 … 8 halvings in 10^6 steps
    (focus,) = matrix.focus("cnn_mnist")
    assert teacher(matrix, focus)["further_steps"] == 600 * 600
    shorter = of_experiments(1, 2, 3, 4, preset="reduced")
    assert training(shorter, shorter.focus("cnn_mnist")[0], plain)["halving_every"] == 6_000


def test_only_the_cells_of_experiments_3_and_4_pay_for_fine_tuning_and_out_of_distribution_sets():
    matrix = of_experiments(1, 2, 3, 4)
    for cell in matrix.cells():
        special = cell in matrix.focus(cell.role)
        assert bool(teacher(matrix, cell)["further_steps"]) == bool(matrix.ood(cell)) == special


@pytest.mark.parametrize(
    ("keys", "value", "teachers", "kinds"),
    [
        (("pruning", "strengths"), [0.5], False, set()),
        (("search", "k1"), [0.5, 1, 3], False, set()),
        (("students", "learning_rate"), 0.5, False, {"plain", "pruned", "joint", "end2"}),
        (("students", "dropout"), 0.25, False, {"plain"}),
        (("students", "joint_dropout"), 0.25, False, {"joint", "end2"}),
        (("students", "end2"), {"temperature": 1}, False, {"end2"}),
        (("students", "entropy_loss"), "squared", False, {"plain", "pruned", "joint"}),
        (("students", "joint_head"), "share", False, {"joint"}),
        (("pruning", "threshold"), 0.5, False, {"pruned"}),
        (("chain", "step_size"), 1e-9, True, set()),
        (("chain", "reference_every"), 10, True, set()),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_a_change_reaches_the_settings_of_what_depends_on_it_and_no_others(keys, value, teachers, kinds):
    before = configuration()
    after = copy.deepcopy(before)
    for model in after["models"].values():
        model[keys[0]][keys[1]] = value
    old, new = Matrix(before), Matrix(after)
    for role in old.models:
        (cell,) = old.focus(role)
        assert (teacher(old, cell) != teacher(new, cell)) == teachers
        students = {kind: of_kind(old, cell, kind) for kind in KINDS}
        assert {one.kind for one in students.values()} == set(KINDS)
        assert {k for k, one in students.items() if training(old, cell, one) != training(new, cell, one)} == kinds


def test_the_number_of_out_of_distribution_images_reaches_only_the_cells_that_meet_them():
    before, after = configuration(), configuration()
    after["data"]["ood_limit"] = 100
    old, new = Matrix(before), Matrix(after)
    changed = {cell for cell in old.cells() if teacher(old, cell) != teacher(new, cell)}
    assert (
        changed
        == {cell for cell in old.cells() if old.ood(cell)}
        == {c for role in old.models for c in old.focus(role)}
    )


def test_where_the_data_are_is_in_no_setting_of_chains_and_students():
    before, after = configuration(), configuration()
    after["data"]["root"] = "/elsewhere"
    old, new = Matrix(before), Matrix(after)
    for cell in old.cells():
        assert teacher(old, cell) == teacher(new, cell)
        assert all(training(old, cell, one) == training(new, cell, one) for one in old.students(cell))


def test_students_of_one_kind_and_variant_have_the_same_settings():
    """Because those of a job are told the first one's."""
    matrix = of_experiments(1, 2, 3, 4)
    for cell in matrix.cells():
        settings: dict[tuple[str, str], dict] = {}
        for student in matrix.students(cell):
            told = training(matrix, cell, student)
            assert settings.setdefault((student.kind, student.variant), told) == told


def test_a_chain_speaks_often_enough_for_the_students_of_ablations():
    config = configuration("paper") | {"experiments": [2]}
    config["models"]["fcnn_mnist"]["students"]["thinning"] = {"predictive": 8, "entropy": 8, "joint": 4}
    matrix = Matrix(config)
    asked = {*matrix.focus("fcnn_mnist"), *matrix.full("fcnn_mnist")}  # about joint students
    assert len(asked) == 2
    for cell in matrix.grid("fcnn_mnist"):
        assert teacher(matrix, cell)["thinning"] == (4 if cell in asked else 8)


def test_another_seed_has_the_same_images():
    matrix = Matrix(configuration() | {"seeds": [0, 1]})
    one, two = matrix.focus("cnn_mnist")
    assert inputs(matrix, one) == inputs(matrix, two)
    assert {key for key, value in teacher(matrix, one).items() if value != teacher(matrix, two)[key]} == {"seed"}


END2 = {"temperature": 2.5, "teacher_temperature": 2.5, "prediction_temperature": 1, "smoothing": 1e-4}


@pytest.mark.parametrize(
    ("target", "variant", "changed"),
    [
        ("predictive", "budget", {"halving_every": 120_000}),
        ("predictive", "scarce", {"halving_every": 20_000}),
        ("predictive", "hundred", {"halving_every": 20_000}),
        ("joint", "slow", {"halving_every": 400_000}),
        ("predictive", "left_on", {"dropout_layers": 1, "dropout_at_prediction": True}),
        ("entropy", "squared", {"entropy_loss": "squared"}),
        ("joint", "deviance", {"entropy_loss": "deviance"}),
        ("joint", "share", {"joint_head": "share"}),
        ("predictive", "first", {"dropout_layers": 1}),
        ("predictive", "noise", {"input_noise": 1e-3}),
        ("end2", "cold", {"end2": END2 | {"temperature": 1, "teacher_temperature": 1}}),
        ("end2", "warm", {"end2": END2 | {"prediction_temperature": 2.5}}),
    ],
)
def test_a_variant_differs_in_what_it_is_named_after_and_in_nothing_else(target, variant, changed):
    config = configuration("paper")
    config["models"]["fcnn_mnist"]["students"]["end2"] = END2
    matrix = Matrix(config)
    cell = next(cell for cell in matrix.grid("fcnn_mnist") if cell.train_size == 20_000 and not cell.mask)
    student = matrix.student("fcnn_mnist", target, "us")
    plain, other = training(matrix, cell, student), training(matrix, cell, replace(student, variant=variant))
    assert other == plain | changed != plain
    assert plain["halving_every"] == 40_000


def test_the_other_scaling_of_pixels_is_the_only_difference_of_its_chain():
    matrix = of_experiments(1, 2, 3, 4)
    (cell,) = (cell for cell in ablated_cells(matrix) if cell.variant == "rescaled")
    (focus,) = matrix.focus("cnn_cifar10")
    ours, theirs = teacher(matrix, cell), teacher(matrix, focus)
    assert ours["inputs"] | {"ood_limit": 5000} == theirs["inputs"] | {"standardise": False}
    assert {key for key in ours if ours[key] != theirs[key]} == {"inputs", "further_steps"}


def test_more_unlabelled_inputs_are_the_only_difference_of_a_chain_that_reads_them():
    matrix = of_experiments(1, 2, 3, 4)
    (focus,) = matrix.focus("fcnn_mnist")
    for kind in ("turned", "noisy", "mixed"):
        ours, theirs = teacher(matrix, replace(focus, variant=kind)), teacher(matrix, focus)
        assert ours["inputs"] == theirs["inputs"] | {"copies": kind}
        assert {key for key in theirs if ours[key] != theirs[key]} == {"inputs", "further_steps"}


def test_a_shorter_chain_keeps_the_number_of_halvings_or_the_updates_between_two():
    config = configuration("reduced")
    halvings = {}
    for kept in ("halvings", "updates"):
        config["models"]["cnn_mnist"]["students"]["halving_keeps"] = kept
        matrix = Matrix(config)
        (focus,) = matrix.focus("cnn_mnist")
        halvings[kept] = training(matrix, focus, of_kind(matrix, focus, "plain"))["halving_every"]
    assert halvings == {"halvings": 6_000, "updates": 120_000}


def test_the_students_of_experiment_4_keep_of_a_schedule_what_is_said_for_them_alone():
    config = configuration("reduced")
    students = config["models"]["cnn_mnist"]["students"]
    students["halving_keeps"], students["joint_halving_keeps"] = "halvings", "updates"
    matrix = Matrix(config)
    (focus,) = matrix.focus("cnn_mnist")
    kinds = ("plain", "pruned", "joint", "end2")
    told = {kind: training(matrix, focus, of_kind(matrix, focus, kind))["halving_every"] for kind in kinds}
    assert told == {"plain": 6_000, "pruned": 6_000, "joint": 120_000, "end2": 120_000}
