"""What can be asked for, what is submitted to a cluster, and what is said when something is wrong."""

import json
import re
import subprocess
import sys

import pytest

from tests.helpers import edit, jobs_in, planned, snakemake, tiny

pytestmark = pytest.mark.slow


# Targets


@pytest.mark.parametrize(
    ("target", "jobs"),
    [
        ("exp1", {"teacher": 3, "students": 3, "measure": 1}),
        ("robustness_cnn_mnist", {"teacher": 1, "students": 1, "draw": 1}),
        ("results/new/tables/estimators_cnn_mnist.tex", {"teacher": 1, "students": 1}),
        ("results/new/figures/masking.pdf", {"data": 1, "draw": 1, "teacher": 0}),
        ("results/new/figures/tradeoff_entropy_fcnn_mnist.png", {"teacher": 1, "students": 2}),
        ("results/new/figures/joint_entropy.png", {"teacher": 3, "students": 6}),
    ],
)
def test_a_table_or_figure_by_its_name_or_file_runs_only_what_it_needs(target, jobs, project):
    plan = planned(project, target, "--config", "run=new")
    assert {rule: plan.get(rule, 0) for rule in jobs} == jobs


def test_a_run_of_one_target_is_all_done_in_the_end_and_watching_it_ends(project):
    result = tiny(project, "robustness_cnn_mnist", "--config", "run=one")
    assert result.returncode == 0, result.stdout[-3000:]
    watch = [sys.executable, "-m", "gped.command", "status", "results/one", "--watch"]
    told = subprocess.run(watch, cwd=project, capture_output=True, text=True, timeout=300)
    done = "100 % of the work done; 1 of 1 chains, 10 of 10 students; the run has ended"
    assert (told.returncode, told.stdout) == (0, f"results/one: {done}\n")


def test_a_model_that_is_null_is_left_out(project):
    (project / "null.yaml").write_text("run: dense\nmodels: {cnn_mnist: null, cnn_cifar10: null}\n")
    result = snakemake(project, "-n", "all_tables", "ablations", "--configfile", "tests/tiny.yaml", "null.yaml")
    assert result.returncode == 0, result.stdout[-3000:]
    assert "fcnn-MNIST5k" in result.stdout and " cnn-" not in result.stdout
    until = ("--until", "data", "--configfile", "tests/tiny.yaml", "null.yaml")
    assert snakemake(project, "all_tables", *until).returncode == 0
    again = snakemake(project, "-n", "all_tables", "--configfile", "results/dense/config.yaml")  # as the report does
    assert again.returncode == 0, again.stdout[-3000:]
    assert "fcnn-MNIST5k" in again.stdout and " cnn-" not in again.stdout


def test_a_target_without_anything_to_measure_says_so(project):
    (project / "none.yaml").write_text("run: none\nablations: []\n")
    result = snakemake(project, "-n", "ablations", "--configfile", "tests/tiny.yaml", "none.yaml")
    assert result.returncode and "ablations: none of those in the configuration can be measured" in result.stdout


def test_25_seeds_can_be_planned(project):
    """Whatever they need to know, no shell command may grow with them beyond what Linux takes for an argument."""
    (project / "many.yaml").write_text(f"run: many\nseeds: {list(range(25))}\n")
    shown = ("--printshellcmds", "--configfile", "tests/tiny.yaml", "many.yaml")
    result = snakemake(project, "-n", "all_tables", *shown)
    assert result.returncode == 0, result.stdout[-3000:]
    counts = jobs_in(result.stdout)
    assert (counts["teacher"], counts["students"], counts["measure"]) == (6 * 25, 15 * 25, 14)
    commands = re.findall(r"^ *(?:Shell command: *)?(python -m workflow\.scripts\..*)$", result.stdout, re.MULTILINE)
    assert len(commands) > 39 * 25 / 2
    assert max(len(command.encode()) for command in commands) < 16 * 1024 < 128 * 1024


