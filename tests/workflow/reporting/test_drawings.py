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


def test_the_figure_of_masks_shows_images_and_the_same_masked_with_the_outlines_of_the_masks(tmp_path):
    pixels = np.full((30, 1, 28, 28), 200, np.uint8)
    ImageSet("MNIST", pixels, np.zeros(30, np.int64), "made up").save(tmp_path / "test.npz")
    figure = draw("masking", {"images": str(tmp_path / "test.npz")}, {"side": 14, "data_seed": 0})
    first, second = figure.axes
    original, masked = (np.asarray(axis.images[0].get_array()) for axis in figure.axes)
    assert set(np.unique(original)) == {200, 255}  # with white frames
    assert (original == 200).sum() == 20 * 28 * 28 and (masked == 0).sum() == 20 * 14 * 14
    assert first.get_title("left") == "(a) as they are" and second.get_title("left") == "(b) masked by 14×14 pixels"
    assert figure.get_suptitle() == "MNIST test images"
    outlined = np.zeros_like(masked, bool)
    for one in second.patches:
        left, top = (round(corner + 0.5) for corner in one.get_xy())
        outlined[top : top + 14, left : left + 14] = True
    assert (outlined == (masked == 0)).all()


@pytest.mark.parametrize("model", ["FCNN", "CNN"])
def test_robustness_is_shown_over_sizes_and_masks(model, tmp_path):
    table = published("estimators").query(f"model == '{model}' and dataset == 'MNIST'")
    figure = draw("robustness", {"numbers": csv(tmp_path, table)}, {"title": f"{model} on MNIST"})
    assert figure.get_suptitle() == f"{model} on MNIST"
    assert all("nats" in axis.get_title("left") for axis in figure.axes)
    shown = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    for column, texts in zip(("teacher_nll", "entropy_mae_uo"), shown[::2], strict=True):
        assert sorted(texts) == sorted(f"{value:.3f}" for value in table[column])
    gaps = [float(text.replace("−", "-")) for text in shown[1]]
    np.testing.assert_allclose(sorted(gaps), sorted(table["student_nll_us"] - table["teacher_nll"]), atol=6e-4)


def test_a_gap_is_orange_where_the_student_is_worse_blue_where_it_is_better_and_white_where_there_is_none(tmp_path):
    gaps = {(10, 0.0): -0.05, (20, 0.0): 0.0, (10, 0.5): 0.4, (20, 0.5): -0.0004}
    rows = [(size, rate, 1.0, 1 + gap, 0.1) for (size, rate), gap in gaps.items()]
    table = pd.DataFrame(
        rows, columns=["train_size", "masking_rate", "teacher_nll", "student_nll_us", "entropy_mae_uo"]
    )
    panel = draw("robustness", {"numbers": csv(tmp_path, table)}, {"title": ""}).axes[1]
    assert [text.get_text() for text in panel.texts] == ["+0.400", "0.000", "−0.050", "0.000"]  # and no −0.000
    (worse, _, better, none) = panel.collections[0].get_facecolors()[:, :3]
    assert worse[0] > 0.85 and worse[2] < 0.1
    assert 1 > better[2] > better[0]
    np.testing.assert_allclose(none, 1, atol=0.01)


def test_robustness_without_masks_is_shown_over_sizes(tmp_path):
    table = published("estimators").query("dataset == 'CIFAR10'")
    figure = draw("robustness", {"numbers": csv(tmp_path, table)}, {"title": "CNN on CIFAR10"})
    both, gap, error = ([container[0].get_ydata().tolist() for container in axis.containers] for axis in figure.axes)
    assert both == [table["teacher_nll"].tolist(), table["student_nll_us"].tolist()]
    assert gap == [pytest.approx((table["student_nll_us"] - table["teacher_nll"]).tolist())]
    assert error == [table["entropy_mae_uo"].tolist()]
    for axis in figure.axes:
        assert [tick.get_text() for tick in axis.get_xticklabels()] == ["10,000", "20,000", "50,000"]
        assert axis.get_ylim()[0] == 0 and axis.get_ylim()[1] > max(
            container[0].get_ydata().max() for container in axis.containers
        )


