"""The figures: one function for each drawing, from named files and options."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TextIO

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from gped.data.images import ImageSet
from gped.data.manipulations import mask
from gped.evaluation import metrics
from workflow.jobs.arrays import load_arrays
from workflow.reporting.looks import (
    BLUE,
    COLUMN,
    DENSITY,
    GREEN,
    GREY,
    LESS_TO_MORE,
    LIGHT_TO_DARK,
    ORANGE,
    PAGE,
    PERCENT,
    STYLE,
    heading,
    legend_below,
    over_training_sizes,
    percent,
    signed,
)
from workflow.reporting.published import kind, published

DRAWINGS: dict[str, Callable[..., Figure]] = {}


def drawing(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Let the figures whose drawing has that name be made by this function."""
    DRAWINGS[draw.__name__] = draw
    return draw


@drawing
def masking(images: str, side: int, data_seed: int) -> Figure:
    """Images, and the same masked, with the outlines of the masks."""
    test, rows, columns = ImageSet.load(images), 4, 5
    count, (height, width) = rows * columns, test.images.shape[2:]
    masked = mask(test.images, side, data_seed=data_seed, role="test")
    where = mask(np.full_like(test.images, 1), side, data_seed=data_seed, role="test") == 0
    figure, axes = plt.subplots(1, 2, figsize=(COLUMN, COLUMN / 2 * rows / columns + 0.4))
    both = {"(a) as they are": test.images, f"(b) masked by {side}×{side} pixels": masked}
    for axis, (name, shown) in zip(axes, both.items(), strict=True):
        framed = np.pad(shown[:count, 0], ((0, 0), (1, 1), (1, 1)), constant_values=255)
        tiles = framed.reshape(rows, columns, height + 2, width + 2).swapaxes(1, 2)
        axis.imshow(tiles.reshape(rows * (height + 2), columns * (width + 2)), cmap="gray", vmin=0, vmax=255)
        axis.set_title(name)
        axis.axis("off")
    for number, one in enumerate(where[:count, 0]):
        row, column = divmod(number, columns)
        top, left = np.argwhere(one)[0] + (row * (height + 2) + 0.5, column * (width + 2) + 0.5)
        axes[1].add_patch(Rectangle((left, top), side, side, fill=False, ec=ORANGE, lw=0.6))
    heading(figure, f"{test.name} test images")
    return figure


@drawing
def robustness(numbers: str | TextIO, title: str) -> Figure:
    """Teacher NLL, NLL gap and entropy MAE over training sizes and masking rates; without masks, over sizes alone."""
    table = pd.read_csv(numbers)
    table["gap"] = table["student_nll_us"] - table["teacher_nll"]
    figure, axes = plt.subplots(1, 3, figsize=(PAGE, 2.3))
    heading(figure, title)
    (_over_sizes_and_masks if table["masking_rate"].nunique() > 1 else _over_sizes)(axes, table)
    return figure


def _over_sizes_and_masks(axes: Sequence[Axes], table: pd.DataFrame) -> None:
    import seaborn as sns  # here, because most figures do without it and it takes a second to import

    panels = {
        "teacher_nll": "(a) teacher's test NLL\n(nats; darker is worse)",
        "gap": "(b) student's test NLL − teacher's\n(nats; orange: worse, blue: better)",
        "entropy_mae_uo": "(c) student's entropy MAE\n(nats; darker is worse)",
    }
    for axis, (column, name) in zip(axes, panels.items(), strict=True):
        grid = table.pivot(index="masking_rate", columns="train_size", values=column).sort_index(ascending=False)
        grid = grid.rename(index=percent, columns="{:,}".format)
        most = grid.abs().max().max()
        look = {"cmap": LIGHT_TO_DARK, "vmin": 0, "vmax": most}
        if column == "gap":
            look |= {"cmap": LESS_TO_MORE, "vmin": -most}
        text = grid.map(signed if column == "gap" else "{:.3f}".format)
        written = {"annot": text, "fmt": "", "annot_kws": {"size": 6.5, "color": "black"}}
        sns.heatmap(grid, ax=axis, cbar=False, lw=0.5, **look, **written)
        axis.set(title=name, xlabel="training images", ylabel="masked pixels" if axis is axes[0] else "")
        axis.tick_params(length=0)
        axis.tick_params(axis="y", rotation=0)


