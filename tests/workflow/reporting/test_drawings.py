"""The figures show the numbers that they are drawn from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gped.data.images import ImageSet
from tests.helpers import LONG, published_tables
from workflow.jobs.arrays import save_arrays
from workflow.reporting.comparison import compare
from workflow.reporting.drawings import draw
from workflow.reporting.published import published


def csv(folder: Path, frame: pd.DataFrame, name: str = "numbers.csv") -> str:
    frame.to_csv(folder / name, index=False)
    return str(folder / name)


def test_the_figure_of_masks_shows_images_and_the_same_masked(tmp_path):
    pixels = np.full((30, 1, 28, 28), 200, np.uint8)
    ImageSet("MNIST", pixels, np.zeros(30, np.int64), "made up").save(tmp_path / "test.npz")
    figure = draw("masking", {"images": str(tmp_path / "test.npz")}, {"side": 14, "data_seed": 0})
    original, masked = (np.asarray(axis.images[0].get_array()) for axis in figure.axes)
    assert (original == 200).all()
    assert (masked == 0).sum() == 25 * 14 * 14


@pytest.mark.parametrize("model", ["FCNN", "CNN"])
def test_robustness_is_shown_over_sizes_and_masks(model, tmp_path):
    table = published("estimators").query(f"model == '{model}' and dataset == 'MNIST'")
    figure = draw("robustness", {"numbers": csv(tmp_path, table)}, {})
    shown = [[text.get_text() for text in axis.texts] for axis in figure.axes[:3]]
    for column, texts in zip(("teacher_nll", None, "entropy_mae_uo"), shown, strict=True):
        values = table[column] if column else table["student_nll_us"] - table["teacher_nll"]
        assert sorted(texts) == sorted(f"{value:.2f}" for value in values)


def test_robustness_without_masks_is_shown_over_sizes(tmp_path):
    table = published("estimators").query("dataset == 'CIFAR10'")
    figure = draw("robustness", {"numbers": csv(tmp_path, table)}, {})
    first, second, _ = figure.axes
    assert first.lines[0].get_ydata().tolist() == table["teacher_nll"].tolist()
    assert [line.get_ydata().tolist() for line in second.lines] == [
        table["teacher_nll"].tolist(),
        table["student_nll_us"].tolist(),
    ]


def test_tradeoffs_show_every_student_the_frontier_of_each_method_and_the_teacher(tmp_path):
    rows = [
        ("search", 1, 1, 100, 0.5),
        ("search", 0.5, 1, 50, 0.6),
        ("search", 2, 1, 200, 0.55),  # dearer and worse: not on the frontier
        ("prune", 2, 2, 80, 0.4),
        ("prune", 2, 2, 90, 0.45),
    ]
    table = pd.DataFrame(rows, columns=["method", "k1", "k2", "params", "nll"])
    table = table.assign(macs=table["params"], accuracy=1 - table["nll"], entropy_mae=np.nan, widths="1")
    labels = np.zeros(4, np.int64)
    ImageSet("MNIST", np.zeros((4, 1, 28, 28), np.uint8), labels, "made up").save(tmp_path / "test.npz")
    references = []
    for number, p in enumerate((0.5, 0.25)):
        references.append(str(tmp_path / f"{number}.npz"))
        save_arrays(references[-1], {"test/predictive": np.tile([p, 1 - p], (4, 1))})
    inputs = {"numbers": csv(tmp_path, table), "references": references, "images": str(tmp_path / "test.npz")}
    figure = draw("tradeoff", inputs, {"what": "nll"})
    search, prune = figure.axes[:2]
    assert sorted(map(tuple, search.collections[0].get_offsets().tolist())) == [(50, 0.6), (100, 0.5), (200, 0.55)]
    lines = {line.get_label(): line for line in search.lines}
    assert lines["Pareto frontier"].get_xydata().tolist() == [[50, 0.6], [100, 0.5]]
    assert lines["teacher"].get_ydata()[0] == pytest.approx(-np.log([0.5, 0.25]).mean())
    assert lines["base student's cost"].get_xdata()[0] == 100
    assert {line.get_label(): line for line in prune.lines}["Pareto frontier"].get_xydata().tolist() == [[80, 0.4]]
    entropies = draw("tradeoff", inputs, {"what": "accuracy"})
    assert entropies.axes[0].get_ylabel() == "test accuracy"


def test_bars_compare_both_methods_with_the_ensemble(tmp_path):
    groups = [(u, size) for u in ("us", "uo") for size in ("base", "large")]
    files = []
    for number, (u, size) in enumerate(groups):
        rows = [
            {"model": "CNN", "dataset": "MNIST", "estimator": u, "student": size, "method": method}
            | {"accuracy": 0.9 + value / 100 + number / 1000, "nll": value}
            for method, value in (("ensemble", 0.5), ("gped", 1.0), ("end2", 2.0))
        ]
        files.append(csv(tmp_path, pd.DataFrame(rows), f"{number}.csv"))
    figure = draw("comparison_gped_end2", {"numbers": files}, {})
    accuracy, nll = figure.axes
    heights = [round(bar.get_height(), 3) for bar in accuracy.patches]
    assert heights == [0.91, 0.911, 0.912, 0.913, 0.92, 0.921, 0.922, 0.923]
    assert [bar.get_height() for bar in nll.patches] == [1.0] * 4 + [2.0] * 4
    assert nll.get_legend_handles_labels()[1] == ["ensemble", "GPED", "EnD²"]


def test_expected_entropies_are_drawn_for_both_methods_of_every_model(tmp_path):
    values = np.linspace(0.1, 1, 50)
    save_arrays(tmp_path / "reference.npz", {"test/entropy": values})
    save_arrays(tmp_path / "student.npz", {"test/data": values[::-1]})
    files = {"reference": str(tmp_path / "reference.npz")} | dict.fromkeys(
        ("joint", "end2"), str(tmp_path / "student.npz")
    )
    figure = draw("joint_entropy", {"panels": [files, files]}, {"titles": ["one", "two"]})
    titles = {axis.get_title() for panel in figure.subfigs for axis in panel.axes} - {""}
    assert titles == {"GPED, one", "GPED, two", "EnD², one", "EnD², two"}


def test_every_published_number_is_a_point_against_ours(tmp_path):
    tables = published_tables()
    del tables["ndcg"]
    compared = compare(published_tables(), tables, LONG)
    figure = draw("published_vs_reproduced", {"numbers": csv(tmp_path, compared)}, {})
    titles = [axis.get_title().splitlines()[-1] for axis in figure.axes]
    counts = compared.groupby("table", sort=False).size()
    expected = [f"{counts[name]} of {counts[name]} numbers" for name in tables]
    assert titles == [*expected, f"0 of {counts['ndcg']} numbers"]


def test_the_figure_of_schedules_shows_all_gaps_beside_the_published_one(tmp_path):
    rows = [
        ("schedule", "CNN", "MNIST", size, 0, setting, "nll_gap", gap)
        for size, gaps in {10_000: (0.3, -0.1, 0.4), 60_000: (0.1, 0.1, 0.2)}.items()
        for setting, gap in zip(("per pass", "as the largest", "as the smallest"), gaps, strict=True)
    ]
    columns = ["ablation", "model", "dataset", "train_size", "masking_rate", "setting", "quantity", "value"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "ablations.csv")
    (axis,) = draw("schedule", {"numbers": str(tmp_path / "ablations.csv")}, {}).axes
    handles, labels = axis.get_legend_handles_labels()
    drawn = {
        label: list(getattr(handle, "lines", [handle])[0].get_ydata())
        for handle, label in zip(handles, labels, strict=True)
    }
    assert drawn["per pass"] == [0.3, 0.1] and drawn["as the largest"] == [-0.1, 0.1]
    assert drawn["as the smallest"] == [0.4, 0.2]
    assert drawn["published"] == pytest.approx([0.170, 0.092, 0.058, 0.031])


def test_a_drawing_that_nobody_has_written_is_named():
    with pytest.raises(KeyError, match="sureness"):
        draw("sureness", {}, {})