def tradeoff_inputs(folder: Path, rows: list[tuple]) -> dict[str, object]:
    """A table of students, and a teacher that is half or a quarter sure of the truth, by seed."""
    table = pd.DataFrame(rows, columns=["method", "k1", "k2", "params", "nll"])
    table = table.assign(macs=table["params"], accuracy=1 - table["nll"], entropy_mae=np.nan, widths="1")
    labels = np.zeros(4, np.int64)
    ImageSet("MNIST", np.zeros((4, 1, 28, 28), np.uint8), labels, "made up").save(folder / "test.npz")
    references = []
    for number, p in enumerate((0.5, 0.25)):
        references.append(str(folder / f"{number}.npz"))
        save_arrays(references[-1], {"test/predictive": np.tile([p, 1 - p], (4, 1))})
    return {"numbers": csv(folder, table), "references": references, "images": str(folder / "test.npz")}


SEARCHED = [
    ("search", 1, 1, 100, 0.5),
    ("search", 0.5, 1, 50, 0.6),
    ("search", 2, 1, 200, 0.55),  # dearer and worse: not on the frontier
]
PRUNED = [("prune", 2, 2, 80, 0.4), ("prune", 2, 2, 90, 0.45)]


def test_tradeoffs_show_every_student_the_frontier_of_each_method_and_the_teacher(tmp_path):
    inputs = tradeoff_inputs(tmp_path, SEARCHED + PRUNED)
    figure = draw("tradeoff", inputs, {"what": "nll", "title": "CNN on MNIST"})
    assert figure.get_suptitle() == "CNN on MNIST"
    search, prune = figure.axes[:2]
    assert search.get_ylabel() == "test NLL (nats)"
    assert sorted(map(tuple, search.collections[0].get_offsets().tolist())) == [(50, 0.6), (100, 0.5), (200, 0.55)]
    lines = {line.get_label(): line for line in search.lines}
    assert lines["best for its cost"].get_xydata().tolist() == [[50, 0.6], [100, 0.5]]
    assert lines["teacher's ensemble"].get_ydata()[0] == pytest.approx(-np.log([0.5, 0.25]).mean())
    assert lines["cost of the teacher's architecture"].get_xdata()[0] == 100
    assert {line.get_label(): line for line in prune.lines}["best for its cost"].get_xydata().tolist() == [[80, 0.4]]
    accuracies = draw("tradeoff", inputs, {"what": "accuracy", "title": ""})
    assert accuracies.axes[0].get_ylabel() == "test accuracy"


def test_a_model_that_is_not_pruned_has_no_empty_panels(tmp_path):
    figure = draw("tradeoff", tradeoff_inputs(tmp_path, SEARCHED), {"what": "nll", "title": ""})
    assert [axis.get_xlabel() for axis in figure.axes] == ["multiply-adds", "parameters"]
    assert [axis.get_title("left") for axis in figure.axes] == ["(a) all widths tried", "(b) all widths tried"]