def _over_sizes(axes: Sequence[Axes], table: pd.DataFrame) -> None:
    panels = {
        "(a) test NLL (nats)": {"teacher_nll": ("o-", GREY, "teacher"), "student_nll_us": ("s-", BLUE, "student")},
        "(b) student's NLL − teacher's (nats)": {"gap": ("s-", BLUE, "")},
        "(c) student's entropy MAE (nats)": {"entropy_mae_uo": ("s-", BLUE, "")},
    }
    for axis, (name, shown) in zip(axes, panels.items(), strict=True):
        for column, (style, colour, label) in shown.items():
            spread = table.get(f"{column}_seed_std")
            axis.errorbar(
                "train_size", column, spread, data=table, fmt=style, ms=3.5, color=colour, capsize=2, label=label
            )
        axis.margins(y=0.1)
        low, high = axis.get_ylim()
        axis.set_ylim(low if column == "gap" and low < 0 else 0, max(0, high))
        axis.axhline(0, color=GREY, lw=0.6)
        axis.set_title(name)
        over_training_sizes(axis, table["train_size"])
    axes[0].legend()


@drawing
def tradeoff(numbers: str, references: list[str], images: str, what: str, title: str) -> Figure:
    """Error against multiply-adds and against parameters, for search and pruning: all students and their frontier."""
    table = pd.read_csv(numbers)
    base = table[(table["method"] == "search") & (table["k1"] == 1) & (table["k2"] == 1)].iloc[0]
    column, label, best = {
        "nll": ("nll", "test NLL (nats)", np.minimum),
        "accuracy": ("accuracy", "test accuracy", np.maximum),
        "entropy": ("entropy_mae", "entropy MAE (nats)", np.minimum),
    }[what]
    methods = {"search": "all widths tried", "prune": "largest student, pruned"}
    panels = [(unit, method) for unit in ("macs", "params") for method in methods if method in set(table["method"])]
    figure, axes = plt.subplots(1, len(panels), figsize=(PAGE, 2.3), sharey=True)
    for axis, letter, (unit, method) in zip(axes, "abcd", panels, strict=False):
        students = table[table["method"] == method].sort_values([unit, column])
        axis.scatter(students[unit], students[column], s=12, color=GREY, alpha=0.6, lw=0, label="one student", zorder=2)
        if f"{column}_seed_std" in students:
            spread = students[f"{column}_seed_std"]
            axis.errorbar(students[unit], students[column], spread, fmt="none", ecolor=GREY, elinewidth=0.7, zorder=1)
        frontier = best.accumulate(students[column].to_numpy())
        on = students[column].to_numpy() == frontier
        on &= np.concatenate([[True], np.diff(frontier) != 0]) if len(on) else on
        axis.plot(students[unit][on], students[column][on], "o-", ms=3, color=BLUE, label="best for its cost", zorder=3)
        cheap = base[unit]
        axis.axvline(cheap, ls="--", lw=0.8, color="black", label="cost of the teacher's architecture")
        if what != "entropy":
            axis.axhline(_teacher(references, images, what), color=ORANGE, lw=1, label="teacher's ensemble")
        few = method == "prune" and students["widths"].nunique() < 3
        axis.set_title(f"({letter}) {methods[method]}" + ("\n(fewer than three architectures)" if few else ""))
        limits = np.array([min(table[unit].min(), cheap), max(table[unit].max(), cheap)]) * (0.8, 1.25)
        axis.set(xscale="log", xlabel={"macs": "multiply-adds", "params": "parameters"}[unit], xlim=limits)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=6))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid()
    axes[0].set_ylabel(label)
    if what == "accuracy":
        axes[0].yaxis.set_major_formatter(PERCENT)
    heading(figure, title)
    legend_below(figure, axes[:1])
    return figure


def _teacher(references: list[str], images: str, what: str) -> float:
    labels = ImageSet.load(images).labels
    measure = {"nll": metrics.nll, "accuracy": metrics.accuracy}[what]
    return float(np.mean([measure(load_arrays(path)["test/predictive"], labels) for path in references]))


