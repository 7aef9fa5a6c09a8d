"""From rows to tables: seeds, frontiers, and published values beside ours."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from workflow.scripts import measure, render  # noqa: E402 (the workflow is not an installed package)

PUBLISHED = ROOT / "workflow" / "published"


def test_several_seeds_become_mean_and_standard_deviation():
    rows = [
        {"model": model, "lambda": strength, "nll": seed + shift, "widths": f"{seed}-1"}
        for seed in range(3)
        for model, strength, shift in (("CNN", None, 0.0), ("CNN", 0.1, 10.0))
    ]
    frame = measure.over_seeds(rows, 3)
    assert list(frame) == ["model", "lambda", "nll", "widths", "nll_seed_std"]
    assert frame["nll"].tolist() == [1, 11]
    assert frame["nll_seed_std"].tolist() == [1, 1]
    assert frame["widths"].tolist() == ["0-1 | 1-1 | 2-1"] * 2
    assert list(measure.over_seeds(rows[:2], 1)) == ["model", "lambda", "nll", "widths"]


def test_the_frontier_is_that_of_the_students_that_no_other_beats():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "method": generator.choice(["search", "prune"], 40),
            "target": "predictive",
            "macs": generator.integers(1, 20, 40),
            "params": generator.integers(1, 20, 40),
            "nll": generator.integers(1, 20, 40) / 10,
            "entropy_mae": np.nan,
        }
    )
    marked = measure.with_frontier(frame.copy())
    for cost, (number, row) in itertools.product(("macs", "params"), marked.iterrows()):
        rivals = frame[frame["method"] == row["method"]]
        beaten = any(
            other[cost] <= row[cost]
            and other["nll"] <= row["nll"]
            and (other[cost], other["nll"]) != (row[cost], row["nll"])
            for _, other in rivals.iterrows()
        )
        assert (cost in row["pareto"]) == (not beaten), number


def test_published_values_stand_beside_ours_on_the_papers_data():
    published = pd.read_csv(PUBLISHED / "exp1.csv")
    ours = published.assign(teacher_nll=published["teacher_nll"] + 0.1)
    table, note = render.beside_published(ours, published)
    assert note == "Reproduced (published)."
    assert table["Teacher NLL"].tolist() == ["0.152 (0.052)", "0.122 (0.022)", "0.771 (0.671)"]


@pytest.mark.parametrize("kind", ["exp1", "estimators", "test_metrics", "ood_auroc", "ndcg"])
def test_every_published_number_finds_its_place(kind):
    published = pd.read_csv(PUBLISHED / f"{kind}.csv")
    table, _ = render.beside_published(published, published)
    numbers = [column for column in published if column in render.NUMBERS]
    assert len(table) == len(published)
    assert all(table[render.NUMBERS[number]].str.contains(r"\(").all() for number in numbers)


def test_spreads_and_missing_values_are_shown():
    ours = pd.DataFrame(
        {
            "model": ["CNN"] * 2,
            "dataset": ["MNIST"] * 2,
            "teacher_nll": [0.5, np.nan],
            "teacher_nll_seed_std": [0.01, np.nan],
        }
    )
    published = pd.DataFrame({"model": ["FCNN"], "dataset": ["MNIST"], "teacher_nll": [1.0]})
    table, _ = render.beside_published(ours, published)
    assert table["Teacher NLL"].tolist() == ["0.500 ± 0.010", "–"]


def test_the_same_table_is_written_as_markdown_latex_and_html():
    table = pd.DataFrame({"Model": ["CNN"], "EnD² NLL": ["0.5 ± 0.1"]})
    assert "| CNN | 0.5 ± 0.1 |" in render.markdown(table, "A table", "A note.")
    latex = render.latex(table, "A table", "A note.")
    assert r"CNN & 0.5 $\pm$ 0.1 \\" in latex and r"EnD\textsuperscript{2}" in latex
    assert "<td>0.5 ± 0.1</td>" in render.page(table, "A table", "A note.")


def test_titles_say_which_students_a_table_is_about():
    assert render.title("ndcg_uo_large").endswith(": U_o, largest students")
    assert ":" not in render.title("estimators_cnn_mnist")
