"""The experiment matrix: counts as in the paper, and settings that depend on nothing they should not."""

import copy
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell, StudentId

ROOT = Path(__file__).parent.parent


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """One configuration laid over another, as Snakemake does it."""
    result = dict(base)
    for key, value in over.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and key in result else value
    return result


def configuration(preset: str | None = None) -> dict[str, Any]:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    if preset:
        config = merged(config, yaml.safe_load((ROOT / f"workflow/presets/{preset}.yaml").read_text()))
    return config


def of_experiments(*experiments: int, preset: str | None = "paper") -> Matrix:
    return Matrix(configuration(preset) | {"experiments": list(experiments)})


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


def test_the_default_run_has_every_table_and_figure_of_the_paper():
    matrix = Matrix(configuration())
    assert len(matrix.cells()) == 51
    assert len(matrix.tables()) == 16
    assert len(matrix.figures()) == 15


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_batches_partition_the_students_and_keep_kinds_apart(size):
    matrix = Matrix(configuration("paper") | {"students_per_job": size})
    for cell in matrix.cells():
        batches = matrix.batches(cell)
        assert Counter(slug for batch in batches for slug in batch) == Counter(
            s.slug for s in [*matrix.students(cell), *matrix.ablated_students(cell)]
        )
        assert all(len(batch) <= size for batch in batches)
        assert all(len({StudentId.from_slug(slug).kind for slug in batch}) == 1 for batch in batches)


def test_slugs_and_paths_are_those_of_the_contract_and_can_be_read_back():
    matrix = of_experiments(1, 2, 3, 4)
    slugs = {slug for _, slug in all_students(matrix)}
    assert {"predictive-us-h100-k1x1", "joint-us-h10-k5x5", "entropy-uo-h10-k5x5-gl1e-05"} <= slugs
    assert "end2-uo-h10-k3x3" in slugs
    assert all(StudentId.from_slug(slug).slug == slug for slug in slugs)
    assert "fcnn-MNIST/n60000-m15-s0" in {cell.path for cell in matrix.cells()}


def test_halvings_and_fine_tuning_are_those_of_the_protocol():
    matrix = of_experiments(1, 2, 3, 4)
    steps = {
        cell.train_size: matrix.training(cell, "plain")["halving_every"]
        for cell in matrix.grid("cnn_mnist")
        if not cell.mask
    }
    assert steps == {10_000: 20_000, 20_000: 40_000, 30_000: 60_000, 60_000: 120_000}  # 50 … 8 halvings in 10^6 steps
    (focus,) = matrix.focus("cnn_mnist")
    assert matrix.teacher(focus)["further_steps"] == 600 * 600
    shorter = of_experiments(1, 2, 3, 4, preset="reduced")
    assert shorter.training(shorter.focus("cnn_mnist")[0], "plain")["halving_every"] == 6_000


def test_only_the_cells_of_experiments_3_and_4_pay_for_fine_tuning_and_out_of_distribution_sets():
    matrix = of_experiments(1, 2, 3, 4)
    for cell in matrix.cells():
        special = cell in matrix.focus(cell.role)
        assert bool(matrix.teacher(cell)["further_steps"]) == bool(matrix.ood(cell)) == special