def test_dots_compare_both_methods_with_the_ensemble(tmp_path):
    files = []
    for number, (u, size) in enumerate((u, size) for u in ("us", "uo") for size in ("base", "large")):
        rows = [
            {"model": "CNN", "dataset": "MNIST", "estimator": u, "student": size, "method": method}
            | {"accuracy": 0.9 + value / 100 + number / 1000, "nll": value}
            for method, value in (("ensemble", 0.5), ("gped", 1.0), ("end2", 2.0))
        ]
        files.append(csv(tmp_path, pd.DataFrame(rows), f"{number}.csv"))
    figure = draw("comparison_gped_end2", {"numbers": files}, {"titles": ["CNN on MNIST"]})
    accuracy, nll = figure.axes
    assert accuracy.get_title("left") == "CNN on MNIST" and nll.get_xlabel() == "test NLL (nats)"
    rows = ["base student, $U_s$", "base student, $U_o$", "large student, $U_s$", "large student, $U_o$"]
    assert [tick.get_text() for tick in accuracy.get_yticklabels()] == rows

    def shown(axis, name):
        (dots,) = (container[0] for container in axis.containers if container.get_label() == name)
        return [round(float(value), 6) for value in dots.get_xdata()], list(dots.get_ydata())

    assert shown(accuracy, "GPED") == ([0.91, 0.912, 0.911, 0.913], [0, 1, 2, 3])
    assert shown(accuracy, "EnD²") == ([0.92, 0.922, 0.921, 0.923], [0, 1, 2, 3])
    assert (shown(nll, "GPED")[0], shown(nll, "EnD²")[0]) == ([1.0] * 4, [2.0] * 4)
    (ensemble,) = (line for line in nll.lines if line.get_label() == "ensemble")
    assert ensemble.get_xdata()[0] == 0.5
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["GPED", "EnD²", "ensemble"]
    assert not accuracy.patches and not nll.patches  # a bar would have to start at zero


def test_expected_entropies_are_drawn_for_both_methods_of_every_model_on_squares_of_one_scale(tmp_path):
    values = np.linspace(0.1, 1, 50)
    save_arrays(tmp_path / "reference.npz", {"test/entropy": values})
    save_arrays(tmp_path / "joint.npz", {"test/data": values[::-1]})
    save_arrays(tmp_path / "end2.npz", {"test/data": 2 * values})
    files = {name: str(tmp_path / f"{name}.npz") for name in ("reference", "joint", "end2")}
    figure = draw("joint_entropy", {"panels": [files, files]}, {"titles": ["one", "two"]})
    panels = [axis for axis in figure.axes if axis.get_xlabel()]
    assert [axis.get_ylabel() for axis in panels] == ["by the GPED student (nats)"] * 2 + [
        "by the EnD² student (nats)"
    ] * 2
    assert {axis.get_xlabel() for axis in panels} == {"by the ensemble (nats)"}
    assert {axis.get_title("left") for axis in figure.axes} == {"", "one", "two"}
    figure.draw_without_rendering()
    for axis in panels:
        box = axis.get_window_extent()
        assert box.width == pytest.approx(box.height)
        assert axis.get_xlim() == axis.get_ylim() == panels[0].get_xlim()
        assert axis.get_xlim()[1] > 1.99  # the largest of both students
    counted = [sum(axis.collections[0].get_array()) for axis in panels]
    assert min(counted) > 0


def test_every_published_number_is_a_point_against_ours_and_filled_where_they_agree(tmp_path):
    tables = published_tables()
    del tables["ndcg"]
    tables["ood_auroc"] = tables["ood_auroc"].iloc[:5]
    tables["ood_auroc"].loc[0, "gped"] += 0.5
    compared = compare(tables, LONG, 1)
    figure = draw("published_vs_reproduced", {"numbers": csv(tmp_path, compared)}, {})
    assert figure.get_suptitle() == "FCNN on MNIST, CNN on MNIST, CNN on CIFAR10"
    for axis, name in zip(figure.axes, tables, strict=True):  # and no empty panel
        rows = compared[compared["table"] == name]
        made = 5 * 3 if name == "ood_auroc" else len(rows)
        assert axis.get_title("left").splitlines()[-1] == f"{made} of {len(rows)} numbers"
        dots = {True: [], False: []}
        for line in axis.lines:
            if line.get_marker() in ("o", "s", "^", "D"):
                dots[line.get_markerfacecolor() != "white"] += line.get_xydata().tolist()
        off = [[pair[0], pair[0] + 0.5] for pair in dots[False]]
        assert np.allclose(dots[False], off) and len(off) == (1 if name == "ood_auroc" else 0)
        assert len(dots[True]) == made - len(off) and all(theirs == ours for theirs, ours in dots[True])
        assert ("nats" in axis.get_xlabel()) == (axis.get_xscale() == "log") == (name != "ood_auroc")


