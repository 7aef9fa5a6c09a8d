"""Which tables a run has, and what each is computed from."""

import copy
import re

import pytest
import yaml

from tests.helpers import ROOT, configuration, of_experiments
from workflow.experiments.configuration import check
from workflow.experiments.matrix import Matrix
from workflow.experiments.plan import Plan
from workflow.experiments.tables import ABLATIONS, TABLES, Part, Table, measurements
from workflow.reporting.published import FOLDER
from workflow.reporting.rows import ROWS


def named(name: str) -> Table:
    (table,) = (table for table in TABLES if table.name == name)
    return table


def parts(matrix: Matrix, name: str) -> dict[str, Part]:
    """The parts of a table by the names of their files."""
    table = named(name)
    return {table.file(part): part for part in table.parts_in(matrix)}


def published_files(matrix: Matrix) -> list[str]:
    return [file for table in TABLES if table.is_published for file in parts(matrix, table.name)]


def test_the_default_run_has_every_table_of_the_paper():
    matrix = Matrix(configuration())
    assert len(matrix.cells()) == 51
    assert len(published_files(matrix)) == 16


def test_the_papers_tables_are_those_whose_numbers_are_published():
    others = {"text", "bdk"}  # not in its tables, and not the paper's
    assert {table.name for table in TABLES if table.is_published} == {p.stem for p in FOLDER.glob("*.csv")} - others


def test_every_table_has_a_function_of_its_name_and_every_function_a_table():
    assert {table.name for table in [*TABLES, ABLATIONS]} == set(ROWS)


@pytest.mark.parametrize("table", [*TABLES, ABLATIONS], ids=lambda table: table.name)
def test_the_papers_tables_have_all_forms_and_our_own_two(table):
    assert table.forms == (("csv", "md", "tex", "html") if table.is_published else ("csv", "md"))


@pytest.mark.parametrize(
    ("experiment", "tables"),
    [
        (1, ["exp1", "constants"]),
        (2, ["exp1", "estimators", "constants"]),
        (3, ["tradeoff", "pruning"]),
        (4, ["test_metrics", "ood_auroc", "ndcg", "ood_extended", "accuracy"]),
    ],
)
def test_an_experiment_makes_its_tables_and_no_others(experiment, tables):
    plan = Plan(configuration() | {"experiments": [experiment]})
    assert [table.name for table in plan.tables] == tables
    made = {table.name for one in plan.measurements.values() for table, _ in one.parts}
    assert made == {*tables, "ablations"}


def test_experiment_2_with_masks_alone_leaves_out_the_table_of_cells_without_them():
    config = copy.deepcopy(configuration()) | {"experiments": [2]}
    for role in ("fcnn_mnist", "cnn_mnist"):
        config["models"][role]["masks"] = [5, 25]
    del config["models"]["cnn_cifar10"]
    check(config, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()))
    plan = Plan(config)
    assert [table.name for table in plan.tables] == ["estimators", "constants"]
    assert plan.judging()["tables"] == ["estimators", "constants"]


def test_experiment_1_is_about_all_training_images_of_the_papers_sets():
    config = copy.deepcopy(configuration("paper")) | {"experiments": [2]}
    for role, sizes in {"fcnn_mnist": [30_000], "cnn_mnist": [30_000, 60_000], "cnn_cifar10": [10_000]}.items():
        config["models"][role]["train_sizes"] = sizes
    (table,) = (table for table in TABLES if table.name == "exp1")
    (part,) = table.parts_in(Matrix(config))
    assert [(need.cell.role, need.cell.train_size) for need in part.needs] == [("cnn_mnist", 60_000)]
    config["models"]["cnn_mnist"]["train_sizes"] = [30_000]
    assert "exp1" not in [table.name for table in Plan(config).tables]


def test_a_model_that_is_left_out_leaves_no_trace():
    config = configuration()
    config["models"]["cnn_mnist"] = None
    matrix = Matrix(config)
    assert not any("_cnn_mnist" in file for table in TABLES for file in parts(matrix, table.name))


def test_no_file_of_numbers_is_planned_for_a_model_that_is_not_pruned():
    config = configuration()
    config["models"]["fcnn_mnist"]["pruning"]["strengths"] = []
    assert not [file for file in parts(Matrix(config), "pruning") if "fcnn" in file]
    assert [file for file in parts(Matrix(config), "tradeoff") if "fcnn" in file]


def test_a_table_needs_only_its_own_cells_and_students():
    matrix = Matrix(configuration())
    needs = parts(matrix, "estimators")["estimators_cnn_mnist"].needs
    assert {need.cell.role for need in needs} == {"cnn_mnist"}
    assert sum(len(need.students) for need in needs) == 96
    downstream = parts(matrix, "test_metrics")["test_metrics_uo_large"].needs
    slugs = {student.slug for need in downstream for student in need.students}
    assert {re.sub(r"-h\d+-.*", "", slug) for slug in slugs} == {"joint-uo", "end2-uo"}
    assert not any("k1x1" in slug for slug in slugs)
    for part in (*parts(matrix, "tradeoff").values(), *parts(matrix, "pruning").values()):
        assert len(part.needs) == 1


def test_every_student_of_the_matrix_is_in_some_table_and_every_student_in_a_table_in_the_matrix():
    matrix = of_experiments(1, 2, 3, 4)
    shown = {
        (need.cell, student)
        for table in TABLES
        for part in table.parts_in(matrix)
        for need in part.needs
        for student in need.students
    }
    assert shown == {(cell, student) for cell in matrix.cells() for student in matrix.students(cell)}


@pytest.mark.parametrize("experiments", [[1, 2, 3, 4], [2], [3, 4], [1]], ids=str)
def test_tables_that_are_computed_from_the_same_students_are_one_job_and_each_is_in_one(experiments):
    matrix = Matrix(configuration() | {"experiments": experiments})
    every = [*TABLES, ABLATIONS]
    jobs = measurements(matrix, every)
    files = [file for job in jobs for file in job.files]
    assert sorted(files) == sorted(table.file(part) for table in every for part in table.parts_in(matrix))
    assert len({job.name for job in jobs}) == len(jobs)
    assert len({(job.needs, *job.keys.items()) for job in jobs}) == len(jobs)
    for job in jobs:
        assert all((part.needs, part.keys) == (job.needs, job.keys) for _, part in job.parts)


def test_the_default_run_makes_its_40_files_of_numbers_in_15_jobs():
    jobs = measurements(Matrix(configuration()), [*TABLES, ABLATIONS])
    assert len(jobs) == 15
    assert sum(len(job.files) for job in jobs) == 1 + 2 * 3 + 5 * 4 + 2 * 6 + 1


def test_titles_say_which_students_or_model_a_table_is_about():
    plan = Plan(configuration())

    def title(file: str) -> str:
        told = (table for one in plan.measurements.values() for table in plan.measuring(one)["tables"])
        return next(table["title"] for table in told if table["file"] == file)

    assert title("ndcg_uo_large").endswith(": U_o, largest students")
    assert title("estimators_cnn_mnist").endswith(": CNN on MNIST5k (in MNIST's place)")
    assert title("tradeoff_entropy_fcnn_mnist").endswith(": entropy, FCNN on MNIST5k (in MNIST's place)")
    assert title("estimators_cnn_cifar10").endswith(": CNN on PhotoLetters (in CIFAR10's place)")
    paper = Plan(configuration("paper"))
    assert paper.matrix.description("cnn_cifar10") == "CNN on CIFAR10"
    assert ":" not in title("exp1")
