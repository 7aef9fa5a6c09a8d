"""The figures: one function for each drawing, from named files and options."""

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from gped.data.images import ImageSet
from gped.data.manipulations import mask
from gped.evaluation import metrics
from workflow.jobs.arrays import load_arrays
from workflow.reporting.published import published

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"  # Okabe and Ito: safe for colour-blind readers
COLUMN, PAGE = 3.4, 7.0  # widths in inches
STYLE = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
}
DRAWINGS: dict[str, Callable[..., Figure]] = {}


def drawing(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Let the figures whose drawing has that name be made by this function."""
    DRAWINGS[draw.__name__] = draw
    return draw


@drawing
def masking(images: str, side: int, data_seed: int) -> Figure:
    """Images, and the same masked."""
    pixels = ImageSet.load(images).images
    masked = mask(pixels, side, data_seed=data_seed, role="test")
    both = {"(a) original": pixels, f"(b) masked, m = {side}": masked}
    figure, axes = plt.subplots(1, 2, figsize=(COLUMN, COLUMN / 2 + 0.2))
    for axis, (name, shown) in zip(axes, both.items(), strict=True):
        axis.imshow(shown[:25, 0].reshape(5, 5, 28, 28).swapaxes(1, 2).reshape(140, 140), cmap="gray")
        axis.set_title(name)
        axis.axis("off")
    return figure


@drawing
def robustness(numbers: str) -> Figure:
    """Teacher NLL, NLL gap and entropy MAE over training size and masking rate; without masks, over training size."""
    table = pd.read_csv(numbers)
    table["gap"] = table["student_nll_us"] - table["teacher_nll"]
    panels = {
        "teacher_nll": "(a) teacher NLL",
        "gap": "(b) student NLL − teacher NLL",
        "entropy_mae_uo": "(c) entropy MAE",
    }
    figure, axes = plt.subplots(1, 3, figsize=(PAGE, 2.3))
    if table["masking_rate"].nunique() == 1:
        for axis, (column, name) in zip(axes, panels.items(), strict=True):
            if column == "gap":
                axis.plot("train_size", "teacher_nll", "o-", ms=3, data=table, color=GREY, label="teacher")
                axis.plot("train_size", "student_nll_us", "s-", ms=3, data=table, color=BLUE, label="student")
                axis.legend()
                axis.set_title("(b) NLL of teacher and student")
            else:
                spread = table.get(f"{column}_seed_std")
                axis.errorbar("train_size", column, spread, data=table, fmt="o-", ms=3, color=BLUE, capsize=2)
                axis.set_title(name)
            axis.set(xlabel="training images", ylim=(0, 1.08 * axis.get_ylim()[1]))
            axis.grid(alpha=0.3)
        return figure
    import seaborn as sns  # here, because most figures do without it and it takes a second to import

    for axis, (column, name) in zip(axes, panels.items(), strict=True):
        grid = table.pivot(index="masking_rate", columns="train_size", values=column).sort_index(ascending=False)
        sns.heatmap(
            grid, ax=axis, cmap="viridis", annot=True, fmt=".2f", annot_kws={"size": 5.5}, cbar_kws={"aspect": 30}
        )
        axis.set(title=name, xlabel="training images", ylabel="masking rate" if axis is axes[0] else "")
        axis.tick_params(axis="x", rotation=0)
        axis.tick_params(axis="y", rotation=0)
    return figure


@drawing
def tradeoff(numbers: str, references: list[str], images: str, what: str) -> Figure:
    """Error against multiply-adds and against parameters, for search and pruning: all students and their frontier."""
    table = pd.read_csv(numbers)
    base = table[(table["method"] == "search") & (table["k1"] == 1) & (table["k2"] == 1)].iloc[0]
    column, label, best = {
        "nll": ("nll", "test NLL", np.minimum),
        "accuracy": ("accuracy", "test accuracy", np.maximum),
        "entropy": ("entropy_mae", "entropy MAE", np.minimum),
    }[what]
    figure, axes = plt.subplots(1, 4, figsize=(PAGE, 2.1), sharey=True)
    panels = [("macs", "search"), ("macs", "prune"), ("params", "search"), ("params", "prune")]
    for axis, letter, (unit, method) in zip(axes, "abcd", panels, strict=True):
        students = table[table["method"] == method].sort_values([unit, column])
        axis.scatter(students[unit], students[column], s=9, color=GREY, alpha=0.7, label="individual student", zorder=2)
        if f"{column}_seed_std" in students:
            spread = students[f"{column}_seed_std"]
            axis.errorbar(students[unit], students[column], spread, fmt="none", ecolor=GREY, elinewidth=0.7, zorder=1)
        frontier = best.accumulate(students[column].to_numpy())
        on = students[column].to_numpy() == frontier
        on &= np.concatenate([[True], np.diff(frontier) != 0]) if len(on) else on
        axis.plot(students[unit][on], students[column][on], "o-", ms=3, color=BLUE, label="Pareto frontier", zorder=3)
        cheap = base[unit]
        axis.axvline(cheap, ls="--", lw=0.8, color="black", label="base student's cost")
        if what != "entropy":
            axis.axhline(_teacher(references, images, what), color=ORANGE, lw=1, label="teacher")
        name = {"search": "exhaustive search", "prune": "group ℓ1/ℓ2 pruning"}[method]
        few = method == "prune" and students["widths"].nunique() < 3
        axis.set_title(f"({letter}) {name}" + ("\n(fewer than three architectures)" if few else ""))
        limits = np.array([min(table[unit].min(), cheap), max(table[unit].max(), cheap)]) * (0.8, 1.25)
        axis.set(xscale="log", xlabel={"macs": "multiply-adds", "params": "parameters"}[unit], xlim=limits)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=6))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(label)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _teacher(references: list[str], images: str, what: str) -> float:
    labels = ImageSet.load(images).labels
    measure = {"nll": metrics.nll, "accuracy": metrics.accuracy}[what]
    return float(np.mean([measure(load_arrays(path)["test/predictive"], labels) for path in references]))


@drawing
def comparison_gped_end2(numbers: list[str]) -> Figure:
    """Accuracy and NLL of GPED and EnD² students for each model, estimator and size, with the ensemble as a line."""
    table = pd.concat(map(pd.read_csv, numbers))
    models = list(dict.fromkeys(zip(table["model"], table["dataset"], strict=True)))
    figure, axes = plt.subplots(2, len(models), figsize=(PAGE, 3.6), squeeze=False)
    groups = [(u, size) for u in ("us", "uo") for size in ("base", "large")]
    names = {"us": "$U_s$", "uo": "$U_o$"}
    for row, (column, label) in enumerate({"accuracy": "test accuracy", "nll": "test NLL"}.items()):
        for axis, (model, dataset) in zip(axes[row], models, strict=True):
            here = table[(table["model"] == model) & (table["dataset"] == dataset)]
            here = here.set_index(["method", "estimator", "student"]).sort_index()
            for shift, method, colour, name in ((-0.2, "gped", BLUE, "GPED"), (0.2, "end2", ORANGE, "EnD²")):
                values = here.loc[[(method, *group) for group in groups]]
                axis.bar(
                    np.arange(4) + shift,
                    values[column],
                    0.38,
                    yerr=values.get(f"{column}_seed_std"),
                    color=colour,
                    label=name,
                )
            ensemble = here.loc["ensemble", column].mean()
            axis.axhline(ensemble, color="black", lw=1, ls="--", label="ensemble")
            shown = np.append(here[column], ensemble)
            margin = 0.15 * (shown.max() - shown.min()) + 1e-3
            axis.set_ylim(max(0, shown.min() - 2 * margin) if column == "accuracy" else 0, shown.max() + margin)
            axis.set_xticks(range(4), [f"{names[u]}\n{size}" for u, size in groups])
            axis.set_title(f"{model} on {dataset}")
        axes[row][0].set_ylabel(label)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


@drawing
def joint_entropy(panels: list[dict[str, str]], titles: list[str]) -> Figure:
    """Expected entropy of each test input: ensemble against student, with both marginals."""
    figure = plt.figure(figsize=(PAGE, 1.6 + 1.9 * len(panels) / 3 * 1.5))
    grid = figure.subfigures(2, len(panels), squeeze=False)
    methods = [("GPED", "joint", BLUE), ("EnD²", "end2", ORANGE)]
    for number, (files, title) in enumerate(zip(panels, titles, strict=True)):
        truth = load_arrays(files["reference"])["test/entropy"]
        for row, (name, target, colour) in enumerate(methods):
            student = load_arrays(files[target])["test/data"]
            _joint(grid[row][number], truth, student, f"{name}, {title}", colour)
    return figure


def _joint(panel: Figure, truth: np.ndarray, student: np.ndarray, title: str, colour: str) -> None:
    grid = panel.add_gridspec(2, 2, width_ratios=(4, 1), height_ratios=(1, 4), wspace=0.05, hspace=0.05)
    axis = panel.add_subplot(grid[1, 0])
    top = panel.add_subplot(grid[0, 0], sharex=axis)
    side = panel.add_subplot(grid[1, 1], sharey=axis)
    limit = 1.02 * max(truth.max(), np.quantile(student, 0.999))
    axis.hexbin(truth, student, gridsize=32, bins="log", cmap="Greys", extent=(0, limit, 0, limit), mincnt=1, lw=0.1)
    axis.plot([0, limit], [0, limit], color=GREEN, lw=1)
    axis.set(xlabel="ensemble", ylabel="student", xlim=(0, limit), ylim=(0, limit))
    bins = np.linspace(0, limit, 40).tolist()
    top.hist(truth, bins, color=GREY)
    side.hist(student, bins, color=colour, orientation="horizontal")
    for marginal in (top, side):
        marginal.axis("off")
    top.set_title(title)


@drawing
def published_vs_reproduced(numbers: str) -> Figure:
    """Every published number against ours, by table; on the diagonal they agree."""
    compared = pd.read_csv(numbers)
    titles = {
        "exp1": "(a) experiment 1\nbase students",
        "estimators": "(b) experiment 2\nboth estimators",
        "test_metrics": "(c) experiment 4\ntest metrics",
        "ood_auroc": "(d) experiment 4\nAUROC",
        "ndcg": "(e) experiment 4\nnDCG",
    }
    colours = {"NLL": BLUE, "entropy MAE": ORANGE, "AUROC or nDCG": GREEN}
    figure, axes = plt.subplots(1, len(titles), figsize=(PAGE, 2.1))
    for axis, (table, title) in zip(axes, titles.items(), strict=True):
        all_rows = compared[compared["table"] == table]
        rows = all_rows.dropna(subset="reproduced")
        for name, colour in colours.items():
            ours = (
                rows["quantity"].str.contains("mae") if name == "entropy MAE" else rows["quantity"].str.contains("nll")
            )
            part = rows[~rows["quantity"].str.contains("mae|nll") if name == "AUROC or nDCG" else ours]
            spread = part["reproduced_spread"] if table not in ("ndcg",) else None
            axis.errorbar(
                part["published"], part["reproduced"], spread, fmt="o", ms=2, lw=0.5, color=colour, label=name
            )
        limits = [*all_rows["published"], *rows["reproduced"]]
        low, high = (min(limits), max(limits)) if table in ("ood_auroc", "ndcg") else (0, max(limits))
        margin = 0.05 * (high - low)
        axis.plot([low, high], [low, high], color=GREY, lw=0.8, zorder=0)
        axis.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin), xlabel="published")
        axis.set_title(f"{title}\n{len(rows)} of {len(all_rows)} numbers")
        axis.set_aspect("equal")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("reproduced")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


@drawing
def schedule(numbers: str) -> Figure:
    """How much worse students are than their teachers over training sizes, for each schedule of the learning rate."""
    table = pd.read_csv(numbers).query("ablation == 'schedule' and quantity == 'nll_gap' and masking_rate == 0")
    paper = published("estimators").query("masking_rate == 0")
    paper["gap"] = paper["student_nll_us"] - paper["teacher_nll"]
    models = table.groupby(["model", "dataset"], sort=False)
    figure, axes = plt.subplots(1, models.ngroups, figsize=(PAGE, 2.3), squeeze=False)
    for axis, ((model, dataset), rows) in zip(axes[0], models, strict=True):
        theirs = paper[(paper["model"] == model) & (paper["dataset"] == dataset)]
        if len(theirs):
            axis.plot("train_size", "gap", "^--", ms=3, data=theirs, color=GREY, label="published")
        settings, looks = rows.groupby("setting", sort=False), (("o-", BLUE), ("s-", ORANGE), ("v-", GREEN))
        for (setting, ours), (style, colour) in zip(settings, looks, strict=True):
            spread = ours.get("value_seed_std")
            axis.errorbar(
                "train_size", "value", spread, data=ours, fmt=style, ms=3, color=colour, capsize=2, label=setting
            )
        axis.axhline(0, color=GREY, lw=0.6, zorder=0)
        axis.set(title=f"{model}, {dataset}", xlabel="training images", ylabel="student NLL − teacher NLL")
        axis.legend()
        axis.grid(alpha=0.3)
    return figure


def draw(name: str, inputs: dict[str, Any], options: dict[str, Any]) -> Figure:
    """A figure by its drawing's name, in the style of all."""
    mpl.use("agg")
    plt.rcParams.update(STYLE)
    return DRAWINGS[name](**inputs, **options)
