"""A table and a figure of one's own, as CONTRIBUTING.md says it: its four snippets, applied to a finished project."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.helpers import ROOT, configuration, edit, jobs_in, planned, tiny
from workflow.experiments.matrix import Matrix

pytestmark = pytest.mark.slow

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = CONTRIBUTING[CONTRIBUTING.index("## A table of your own") : CONTRIBUTING.index("## How to add other things")]
RUN = "results/tiny"


def add_both(folder: Path) -> None:
    """Do what the page says."""
    entry, rows, figure, drawing = re.findall(r"```python\n(.*?)```", SECTIONS, re.DOTALL)
    experiments, reporting = folder / "workflow/experiments", folder / "workflow/reporting"
    edit(experiments / "tables.py", "TABLES = [\n", f"TABLES = [\n    {entry.strip()},\n")
    (reporting / "rows.py").write_text(f"{(reporting / 'rows.py').read_text()}\n\n{rows}")
    listing = re.search(r"^FIGURES: .* = \[\n", (experiments / "figures.py").read_text(), re.MULTILINE)[0]
    edit(experiments / "figures.py", listing, f"{figure}\n\n{listing}    _sureness,\n")
    (reporting / "drawings.py").write_text(f"{(reporting / 'drawings.py').read_text()}\n\n{drawing}")


def expected(project: Path) -> pd.DataFrame:
    """By hand, from the predictions of the students."""
    matrix, rows = Matrix(configuration("tiny")), []
    for role, name in {"fcnn_mnist": "FCNN", "cnn_mnist": "CNN", "cnn_cifar10": "CNN"}.items():
        for cell in matrix.grid(role):
            said = np.load(project / RUN / f"cells/{cell.path}/students/predictive-us-h8-k1x1.npz")
            sureness = said["test/probabilities"].max(axis=1).astype(float).mean()
            rate = round(cell.mask**2 / 28**2, 2)
            key = {"model": name, "dataset": cell.dataset, "train_size": cell.train_size, "masking_rate": rate}
            rows.append({**key, "sureness": sureness})
    return pd.DataFrame(rows)


def test_the_snippets_make_a_table_and_a_figure_and_run_no_chain_and_no_student_again(changed):
    cells = changed / RUN / "cells"
    before = {path: path.stat().st_mtime_ns for path in cells.rglob("*") if path.is_file()}
    assert len(before) > 150
    add_both(changed)
    result = tiny(changed, "all_tables")
    assert result.returncode == 0, result.stdout[-3000:]
    assert not {"data", "teacher", "students"} & jobs_in(result.stdout).keys()
    assert {path: path.stat().st_mtime_ns for path in cells.rglob("*") if path.is_file()} == before

    table = pd.read_csv(changed / RUN / "tables/sureness.csv")
    pd.testing.assert_frame_equal(table, expected(changed), rtol=1e-5)
    assert table["sureness"].between(0.1, 1).all() and table["sureness"].nunique() == len(table) == 7
    written = (changed / RUN / "tables/sureness_fcnn_mnist.md").read_text()
    assert "**Mean probability of the likeliest class: FCNN on MNIST5k (in MNIST's place)**" in written
    assert f"| {table['sureness'][0]:.3f} |" in written
    for form in ("pdf", "png"):
        assert (changed / RUN / f"figures/sureness.{form}").stat().st_size > 1000
    assert planned(changed, "all_tables") == {}


def test_the_snippets_are_in_the_style_of_the_project(changed):
    """They stand as they are in the files that they are added to."""
    add_both(changed)
    for command in (("ruff", "check", "workflow"), ("ruff", "format", "--check", "workflow")):
        config = ("--config", str(ROOT / "pyproject.toml"))
        done = subprocess.run([sys.executable, "-m", *command, *config], cwd=changed, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
