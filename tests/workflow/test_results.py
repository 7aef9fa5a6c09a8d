"""The workflow end to end on a tiny slice of every experiment: what a run leaves, and that its numbers are right."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.helpers import ENVIRONMENT, ROOT, copy_of_the_project, snakemake
from workflow.experiments.plan import Plan
from workflow.experiments.tables import TABLES

pytestmark = pytest.mark.slow


def nll(p: np.ndarray, project: Path) -> float:
    labels = np.load(project / "results/tiny/data/MNIST5k-test.npz")["labels"]
    return -np.log(p[np.arange(len(labels)), labels].astype(np.float64)).mean()


def test_all_tables_and_figures_of_the_paper_are_there(project):
    tables, figures = project / "results/tiny/tables", project / "results/tiny/figures"
    assert len(list(tables.glob("*.tex"))) == 16
    of_the_paper = {path.stem for path in tables.glob("*.tex")}
    pages = {"published_vs_reproduced", "claims"}
    assert {path.stem for path in tables.glob("*.html")} == of_the_paper | pages
    written = {path.stem for path in tables.glob("*.md")}
    assert written > of_the_paper | pages
    joined = {table.name for table in TABLES}
    assert {path.stem for path in tables.glob("*.csv")} == written | joined
    assert (
        len(written - of_the_paper - pages) == 3 + 2 * 6 + 2 * 4
    )  # constants, tradeoffs, pruning, detection, accuracy
    assert len(list(figures.glob("*.pdf"))) == len(list(figures.glob("*.png"))) == 15
    assert all(path.stat().st_size > 1000 for path in figures.iterdir())


@pytest.mark.parametrize("kind", ["exp1", "estimators", "test_metrics", "ood_auroc", "ndcg"])
def test_tidy_files_have_the_columns_of_the_published_ones(kind, project):
    ours = pd.read_csv(project / f"results/tiny/tables/{kind}.csv")
    published = pd.read_csv(ROOT / f"workflow/published/{kind}.csv")
    assert list(ours) == list(published)
    assert len(ours) and not ours.isna().any().any()
    if kind != "estimators":
        assert len(ours) == len(published)


@pytest.mark.parametrize("table", [table for table in TABLES if table.name != "exp1"], ids=lambda table: table.name)
def test_a_tidy_file_has_the_rows_of_all_its_parts(table, project):
    folder = project / "results/tiny/tables"
    plan = Plan(yaml.safe_load((project / "results/tiny/config.yaml").read_text()))
    parts = [pd.read_csv(folder / f"{table.file(part)}.csv") for part in table.parts_in(plan.matrix)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), pd.read_csv(folder / f"{table.name}.csv"))


def test_numbers_can_be_recomputed_from_the_predictions(project):
    """The test NLL of one student and of the ensemble, by hand from the files."""
    cell = project / "results/tiny/cells/fcnn-MNIST5k/n200-m0-s7"
    row = pd.read_csv(project / "results/tiny/tables/exp1.csv").query("model == 'FCNN'").iloc[0]
    reference = np.load(cell / "reference.npz")
    assert row["teacher_nll"] == pytest.approx(nll(reference["test/predictive"], project), rel=1e-5)
    student = np.load(cell / "students/predictive-us-h8-k1x1.npz")["test/probabilities"]
    assert row["student_nll"] == pytest.approx(nll(student, project), rel=1e-5)
    said = np.load(cell / "students/entropy-uo-h4-k1x1.npz")["test/data"]
    assert row["entropy_mae"] == pytest.approx(np.abs(said - reference["test/entropy"]).mean(), rel=1e-5)


def test_predictions_hold_what_each_student_knows_and_the_uncertainties_add_up(project):
    folder = project / "results/tiny/cells/fcnn-MNIST5k/n200-m15-s7/students"
    sets = {"test", "Scripts", "Letters", "Scripts-unmasked", "Letters-unmasked"}
    known = {"probabilities", "total", "data", "knowledge"}
    for slug in ("joint-us-h4-k1x1", "end2-us-h4-k1x1"):
        said = np.load(folder / f"{slug}.npz")
        assert {f"{name}/{what}" for name in sets for what in known} <= set(said)
        p, total, data, knowledge = (said[f"test/{what}"].astype(np.float64) for what in known_in_order())
        np.testing.assert_allclose(p.sum(1), 1, atol=1e-5)
        np.testing.assert_allclose(total, -(p * np.log(np.maximum(p, 1e-30))).sum(1), atol=1e-4)
        np.testing.assert_allclose(knowledge, total - data, atol=1e-4)
    predictive, entropy = (np.load(folder / f"{slug}.npz") for slug in ("predictive-us-h8-k1x1", "entropy-uo-h4-k1x1"))
    assert set(predictive) == {"test/probabilities", "test/total", "cost"}
    assert set(entropy) == {"test/data", "cost"}


def known_in_order() -> tuple[str, ...]:
    return "probabilities", "total", "data", "knowledge"


def test_tradeoffs_list_every_student_with_its_cost_and_both_methods(project):
    rows = pd.read_csv(project / "results/tiny/tables/tradeoff.csv")
    expected = ["model", "dataset", "target", "method", "k1", "k2", "lambda", "widths", "params", "macs"]
    expected += ["nll", "accuracy", "entropy_mae", "pareto"]
    assert list(rows) == expected
    assert len(rows) == 3 * 2 * (4 + 2)
    strong, weak = (rows[rows["lambda"] == strength].reset_index() for strength in (300, 1e-3))
    assert (strong["params"] < weak["params"] / 2).all()
    searched = rows[(rows["method"] == "search") & (rows["model"] == "FCNN") & (rows["target"] == "predictive")]
    base = searched[(searched["k1"] == 1) & (searched["k2"] == 1)]
    assert base["params"].item() == 478_410 and base["macs"].item() == 477_600


def test_a_student_file_of_the_run_can_be_used_alone(project):
    code = (
        "import gped, sys, numpy as np\n"
        "student = gped.load_student(sys.argv[1])\n"
        "images = np.load(sys.argv[2])['images'][:3]\n"
        "print(student.predict(images).knowledge.shape)"
    )
    student = project / "results/tiny/cells/fcnn-MNIST5k/n200-m15-s7/students/joint-us-h4-k1x1.safetensors"
    images = project / "results/tiny/data/MNIST5k-test.npz"
    result = subprocess.run([sys.executable, "-c", code, student, images], capture_output=True, text=True, cwd=ROOT)
    assert result.stdout == "(3,)\n", result.stderr


def test_the_run_leaves_its_configuration_versions_checksums_and_timings(project):
    folder = project / "results/tiny"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["versions"]["torch"].startswith("2.13.0")
    assert set(manifest["data_sha256"]) == {path.stem for path in (folder / "data").glob("*.npz")}
    assert "steps: 40" in (folder / "config.yaml").read_text()
    timings = pd.read_csv(folder / "timings.csv")
    assert "fcnn-MNIST5k/n200-m15-s7/teacher" in set(timings["job"]) and (timings["seconds"] >= 0).all()


def test_the_run_leaves_the_settings_of_every_job(project):
    plan = Plan(yaml.safe_load((project / "results/tiny/config.yaml").read_text()))
    expected = {job: json.loads(json.dumps(told)) for job, told in plan.all_settings().items()}
    folder = project / "results/tiny/settings"
    files = {str(path.relative_to(folder).with_suffix("")): path for path in folder.rglob("*.json")}
    assert {job: json.loads(path.read_text()) for job, path in files.items()} == expected


def test_gped_status_says_that_a_finished_run_is_done(project):
    command = [sys.executable, "-m", "gped.command", "status", "results/tiny"]
    result = subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True)
    matrix = Plan(yaml.safe_load((project / "results/tiny/config.yaml").read_text())).matrix
    chains, students = len(matrix.cells()), sum(len(matrix.students(cell)) for cell in matrix.cells())
    counted = f"{chains} of {chains} chains, {students} of {students} students"
    assert result.stdout == f"results/tiny: 100 % of the work done; {counted}; the run has ended\n", result.stderr


def test_every_job_has_a_log_with_its_progress(project):
    log = (project / "results/tiny/logs/fcnn-MNIST5k/n200-m15-s7/teacher.log").read_text()
    assert re.search(r"chain: steps 1 to 56 in 0:00:\d\d, loss \d", log)  # those for fine-tuning included


def test_demonstrations_say_so_and_are_not_set_beside_published_numbers(project):
    table = (project / "results/tiny/tables/exp1.md").read_text()
    assert "a demonstration, not to be compared with the paper's numbers" in table
    assert "(" not in table.split("|---")[1].split("\n\n")[0]


def test_a_demonstration_reproduces_no_published_number_and_judges_no_claim(project):
    tables = project / "results/tiny/tables"
    assert set(pd.read_csv(tables / "published_vs_reproduced.csv")["verdict"]) == {"not measured"}
    claims = pd.read_csv(tables / "claims.csv")
    assert set(claims["verdict"]) == {"not judged", "not measured"}
    lacking = claims[claims["verdict"] == "not measured"].set_index("claim")["evidence"]
    assert lacking["The NLL gap is largest at moderate masking"].startswith("needs at least 3 masking rates")
    assert len(lacking) <= 5  # the tiny run has two sizes and two masks
    assert "a demonstration, in which claims are counted and not judged" in (tables / "claims.md").read_text()


def test_on_the_papers_data_published_numbers_stand_beside_ours(real_root, tmp_path):
    folder = copy_of_the_project(tmp_path)
    config = yaml.safe_load((ROOT / "tests/tiny.yaml").read_text()) | {"run": "real", "experiments": [1]}
    config["data"] = {"root": str(real_root)}
    for role, model in config["models"].items():
        mnist = role.endswith("_mnist")
        model |= {"dataset": "MNIST" if mnist else "CIFAR10", "ood": ["KMNIST"] if mnist else ["TIM"]}
        model |= {"train_sizes": [60_000 if mnist else 50_000], "masks": [0], "standardise": not mnist}
        model["chain"] |= {"step_size": 2e-6}
    (folder / "real.yaml").write_text(yaml.safe_dump(config))
    result = snakemake(folder, "results/real/tables/exp1.md", "--configfile", "real.yaml")
    assert result.returncode == 0, result.stdout[-3000:]
    table = (folder / "results/real/tables/exp1.md").read_text()
    assert re.search(
        r"\| FCNN \| MNIST \| \d\.\d{3} \(0\.052\) \| \d\.\d{3} \(0\.082\) \| \d\.\d{3}†? \(0\.016\) \|", table
    ), table
    assert "Reproduced (published)." in table


def test_several_seeds_become_means_with_their_spread(changed):
    """What one run with two seeds says is what runs with one of them say."""
    numbers = {"first": pd.read_csv(changed / "results/tiny/tables/estimators_cnn_mnist.csv")}
    for name, seeds, figures in (("second", [1], ()), ("both", [7, 1], ("tradeoff_nll_cnn_mnist",))):
        (changed / f"{name}.yaml").write_text(f"run: {name}\nseeds: {seeds}\n")
        command = ("estimators_cnn_mnist", *figures, "--configfile", "tests/tiny.yaml", f"{name}.yaml")
        result = snakemake(changed, *command)
        assert result.returncode == 0, result.stdout[-3000:]
        numbers[name] = pd.read_csv(changed / f"results/{name}/tables/estimators_cnn_mnist.csv")
    for column in ("teacher_nll", "student_nll_us", "entropy_mae_uo"):
        single = np.array([numbers["first"][column][0], numbers["second"][column][0]])
        assert single[0] != single[1]
        assert numbers["both"][column][0] == pytest.approx(single.mean(), abs=1e-5)
        assert numbers["both"][f"{column}_seed_std"][0] == pytest.approx(single.std(ddof=1), abs=1e-5)
    assert re.search(r"\d ± \d", (changed / "results/both/tables/estimators_cnn_mnist.md").read_text())
    assert (changed / "results/both/figures/tradeoff_nll_cnn_mnist.png").exists()
