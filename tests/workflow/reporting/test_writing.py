"""Tables as files."""

import pandas as pd

from workflow.experiments.paths import Paths
from workflow.reporting.published import published
from workflow.reporting.writing import write_table


def test_a_table_is_written_in_its_forms_with_its_title_and_numbers_that_can_be_read_back(tmp_path):
    paths, numbers = Paths(str(tmp_path)), published("exp1")
    table = {"name": "exp1", "file": "mine", "title": "A title", "forms": ("csv", "md", "tex", "html")}
    write_table(paths, table, numbers, told=[])
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"mine.csv", "mine.html", "mine.md", "mine.tex"}
    pd.testing.assert_frame_equal(pd.read_csv(paths.table("mine")), numbers)
    for form in ("md", "tex", "html"):
        text = (tmp_path / f"tables/mine.{form}").read_text()
        assert "A title" in text and "0.052 (0.052)" in text


def test_columns_for_readers_are_not_in_the_tidy_file(tmp_path):
    paths, numbers = Paths(str(tmp_path)), published("exp1").assign(beside_constant_mae=[1.0, 0.001, 1.0])
    table = {"name": "exp1", "file": "exp1", "title": "A title", "forms": ("csv", "md")}
    write_table(paths, table, numbers, told=[])
    assert list(pd.read_csv(paths.table("exp1"))) == list(published("exp1"))
    text = (tmp_path / "tables/exp1.md").read_text()
    assert "| Best constant's MAE |" in text and text.count("†") == 2  # at the student, and explained
    assert "† No better than the best constant" in text


def test_each_ablation_is_a_table_with_a_row_for_each_setting_and_a_column_for_each_quantity(tmp_path):
    keys = ["ablation", "model", "dataset", "train_size", "masking_rate", "target", "estimator"]
    rows = [
        ("release", "FCNN", "MNIST", 100, 0.0, "predictive", "us", setting, quantity, value)
        for setting, values in {"all": (0.5, 0.25), "first": (0.5, 0.125)}.items()
        for quantity, value in zip(("teacher_nll", "student_nll"), values, strict=True)
    ]
    rows.insert(2, ("reference", "FCNN", "MNIST", 100, 0.0, "", "", "every 5 steps", "teacher_nll", 0.5))
    numbers = pd.DataFrame(rows, columns=[*keys, "setting", "quantity", "value"]).assign(value_seed_std=0.01)
    table = {"name": "ablations", "file": "ablations", "title": "Left open", "forms": ("csv", "md")}
    write_table(Paths(str(tmp_path)), table, numbers, told=[])
    release, reference = (tmp_path / "tables/ablations.md").read_text().split("**Left open: ")[1:]
    lines = [line for line in release.splitlines() if line.startswith("|")]
    heads = ["model", "dataset", "train_size", "masking_rate", "target", "estimator", "setting"]
    assert lines[0] == f"| {' | '.join([*heads, 'teacher_nll', 'student_nll'])} |"
    assert lines[2:] == [
        "| FCNN | MNIST | 100 | 0 | predictive | us | all | 0.5000 ± 0.0100 | 0.2500 ± 0.0100 |",
        "| FCNN | MNIST | 100 | 0 | predictive | us | first | 0.5000 ± 0.0100 | 0.1250 ± 0.0100 |",
    ]
    assert "authors' released code" in release
    lines = [line for line in reference.splitlines() if line.startswith("|")]
    assert lines[0] == "| model | dataset | train_size | masking_rate | setting | teacher_nll |"
    assert lines[2] == "| FCNN | MNIST | 100 | 0 | every 5 steps | 0.5000 ± 0.0100 |"