@pytest.mark.parametrize(
    ("keys", "value", "teachers", "kinds"),
    [
        (("pruning", "strengths"), [0.5], False, set()),
        (("search", "k1"), [0.5, 1, 3], False, set()),
        (("students", "learning_rate"), 0.5, False, {"plain", "pruned", "joint", "end2"}),
        (("students", "dropout"), 0.25, False, {"plain"}),
        (("students", "joint_dropout"), 0.25, False, {"joint", "end2"}),
        (("students", "end2"), {"temperature": 1}, False, {"end2"}),
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
        assert (old.teacher(cell) != new.teacher(cell)) == teachers
        changed = {k for k in ("plain", "pruned", "joint", "end2") if old.training(cell, k) != new.training(cell, k)}
        assert changed == kinds


def test_the_number_of_out_of_distribution_images_reaches_only_the_cells_that_meet_them():
    before, after = configuration(), configuration()
    after["data"]["ood_limit"] = 100
    old, new = Matrix(before), Matrix(after)
    changed = {cell for cell in old.cells() if old.teacher(cell) != new.teacher(cell)}
    assert (
        changed
        == {cell for cell in old.cells() if old.ood(cell)}
        == {c for role in old.models for c in old.focus(role)}
    )


def test_a_model_that_is_left_out_leaves_no_trace():
    config = configuration()
    config["models"]["cnn_mnist"] = None
    matrix = Matrix(config)
    assert list(matrix.models) == ["fcnn_mnist", "cnn_cifar10"]
    assert not any("_cnn_mnist" in part for part in matrix.tables() + matrix.figures())


def test_a_chain_speaks_often_enough_for_the_students_of_ablations():
    config = configuration("paper") | {"experiments": [2]}
    config["models"]["fcnn_mnist"]["students"]["thinning"] = {"predictive": 8, "entropy": 8, "joint": 4}
    matrix = Matrix(config)
    (focus,) = matrix.focus("fcnn_mnist")
    assert matrix.teacher(focus)["thinning"] == 4
    assert {matrix.teacher(cell)["thinning"] for cell in matrix.grid("fcnn_mnist") if cell != focus} == {8}


def test_masking_rates_are_shares_of_the_models_own_images():
    rates = {role: Cell(role, "x", 100, 16, 0).masking_rate for role in ("fcnn_mnist", "cnn_cifar10")}
    assert rates == {"fcnn_mnist": 0.33, "cnn_cifar10": 0.25}


def test_schedules_in_steps_are_not_compared_with_themselves():
    assert not [one for one in Matrix(configuration()).ablations() if one.name == "schedule"]


def test_no_file_of_numbers_is_planned_for_a_model_that_is_not_pruned():
    config = configuration()
    config["models"]["fcnn_mnist"]["pruning"]["strengths"] = []
    assert not [part for part in Matrix(config).parts("pruning") if "fcnn" in part]
    assert [part for part in Matrix(config).parts("tradeoff") if "fcnn" in part]


def test_another_seed_is_another_cell_with_the_same_students():
    config = configuration() | {"seeds": [0, 1, 2]}
    matrix = Matrix(config)
    assert len(matrix.cells()) == 3 * 51
    one, two, three = matrix.focus("cnn_mnist")
    assert matrix.students(one) == matrix.students(two) == matrix.students(three)
    assert matrix.inputs(one) == matrix.inputs(two)


def test_a_table_needs_only_its_own_cells_and_students():
    matrix = Matrix(configuration())
    assert {cell.role for cell, _ in matrix.needs("estimators_cnn_mnist")} == {"cnn_mnist"}
    assert sum(len(students) for _, students in matrix.needs("estimators_cnn_mnist")) == 96
    slugs = {student.slug for _, students in matrix.needs("test_metrics_uo_large") for student in students}
    assert {re.sub(r"-h\d+-.*", "", slug) for slug in slugs} == {"joint-uo", "end2-uo"}
    assert not any("k1x1" in slug for slug in slugs)
    for part in (part for kind in ("tradeoff", "pruning") for part in matrix.parts(kind)):
        assert len(list(matrix.needs(part))) == 1


def test_ablations_add_to_the_experiments_and_change_nothing_of_them():
    matrix = of_experiments(1, 2, 3, 4)
    cells = set(matrix.cells())
    assert [cell.path for cell in matrix.ablated_cells()] == ["cnn-CIFAR10/n20000-m0-s0-rescaled"]
    for ablation in matrix.ablations():
        if ablation.student and ablation.cell in cells:
            assert (ablation.student in matrix.students(ablation.cell)) == (not ablation.student.variant)
            assert StudentId.from_slug(ablation.student.slug) == ablation.student
    counts = Counter(ablation.name for ablation in matrix.ablations())
    assert counts == {
        "schedule": 2 * 4 * 2,
        "dropout": 2,
        "input noise": 2,
        "EnD² temperatures": 3,
        "pixels": 2,
        "reference": 3,
    }


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("plain-budget", {"halving_every": 120_000}),
        ("plain-first", {"dropout_layers": 1}),
        ("plain-noise", {"input_noise": 1e-3}),
    ],
)
def test_a_variant_differs_in_what_it_is_named_after_and_in_nothing_else(kind, changed):
    matrix = of_experiments(1, 2, 3, 4)
    cell = next(cell for cell in matrix.grid("fcnn_mnist") if cell.train_size == 10_000 and not cell.mask)
    plain, variant = matrix.training(cell, "plain"), matrix.training(cell, kind)
    assert variant == plain | changed
    assert plain["halving_every"] == 20_000


def test_the_other_scaling_of_pixels_is_the_only_difference_of_its_chain():
    matrix = of_experiments(1, 2, 3, 4)
    (cell,), (focus,) = matrix.ablated_cells(), matrix.focus("cnn_cifar10")
    ours, theirs = matrix.teacher(cell), matrix.teacher(focus)
    assert ours["inputs"] | {"ood_limit": 5000} == theirs["inputs"] | {"standardise": False}
    assert {key for key in ours if ours[key] != theirs[key]} == {"inputs", "further_steps"}