def test_a_run_that_makes_no_published_number_says_so_instead_of_showing_empty_panels(tmp_path):
    figure = draw("published_vs_reproduced", {"numbers": csv(tmp_path, compare({}, LONG, 1))}, {})
    assert not figure.axes and figure.get_suptitle() == "This run makes none of the paper's numbers."


@pytest.mark.parametrize("tables", [("estimators",), ("exp1", "estimators")])
def test_the_legend_of_the_comparison_is_inside_the_figure_also_beside_a_single_panel(tmp_path, tables):
    ours = {table: published(table) for table in tables}
    figure = draw("published_vs_reproduced", {"numbers": csv(tmp_path, compare(ours, LONG, 1))}, {})
    figure.canvas.draw()
    (legend,) = figure.legends
    drawn = legend.get_window_extent()
    assert 0 <= drawn.x0 < drawn.x1 <= figure.bbox.x1


def test_the_figure_of_schedules_shows_all_gaps_beside_the_published_one(tmp_path):
    rows = [
        ("schedule", "CNN", "MNIST", size, 0, setting, "nll_gap", gap)
        for size, gaps in {10_000: (0.3, -0.1, 0.4), 60_000: (0.1, 0.1, 0.2)}.items()
        for setting, gap in zip(("per pass", "as the largest", "as the smallest"), gaps, strict=True)
    ]
    columns = ["ablation", "model", "dataset", "train_size", "masking_rate", "setting", "quantity", "value"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "ablations.csv")
    (axis,) = draw("schedule", {"numbers": str(tmp_path / "ablations.csv")}, {}).axes
    assert axis.get_title("left") == "CNN on MNIST, no masks" and "(nats)" in axis.get_ylabel()
    handles, labels = axis.get_legend_handles_labels()
    drawn = {
        label: list(getattr(handle, "lines", [handle])[0].get_ydata())
        for handle, label in zip(handles, labels, strict=True)
    }
    assert drawn["per pass"] == [0.3, 0.1] and drawn["as the largest"] == [-0.1, 0.1]
    assert drawn["as the smallest"] == [0.4, 0.2]
    assert drawn["published"] == pytest.approx([0.170, 0.092, 0.058, 0.031])


def test_the_figure_of_schedules_has_a_row_for_each_mask_and_a_column_for_each_model(tmp_path):
    columns = ["ablation", "model", "dataset", "train_size", "masking_rate", "setting", "quantity", "value"]
    cells = [("FCNN", 0.29), ("FCNN", 0), ("CNN", 0.29)]
    rows = [
        ("schedule", model, "MNIST", size, rate, "per pass", "nll_gap", rate + size / 1e6)
        for model, rate in cells
        for size in (10_000, 60_000)
    ]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "ablations.csv")
    axes = draw("schedule", {"numbers": str(tmp_path / "ablations.csv")}, {}).axes
    titles = [axis.get_title("left") for axis in axes]
    assert titles == ["FCNN on MNIST, no masks", "", "FCNN on MNIST, 29 % masked", "CNN on MNIST, 29 % masked"]
    assert [axis.axison for axis in axes] == [True, False, True, True]
    handles, labels = axes[3].get_legend_handles_labels()
    drawn = dict(zip(labels, handles, strict=True))
    assert list(drawn["per pass"].lines[0].get_ydata()) == [0.3, 0.35]
    paper = published("estimators").query("model == 'CNN' and masking_rate == 0.29")
    assert list(drawn["published"].get_ydata()) == list(paper["student_nll_us"] - paper["teacher_nll"])


def test_a_drawing_that_nobody_has_written_is_named():
    with pytest.raises(KeyError, match="sureness"):
        draw("sureness", {}, {})