def test_only_chains_and_students_are_submitted_and_all_else_runs_where_snakemake_does(project):
    """So that nodes need no internet, and no job of a second waits in a queue."""
    (project / "told.smk").write_text(
        'include: "Snakefile"\n\n'
        "for each in workflow.rules:\n"
        "    if not each.norun:\n"
        "        print('local' if each.name in workflow._localrules else 'submitted', each.name)\n"
    )
    result = tiny(project, "--list-rules", "--snakefile", "told.smk")
    assert result.returncode == 0, result.stdout[-3000:]
    submitted, local = (set(re.findall(rf"^{word} (\w+)$", result.stdout, re.M)) for word in ("submitted", "local"))
    assert {re.sub(r"^(students|teacher)_.*", r"\1", name) for name in submitted} == {"teacher", "students"}
    assert {"data", "tidy", "draw", "compare", "claims", "summarise", "report"} <= local
    assert len([name for name in local if name.startswith("measure_")]) == 15
    assert not submitted & local


# Messages


def test_what_is_wrong_with_a_configuration_is_a_sentence_each_and_no_trace(project):
    result = tiny(project, "-n", "--config", "students_per_job=0", "seeds=[]", "presets=1")
    assert result.returncode
    for message in (
        "students_per_job: 0 must be at least 1.",
        "seeds: [] must not be empty.",
        "unknown key presets.",
    ):
        assert message in result.stdout
    assert "Traceback" not in result.stdout


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("all_tabels", "There is no target all_tabels. Did you mean all_tables?"),
        ("robustnes_cnn_mnist", "Did you mean robustness_cnn_mnist or robustness_fcnn_mnist"),
        ("results/tiny/tables/exp2.md", "Did you mean results/tiny/tables/exp1.md"),
    ],
)
def test_a_misspelt_target_gets_a_suggestion(target, said, project):
    result = tiny(project, "-n", target)
    assert result.returncode and said in result.stdout


def test_a_preset_is_chosen_by_name_and_a_misspelt_one_gets_a_suggestion(project):
    wrong = snakemake(project, "-n", "--config", "preset=reducd")
    assert wrong.returncode and "There is no preset reducd. Did you mean reduced?" in wrong.stdout
    right = snakemake(project, "-n", "masking", "--config", "preset=reduced", "run=other")
    assert right.returncode == 0 and "results/other/data/MNIST-test.npz" in right.stdout


def test_two_presets_of_one_name_are_refused(project):
    result = snakemake(project, "-n", "--config", "run=tiny")
    assert result.returncode and "Traceback" not in result.stdout
    assert "results/tiny was made with tiny.yaml, config.yaml, but this is config.yaml." in result.stdout


def test_a_failing_job_names_its_log_and_leaves_finished_results_alone(changed):
    edit(changed / "tests/tiny.yaml", "step_size: 4.0e-4", "step_size: 0.15")  # cnn_mnist's
    before = (changed / "results/tiny/tables/exp1.md").read_bytes()
    manifest = changed / "results/tiny/manifest.json"
    finished = json.loads(manifest.read_text())["finished"]
    (changed / "results/tiny/timings.csv").unlink()
    result = tiny(changed, "all_tables", "--keep-going")
    assert result.returncode
    log = "results/tiny/logs/cnn-MNIST5k/n100-m0-s7/teacher.log"
    assert log in result.stdout
    text = (changed / log).read_text()
    assert "ChainDivergedError: the chain diverged at step" in text and "Traceback" not in text
    assert (changed / "results/tiny/tables/exp1.md").read_bytes() == before
    assert (changed / "results/tiny/cells/fcnn-MNIST5k/n100-m0-s7/reference.npz").exists()
    assert (changed / "results/tiny/timings.csv").exists()  # of the jobs that were done
    assert json.loads(manifest.read_text())["finished"] == finished  # a failed run is not


def test_the_log_of_a_failing_job_is_shown_on_the_terminal(changed):
    rows = changed / "workflow/reporting/rows.py"
    edit(
        rows,
        'students on the full training set without masks."""\n',
        'students."""\n    raise ValueError("the ink ran dry")\n',
    )
    result = tiny(changed, "exp1")
    assert result.returncode
    assert "ValueError: the ink ran dry" in result.stdout
    assert "Traceback" not in result.stdout
    assert "results/tiny/logs/tables/exp1.log" in result.stdout
    assert "Some job failed. Its log, shown and named above, says why" in result.stdout
