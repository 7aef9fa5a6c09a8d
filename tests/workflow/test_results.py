"""The workflow end to end on a tiny slice of every experiment: results, reruns, partial targets, messages, report."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
NOTHING = "Nothing to be done"


def snakemake(folder: Path, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run Snakemake as a user would; standard error goes with standard output."""
    command = [*prefix, sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500
    )


def tiny(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return snakemake(folder, *arguments, "--configfile", "tests/tiny.yaml", **options)


def planned(folder: Path, *arguments: str) -> dict[str, int]:
    """How many jobs of each rule a dry-run would run; the rules of students are counted together."""
    output = tiny(folder, "--dry-run", *arguments).stdout
    if NOTHING in output:
        return {}
    table = re.search(r"job +count\n-+ +-+\n(.*?)\ntotal", output, re.DOTALL)
    assert table, output
    counts: dict[str, int] = {}
    for line in table[1].splitlines():
        rule, count = line.split()
        rule = "students" if rule.startswith("students") else rule
        counts[rule] = counts.get(rule, 0) + int(count)
    jobs = ("data", "teacher", "students", "measure", "tidy", "render", "draw", "report")
    return {rule: count for rule, count in counts.items() if rule in jobs} or {"pages about the others": 1}


def copy_of_the_project(folder: Path) -> Path:
    """A checkout of one's own, so that code can be changed."""
    for name in ("Snakefile", "config.yaml", "profiles", "gped", "workflow", "envs", "tests"):
        source = ROOT / name
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / name, ignore=ignore) if source.is_dir() else shutil.copy(source, folder / name)
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project in which everything has been run once."""
    folder = copy_of_the_project(tmp_path_factory.mktemp("project"))
    result = tiny(folder, "all_tables")
    assert result.returncode == 0, result.stdout[-5000:]
    return folder


@pytest.fixture
def changed(project, tmp_path) -> Path:
    """A copy of the finished project, with its file times, to be changed."""
    folder = tmp_path / "project"
    shutil.copytree(project, folder, symlinks=True)
    return folder


# Results


def test_all_tables_and_figures_of_the_paper_are_there(project):
    tables, figures = project / "results/tiny/tables", project / "results/tiny/figures"
    assert len(list(tables.glob("*.tex"))) == 16
    assert {path.stem for path in tables.glob("*.md")} == {
        *(path.stem for path in tables.glob("*.tex")),
        "published_vs_reproduced",
        "claims",
    }
    assert len(list(figures.glob("*.pdf"))) == len(list(figures.glob("*.png"))) == 15 + 1
    assert all(path.stat().st_size > 1000 for path in figures.iterdir())


@pytest.mark.parametrize("kind", ["exp1", "estimators", "test_metrics", "ood_auroc", "ndcg"])
def test_tidy_files_have_the_columns_of_the_published_ones(kind, project):
    ours = pd.read_csv(project / f"results/tiny/tables/{kind}.csv")
    published = pd.read_csv(ROOT / f"workflow/published/{kind}.csv")
    assert list(ours) == list(published)
    assert len(ours) and not ours.isna().any().any()
    if kind != "estimators":
        assert len(ours) == len(published)


def test_numbers_can_be_recomputed_from_the_predictions(project):
    """The test NLL of one student and of the ensemble, by hand from the files."""
    cell = project / "results/tiny/cells/fcnn-MNIST5k/n200-m0-s0"
    labels = np.load(project / "results/tiny/data/MNIST5k-test.npz")["labels"]

    def nll(p):
        return -np.log(p[np.arange(len(labels)), labels].astype(np.float64)).mean()

    row = pd.read_csv(project / "results/tiny/tables/exp1.csv").query("model == 'FCNN'").iloc[0]
    assert row["teacher_nll"] == pytest.approx(nll(np.load(cell / "reference.npz")["test/predictive"]), rel=1e-5)
    student = np.load(cell / "students/predictive-us-h8-k1x1.npz")["test/predictive"]
    assert row["student_nll"] == pytest.approx(nll(student), rel=1e-5)


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
    student = project / "results/tiny/cells/fcnn-MNIST5k/n200-m15-s0/students/joint-us-h4-k1x1.safetensors"
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
    assert "fcnn-MNIST5k/n200-m15-s0/teacher" in set(timings["job"]) and (timings["seconds"] >= 0).all()


def test_every_job_has_a_log_with_its_progress(project):
    log = (project / "results/tiny/logs/fcnn-MNIST5k/n200-m15-s0/teacher.log").read_text()
    assert re.search(r"chain: steps 1 to 56 in 0:00:\d\d, loss \d", log)  # those for fine-tuning included


def test_demonstrations_say_so_and_are_not_set_beside_published_numbers(project):
    table = (project / "results/tiny/tables/exp1.md").read_text()
    assert "a demonstration, not to be compared with the paper's numbers" in table
    assert "(" not in table.split("|---")[1].split("\n\n")[0]


def test_a_demonstration_reproduces_no_published_number_and_judges_no_claim(project):
    tables = project / "results/tiny/tables"
    assert set(pd.read_csv(tables / "published_vs_reproduced.csv")["verdict"]) == {"not produced"}
    claims = pd.read_csv(tables / "claims.csv")
    assert set(claims["verdict"]) == {"not measured"}
    assert claims["reproduced"].notna().sum() == len(claims) - 3  # evaluated but for CIFAR-10 and peaks over two masks
    assert claims["evidence"].str.contains("cannot judge it").any()


def test_ablations_train_only_what_the_experiments_have_not(changed):
    jobs = planned(changed, "ablations")
    assert jobs["teacher"] == 1  # with the other scaling of pixels
    result = tiny(changed, "ablations")
    assert result.returncode == 0, result.stdout[-3000:]
    rows = pd.read_csv(changed / "results/tiny/tables/ablations.csv")
    nll = rows[rows["quantity"] == "student_nll"].groupby(["ablation", "setting"])["value"].mean()
    assert nll["dropout"].nunique() == nll["input noise"].nunique() == 2
    assert nll["EnD² temperatures"].nunique() == 3
    assert rows[rows["ablation"] == "pixels"]["value"].nunique() == 2
    assert (rows[rows["quantity"].str.startswith("monte_carlo")]["value"] > 0).all()
    page = (changed / "results/tiny/tables/ablations.md").read_text()
    assert "halving as at the largest N" in page and "a demonstration, not to be compared" in page
    assert (changed / "results/tiny/figures/schedule.png").exists()


def test_on_the_papers_data_published_numbers_stand_beside_ours(real_root, tmp_path):
    folder = copy_of_the_project(tmp_path)
    config = yaml.safe_load((ROOT / "tests/tiny.yaml").read_text()) | {"run": "real", "experiments": [1]}
    config["data"] = {"root": str(real_root)}
    for role, model in config["models"].items():
        mnist = role.endswith("_mnist")
        model |= {"dataset": "MNIST" if mnist else "CIFAR10", "ood": ["KMNIST"] if mnist else ["TIM"]}
        model |= {"train_sizes": [200], "masks": [0], "standardise": not mnist}
    (folder / "real.yaml").write_text(yaml.safe_dump(config))
    result = snakemake(folder, "results/real/tables/exp1.md", "--configfile", "real.yaml")
    assert result.returncode == 0, result.stdout[-3000:]
    table = (folder / "results/real/tables/exp1.md").read_text()
    assert re.search(
        r"\| FCNN \| MNIST \| \d\.\d{3} \(0\.052\) \| \d\.\d{3} \(0\.082\) \| \d\.\d{3} \(0\.016\) \|", table
    ), table
    assert "Reproduced (published)." in table


# Reruns: what triggers what


def test_a_second_run_does_nothing(project):
    assert NOTHING in tiny(project, "all_tables").stdout


@pytest.mark.parametrize("size", [1, 3, 7])
def test_another_number_of_students_per_job_leaves_nothing_to_be_done(size, project):
    assert planned(project, "all_tables", "--config", f"students_per_job={size}") == {}


def test_students_have_the_same_bytes_whatever_shares_their_job(project, changed):
    cell = "results/tiny/cells/fcnn-MNIST5k/n200-m15-s0/students"
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


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


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
    edit(changed / "config.yaml", "step_size: 1.0e-4\n", "step_size: 1.1e-4\n")  # cnn_mnist's
    plan = planned(changed, "all_tables")
    assert plan["teacher"] == 1 and plan["students"] == 4 and "data" not in plan


def test_comments_rerun_nothing(changed):
    for name in ("gped/chain.py", "gped/heads.py", "gped/metrics.py", "workflow/scripts/students.py", "Snakefile"):
        path = changed / name
        path.write_text(path.read_text() + "\n# a comment\n")
    assert planned(changed, "all_tables") == {}


@pytest.mark.parametrize(
    ("file", "old", "new", "reruns"),
    [
        ("gped/sgld.py", "decay = 1 - eta", "decay = 1.0 - eta", {"teacher": 7, "students": 16}),
        ("gped/heads.py", "outputs.exp()", "(0 + outputs).exp()", {"teacher": 0, "students": 16}),
        ("gped/metrics.py", "errors**2", "errors**2.0", {"teacher": 0, "students": 0, "measure": 39}),
        ("workflow/scripts/draw.py", "COLUMN, PAGE = 3.4", "COLUMN, PAGE = 3.5", {"measure": 0, "draw": 15}),
    ],
)
def test_a_change_of_code_reruns_what_depends_on_it(file, old, new, reruns, changed):
    edit(changed / file, old, new)
    plan = planned(changed, "all_tables")
    assert {rule: plan.get(rule, 0) for rule in reruns} == reruns


# Partial targets


@pytest.mark.parametrize(
    ("target", "jobs"),
    [
        ("tables/exp1.md", {"teacher": 3, "students": 3}),
        ("tables/estimators_cnn_mnist.tex", {"teacher": 1, "students": 1}),
        ("figures/masking.pdf", {"data": 1, "draw": 1}),
        ("figures/tradeoff_entropy_fcnn_mnist.png", {"teacher": 1, "students": 2}),
        ("figures/joint_entropy.png", {"teacher": 3, "students": 6}),
    ],
)
def test_a_single_table_or_figure_runs_only_what_it_needs(target, jobs, project):
    plan = planned(project, f"results/new/{target}", "--config", "run=new")
    assert {rule: plan.get(rule, 0) for rule in jobs} == jobs
    if "teacher" not in jobs:
        assert "teacher" not in plan


@pytest.mark.parametrize(("name", "rule", "jobs"), [("exp1", "render", 1), ("robustness_cnn_mnist", "draw", 1)])
def test_every_table_and_figure_is_a_target_of_its_own_name(name, rule, jobs, project):
    plan = planned(project, name, "--config", "run=new")
    assert plan[rule] == jobs and plan["teacher"] <= 3


def test_a_model_that_is_null_is_left_out(project):
    (project / "one.yaml").write_text("run: one\nmodels: {cnn_mnist: null, cnn_cifar10: null}\n")
    result = snakemake(project, "-n", "all_tables", "ablations", "--configfile", "tests/tiny.yaml", "one.yaml")
    assert result.returncode == 0, result.stdout[-3000:]
    assert "fcnn-MNIST5k" in result.stdout and " cnn-" not in result.stdout
    until = ("--until", "data", "--configfile", "tests/tiny.yaml", "one.yaml")
    assert snakemake(project, "all_tables", *until).returncode == 0
    again = snakemake(project, "-n", "all_tables", "--configfile", "results/one/config.yaml")  # as the report does
    assert again.returncode == 0, again.stdout[-3000:]
    assert "fcnn-MNIST5k" in again.stdout and " cnn-" not in again.stdout


def test_a_target_without_anything_to_measure_says_so(project):
    (project / "none.yaml").write_text("run: none\nablations: []\n")
    result = snakemake(project, "-n", "ablations", "--configfile", "tests/tiny.yaml", "none.yaml")
    assert result.returncode and "ablations: none of those in the configuration can be measured" in result.stdout


# Several seeds


def test_several_seeds_become_means_with_their_spread(changed):
    """What one run with two seeds says is what runs with one of them say."""
    numbers = {"first": pd.read_csv(changed / "results/tiny/tables/estimators_cnn_mnist.csv")}
    for name, seeds, figures in (("second", [1], ()), ("both", [0, 1], ("tradeoff_nll_cnn_mnist",))):
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


# Bad input


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("students_per_job=0", "students_per_job: 0 must be at least 1."),
        ("seeds=[]", "seeds: [] must not be empty."),
        ("presets=1", "unknown key presets."),
    ],
)
def test_a_wrong_configuration_is_a_sentence_and_no_trace(setting, message, project):
    result = tiny(project, "-n", "--config", setting)
    assert result.returncode
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
    edit(changed / "config.yaml", "step_size: 1.0e-4\n", "step_size: 50\n")  # cnn_mnist's
    before = (changed / "results/tiny/tables/exp1.md").read_bytes()
    manifest = changed / "results/tiny/manifest.json"
    finished = json.loads(manifest.read_text())["finished"]
    (changed / "results/tiny/timings.csv").unlink()
    result = tiny(changed, "all_tables", "--keep-going")
    assert result.returncode
    log = "results/tiny/logs/cnn-MNIST5k/n100-m0-s0/teacher.log"
    assert log in result.stdout
    text = (changed / log).read_text()
    assert "ChainDivergedError: the chain diverged at step" in text and "Traceback" not in text
    assert (changed / "results/tiny/tables/exp1.md").read_bytes() == before
    assert (changed / "results/tiny/cells/fcnn-MNIST5k/n100-m0-s0/reference.npz").exists()
    assert (changed / "results/tiny/timings.csv").exists()  # of the jobs that were done
    assert json.loads(manifest.read_text())["finished"] == finished  # a failed run is not


# Style and report


@pytest.mark.parametrize(
    "command", [("snakemake", "--lint"), ("snakefmt", "--check", "Snakefile", "workflow")], ids=" ".join
)
def test_the_workflow_is_clean(command):
    result = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout


@pytest.fixture(scope="module")
def report(project) -> Path:
    """The report, made where there is no network if the kernel lets us take it away."""
    prefix = (
        ("unshare", "--net")
        if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0
        else ()
    )
    result = tiny(project, "report", prefix=prefix)
    assert result.returncode == 0, result.stdout[-3000:]
    return project / "results/tiny/report.html"


def test_the_report_holds_every_table_and_figure(report):
    text = report.read_text()
    folder = report.parent
    results = [*folder.glob("tables/*.html"), *folder.glob("figures/*.png")]
    assert len(results) == (16 + 2) + (15 + 1)
    assert all(str(path.relative_to(folder.parent.parent)) in text for path in results)


@pytest.mark.parametrize("width", [1280, 390], ids=["laptop", "phone"])
def test_the_report_opens_with_a_summary_and_shows_a_table_at_a_click_without_fetching_anything(report, width):
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if chromium is None:
        pytest.skip("there is no Chromium to open the report with")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 850})
        requests, errors = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(report.as_uri())

        box = page.locator(".gped").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width  # nothing is cut off
        assert 0 < page.locator(".gped h1").bounding_box()["y"] < 425  # it begins on the first half of the screen
        assert page.locator(".gped .claims tbody tr").count() == 15
        assert page.locator(".gped img").evaluate("image => image.naturalWidth") > 500

        page.get_by_text("Tables", exact=True).click()
        page.get_by_text("Experiment 4: downstream tasks", exact=True).click()
        rows = page.locator("tr", has_text="ranking by uncertainty")
        assert rows.count() == 4
        view = rows.first.locator("a").first
        button = view.bounding_box()
        assert button["x"] + button["width"] <= width
        view.click()
        table = page.frame_locator("iframe")
        assert table.locator("caption").inner_text().startswith("nDCG@20")
        page.screenshot(path=report.with_name(f"report-{width}.png"))
        browser.close()
    assert not errors
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