@drawing
def comparison_gped_end2(numbers: list[str], titles: list[str]) -> Figure:
    """Accuracy and NLL of GPED and EnD² students for each model, estimator and size, with the ensemble as a line."""
    table = pd.concat(map(pd.read_csv, numbers))
    models = [rows for _, rows in table.groupby(["model", "dataset"], sort=False)]
    figure, axes = plt.subplots(2, len(models), figsize=(PAGE, 3.4), squeeze=False, sharey=True)
    groups = [(u, size) for size in ("base", "large") for u in ("us", "uo")]
    names = [f"{size} student, $U_{u[1]}$" for u, size in groups]
    methods = {"end2": ("s", 5, ORANGE, "EnD²"), "gped": ("o", 3.5, BLUE, "GPED")}  # one is seen behind the other
    for row, (column, label) in enumerate({"accuracy": "test accuracy", "nll": "test NLL (nats)"}.items()):
        for axis, rows, title in zip(axes[row], models, titles, strict=True):
            here = rows.set_index(["method", "estimator", "student"]).sort_index()
            values = {method: here.loc[[(method, *group) for group in groups]] for method in methods}
            places = np.arange(len(groups))
            axis.hlines(places, *(one[column] for one in values.values()), color="#C0C0C0", lw=2, zorder=1)
            for method, (marker, size, colour, name) in methods.items():
                spread = values[method].get(f"{column}_seed_std")
                look = {"fmt": marker, "ms": size, "color": colour, "capsize": 2, "label": name}
                axis.errorbar(values[method][column], places, xerr=spread, **look)
            axis.axvline(here.loc["ensemble", column].mean(), color="black", lw=1, ls="--", label="ensemble", zorder=1)
            axis.set_yticks(places, names)
            axis.set_ylim(len(groups) - 0.5, -0.5)
            axis.margins(x=0.12)
            axis.grid(axis="x")
            axis.tick_params(axis="y", length=0)
            axis.set_xlabel(label)
            axis.locator_params(axis="x", nbins=5)
            if column == "accuracy":
                axis.xaxis.set_major_formatter(PERCENT)
                axis.set_title(title)
    legend_below(figure, axes[0][:1], ["GPED", "EnD²", "ensemble"])
    return figure


@drawing
def joint_entropy(panels: list[dict[str, str]], titles: list[str]) -> Figure:
    """Expected entropy of each test input: ensemble against student, with both marginals."""
    figure, axes = plt.subplots(2, len(panels), figsize=(PAGE / 3 * len(panels), 5), squeeze=False)
    methods = [("GPED", "joint", BLUE), ("EnD²", "end2", ORANGE)]
    for column, (files, title) in enumerate(zip(panels, titles, strict=True)):
        truth = load_arrays(files["reference"])["test/entropy"]
        said = [load_arrays(files[target])["test/data"] for _, target, _ in methods]
        limit = 1.02 * max(truth.max(), *(np.quantile(student, 0.999) for student in said))
        for axis, student, (name, _, colour) in zip(axes[:, column], said, methods, strict=True):
            _joint(axis, truth, student, limit, colour)
            axis.set_xlabel("by the ensemble (nats)")
            axis.set_ylabel(f"by the {name} student (nats)", color=colour)
        axes[0][column].set_title(title, y=1.22)
    along = {"rotation": 45, "rotation_mode": "anchor", "ha": "right", "va": "bottom"}
    axes[0][0].text(0.96, 0.975, "agreement", transform=axes[0][0].transAxes, color=GREEN, **along)
    heading(figure, "Expected entropy of each test input")
    return figure


def _joint(axis: Axes, truth: np.ndarray, student: np.ndarray, limit: float, colour: str) -> None:
    axis.hexbin(truth, student, gridsize=32, bins="log", cmap=DENSITY, extent=(0, limit, 0, limit), mincnt=1, lw=0.1)
    axis.plot([0, limit], [0, limit], color=GREEN, lw=1)
    axis.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
    axis.locator_params(nbins=5)
    bins = np.linspace(0, limit, 40).tolist()
    top = axis.inset_axes((0, 1.02, 1, 0.18), sharex=axis)
    side = axis.inset_axes((1.02, 0, 0.18, 1), sharey=axis)
    top.hist(truth, bins, color=GREY)
    side.hist(student, bins, color=colour, orientation="horizontal")
    for marginal in (top, side):
        marginal.axis("off")


TABLE_TITLES = {
    "exp1": "experiment 1\nbase students",
    "estimators": "experiment 2\nboth estimators",
    "test_metrics": "experiment 4\ntest metrics",
    "ood_auroc": "experiment 4\nAUROC",
    "ndcg": "experiment 4\nnDCG",
}


