"""What is run again after which change."""

import shutil

import pytest

from tests.helpers import NOTHING, edit, planned, tiny

pytestmark = pytest.mark.slow


def test_a_second_run_does_nothing(project):
    assert NOTHING in tiny(project, "all_tables").stdout


@pytest.mark.parametrize("size", [1, 3, 7])
def test_another_number_of_students_per_job_leaves_nothing_to_be_done(size, project):
    assert planned(project, "all_tables", "--config", f"students_per_job={size}") == {}


def test_another_number_of_cells_per_job_trains_the_students_of_those_that_shared_one_and_runs_no_chain(project):
    benchmarks = project / "results/tiny/benchmarks/fcnn-MNIST5k"
    assert (benchmarks / "n100-m0-s7/teacher.tsv").exists() and not (benchmarks / "n100-m15-s7").exists()  # shared
    plan = planned(project, "all_tables", "--config", "cells_per_job=1")
    assert plan["students"] == 2 and not {"data", "teacher"} & plan.keys()


def test_a_new_mask_runs_its_own_cells_and_no_other(changed):
    edit(changed / "tests/tiny.yaml", "masks: [0, 15]", "masks: [0, 10, 15]")
    plan = planned(changed, "all_tables")
    assert (plan["teacher"], plan["students"]) == (2, 2) and "data" not in plan


def test_data_that_have_moved_leave_nothing_to_be_done(changed):
    edit(changed / "config.yaml", "  root: data\n", "  root: /somewhere/else\n")
    assert planned(changed, "all_tables") == {}
    assert NOTHING in tiny(changed, "all_tables").stdout


def test_students_have_the_same_bytes_whatever_shares_their_job(project, changed):
    cell = "results/tiny/cells/fcnn-MNIST5k/n200-m15-s7/students"
    shutil.rmtree(changed / cell)
    tables = [f"results/tiny/tables/{name}.csv" for name in ("test_metrics_us_base", "tradeoff_predictive_fcnn_mnist")]
    for table in tables:
        (changed / table).unlink()
    result = tiny(changed, *tables, "--config", "students_per_job=1")
    assert result.returncode == 0, result.stdout[-3000:]
    remade = sorted((changed / cell).iterdir())
    assert len(remade) == 2 * (2 + 4 + 2)
    for path in remade:
        assert path.read_bytes() == (project / cell / path.name).read_bytes(), path.name


def test_a_new_strength_trains_its_students_and_runs_no_chain(changed):
    edit(changed / "tests/tiny.yaml", "strengths: [1.0e-3, 300.0]", "strengths: [1.0e-3, 0.1, 300.0]")
    plan = planned(changed, "all_tables")
    assert plan["students"] == 3  # the job of the pruned students, in each of the three cells
    assert "teacher" not in plan and "data" not in plan
    alone = planned(changed, "all_tables", "--config", "students_per_job=1")
    assert alone["students"] == 6  # that strength, for both targets, in each of the three cells


def test_a_new_width_trains_its_students_and_runs_no_chain(changed):
    edit(changed / "tests/tiny.yaml", "k1: [0.5, 1]", "k1: [0.5, 0.75, 1]")
    plan = planned(changed, "all_tables", "--config", "students_per_job=1")
    assert plan["students"] == 3 * 2 * 2
    assert "teacher" not in plan


def test_another_step_size_reruns_the_chains_of_its_model_and_their_students(changed):
    edit(changed / "tests/tiny.yaml", "step_size: 4.0e-4", "step_size: 4.1e-4")  # cnn_mnist's
    plan = planned(changed, "all_tables")
    assert plan["teacher"] == 1 and plan["students"] == 4 and "data" not in plan


def test_another_temperature_reruns_the_students_that_have_it_and_no_chain(changed):
    edit(changed / "tests/tiny.yaml", "end2: {temperature: 3.5", "end2: {temperature: 3.0")  # cnn_mnist's
    plan = planned(changed, "all_tables")
    assert plan["students"] == 1 and plan["measure"] == 4 and "teacher" not in plan


def test_comments_rerun_nothing(changed):
    names = ("sampling/chain", "students/heads", "evaluation/metrics", "support/checkpoint")
    files = [f"gped/{name}.py" for name in names]
    files += [
        f"workflow/{name}.py" for name in ("scripts/students", "reporting/rows", "experiments/tables", "jobs/job")
    ]
    for name in (*files, "Snakefile", "workflow/rules/students.smk"):
        path = changed / name
        path.write_text(path.read_text() + "\n# a comment\n")
    assert planned(changed, "all_tables") == {}


@pytest.mark.parametrize(
    ("file", "old", "new", "reruns"),
    [
        ("gped/sampling/sgld.py", "decay = 1 - eta", "decay = 1.0 - eta", {"teacher": 6, "students": 15}),
        ("gped/students/heads.py", "outputs.exp()", "(0 + outputs).exp()", {"teacher": 0, "students": 15}),
        ("gped/evaluation/metrics.py", "errors**2", "errors**2.0", {"teacher": 0, "students": 0, "measure": 14}),
        (
            "workflow/reporting/rows.py",
            "1.1 * before",
            "1.10 * before + 0",
            {"teacher": 0, "students": 0, "measure": 14},
        ),
        ("workflow/reporting/looks.py", "COLUMN, PAGE = 3.4", "COLUMN, PAGE = 3.5", {"measure": 0, "draw": 15}),
        ("workflow/experiments/plan.py", "EXPERIMENTS[number]", "str(EXPERIMENTS[number])", {"measure": 0, "draw": 0}),
    ],
)
def test_a_change_of_code_reruns_what_depends_on_it(file, old, new, reruns, changed):
    edit(changed / file, old, new)
    plan = planned(changed, "all_tables")
    assert {rule: plan.get(rule, 0) for rule in reruns} == reruns