@drawing
def published_vs_reproduced(numbers: str) -> Figure:
    """Every published number against ours, by table; on the diagonal they agree."""
    compared = pd.read_csv(numbers)
    kinds = {"NLL": ("o", BLUE), "entropy MAE": ("s", ORANGE), "AUROC": ("^", GREEN), "nDCG": ("D", GREEN)}
    made = compared.dropna(subset="reproduced")
    shown = [table for table in TABLE_TITLES if table in set(made["table"])]
    if not shown:
        figure = plt.figure(figsize=(COLUMN, 0.4))
        heading(figure, "This run makes none of the paper's numbers.")
        return figure
    side = min(2.2, PAGE / len(shown))
    size = (max(COLUMN, side * len(shown)), side + 0.75)  # the legend needs a column
    figure, axes = plt.subplots(1, len(shown), figsize=size, squeeze=False, layout="compressed")
    for axis, letter, table in zip(axes[0], "abcde", shown, strict=False):
        every, rows = compared[compared["table"] == table], made[made["table"] == table]
        for name, part in rows.groupby([kind(table, quantity) for quantity in rows["quantity"]], sort=False):
            marker, colour = kinds[name]
            spread = part["reproduced_spread"] if table != "ndcg" else None  # there it is over trials, not over seeds
            axis.errorbar(part["published"], part["reproduced"], spread, fmt="none", color=colour)
            agrees, look = part["verdict"] == "agrees", {"ms": 2.5, "mew": 0.6, "color": colour}
            axis.plot("published", "reproduced", marker, data=part[~agrees], mfc="white", **look)
            axis.plot("published", "reproduced", marker, data=part[agrees], label=name, **look)
        limits = np.array([*every["published"], *rows["reproduced"]])
        if table in ("ood_auroc", "ndcg"):
            margin, unit, scale = 0.05 * np.ptp(limits), "", "linear"
            line = np.array([limits.min() - margin, limits.max() + margin])
        else:
            unit, scale = " (nats)", "log"
            line = np.array([limits.min() / 1.3, limits.max() * 1.3])
        axis.plot(line, line, color=GREY, lw=0.8, zorder=0)
        axis.set(xscale=scale, yscale=scale, xlim=line, ylim=line, aspect="equal")
        axis.set(xlabel=f"published{unit}", ylabel=f"reproduced{unit}")
        for one in (axis.xaxis, axis.yaxis):
            one.set_major_formatter("{x:g}")
        axis.set_title(f"({letter}) {TABLE_TITLES[table]}\n{len(rows)} of {len(every)} numbers")
    axes[0][0].plot([], [], "o", ms=2.5, mew=0.6, color=GREY, mfc="white", label="does not agree")
    heading(figure, ", ".join(dict.fromkeys(f"{row.model} on {row.dataset}" for row in made.itertuples())))
    legend_below(figure, axes[0], [*kinds, "does not agree"])
    return figure


@drawing
def schedule(numbers: str) -> Figure:
    """How much worse students are than their teachers over training sizes, for each schedule of the learning rate.

    A row for each masking rate, a column for each model.
    """
    table = pd.read_csv(numbers).query("ablation == 'schedule' and quantity == 'nll_gap'")
    paper = published("estimators")
    paper["gap"] = paper["student_nll_us"] - paper["teacher_nll"]
    models = list(table.groupby(["model", "dataset"], sort=False).groups)
    rates = sorted(set(table["masking_rate"]))
    figure, axes = plt.subplots(len(rates), len(models), figsize=(PAGE, 2.6 * len(rates)), squeeze=False)
    for (rate, (model, dataset)), axis in zip(product(rates, models), axes.flat, strict=True):
        cells = "model == @model and dataset == @dataset and masking_rate == @rate"
        rows, theirs = table.query(cells), paper.query(cells)
        if rows.empty:
            axis.set_axis_off()
            continue
        if len(theirs):
            axis.plot("train_size", "gap", "^--", ms=3.5, data=theirs, color=GREY, label="published")
        settings, looks = rows.groupby("setting", sort=False), (("o-", BLUE), ("s-", ORANGE), ("v-", GREEN))
        for (setting, ours), (style, colour) in zip(settings, looks[: settings.ngroups], strict=True):
            spread = ours.get("value_seed_std")
            axis.errorbar(
                "train_size", "value", spread, data=ours, fmt=style, ms=3.5, color=colour, capsize=2, label=setting
            )
        axis.axhline(0, color=GREY, lw=0.6, zorder=0)
        masked = f"{percent(rate)} masked" if rate else "no masks"
        axis.set(title=f"{model} on {dataset}, {masked}", ylabel="student's test NLL − teacher's (nats)")
        over_training_sizes(axis, [*rows["train_size"], *theirs["train_size"]])
    legend_below(figure, axes.flat)
    return figure


def draw(name: str, inputs: dict[str, Any], options: dict[str, Any]) -> Figure:
    """A figure by its drawing's name, in the style of all."""
    mpl.use("agg")
    plt.rcParams.update(STYLE)
    return DRAWINGS[name](**inputs, **options)
