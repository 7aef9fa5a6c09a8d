"""Draw one of the paper's figures or of our own, as PDF and PNG."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from gped import cost, metrics
from gped.architectures import BY_ROLE
from gped.data.images import ImageSet
from gped.data.manipulations import mask
from gped.uncertainty import decompose_dirichlet
from workflow.scripts import jobs

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"  # Okabe and Ito: safe for colour-blind readers
COLUMN, PAGE = 3.4, 7.0  # widths in inches
ROLES = {"fcnn_mnist": "FCNN", "cnn_mnist": "CNN", "cnn_cifar10": "CNN"}


def masking(paths: list[Path], data_seed: int) -> Figure:
    """Images, and the same masked with m = 14."""
    images = ImageSet.load(paths[0]).images
    both = {"(a) original": images, "(b) masked, m = 14": mask(images, 14, data_seed=data_seed, role="test")}
    figure, axes = plt.subplots(1, 2, figsize=(COLUMN, COLUMN / 2 + 0.2))
    for axis, (name, shown) in zip(axes, both.items(), strict=True):
        axis.imshow(shown[:25, 0].reshape(5, 5, 28, 28).swapaxes(1, 2).reshape(140, 140), cmap="gray")
        axis.set_title(name)
        axis.axis("off")
    return figure


def robustness(paths: list[Path], role: str) -> Figure:
    """Teacher NLL, NLL gap and entropy MAE over training size and masking rate; without masks, over training size."""
    numbers = pd.read_csv(paths[0])
    numbers["gap"] = numbers["student_nll_us"] - numbers["teacher_nll"]
    panels = {
        "teacher_nll": "(a) teacher NLL",
        "gap": "(b) student NLL − teacher NLL",
        "entropy_mae_uo": "(c) entropy MAE",
    }
    figure, axes = plt.subplots(1, 3, figsize=(PAGE, 2.3))
    if numbers["masking_rate"].nunique() == 1:
        for axis, (column, name) in zip(axes, panels.items(), strict=True):
            if column == "gap":
                axis.plot("train_size", "teacher_nll", "o-", ms=3, data=numbers, color=GREY, label="teacher")
                axis.plot("train_size", "student_nll_us", "s-", ms=3, data=numbers, color=BLUE, label="student")
                axis.legend()
                axis.set_title("(b) NLL of teacher and student")
            else:
                spread = numbers.get(f"{column}_seed_std")
                axis.errorbar("train_size", column, spread, data=numbers, fmt="o-", ms=3, color=BLUE, capsize=2)
                axis.set_title(name)
            axis.set(xlabel="training images", ylim=(0, 1.08 * axis.get_ylim()[1]))
            axis.grid(alpha=0.3)
        return figure
    import seaborn as sns  # here, because most figures do without it and it takes a second to import

    for axis, (column, name) in zip(axes, panels.items(), strict=True):
        grid = numbers.pivot(index="masking_rate", columns="train_size", values=column).sort_index(ascending=False)
        sns.heatmap(
            grid, ax=axis, cmap="viridis", annot=True, fmt=".2f", annot_kws={"size": 5.5}, cbar_kws={"aspect": 30}
        )
        axis.set(title=name, xlabel="training images", ylabel="masking rate" if axis is axes[0] else "")
        axis.tick_params(axis="x", rotation=0)
        axis.tick_params(axis="y", rotation=0)
    return figure


def tradeoff(paths: list[Path], what: str, role: str) -> Figure:
    """Error against multiply-adds and against parameters, for search and pruning: all students and their frontier."""
    numbers = pd.read_csv(paths[0])
    column, label, best = {
        "nll": ("nll", "test NLL", np.minimum),
        "accuracy": ("accuracy", "test accuracy", np.maximum),
        "entropy": ("entropy_mae", "entropy MAE", np.minimum),
    }[what]
    base = {"macs": cost.multiply_adds, "params": cost.parameters}
    outputs = 1 if what == "entropy" else 10
    figure, axes = plt.subplots(1, 4, figsize=(PAGE, 2.1), sharey=True)
    panels = [("macs", "search"), ("macs", "prune"), ("params", "search"), ("params", "prune")]
    for axis, letter, (unit, method) in zip(axes, "abcd", panels, strict=True):
        students = numbers[numbers["method"] == method].sort_values([unit, column])
        axis.scatter(students[unit], students[column], s=9, color=GREY, alpha=0.7, label="individual student", zorder=2)
        if f"{column}_seed_std" in students:
            spread = students[f"{column}_seed_std"]
            axis.errorbar(students[unit], students[column], spread, fmt="none", ecolor=GREY, elinewidth=0.7, zorder=1)
        frontier = best.accumulate(students[column].to_numpy())
        on = students[column].to_numpy() == frontier
        on &= np.concatenate([[True], np.diff(frontier) != 0]) if len(on) else on
        axis.plot(students[unit][on], students[column][on], "o-", ms=3, color=BLUE, label="Pareto frontier", zorder=3)
        cheap = base[unit](BY_ROLE[role], outputs)
        axis.axvline(cheap, ls="--", lw=0.8, color="black", label="base student's cost")
        if what != "entropy":
            axis.axhline(_teacher(paths, what), color=ORANGE, lw=1, label="teacher")
        name = {"search": "exhaustive search", "prune": "group ℓ1/ℓ2 pruning"}[method]
        few = method == "prune" and students["widths"].nunique() < 3
        axis.set_title(f"({letter}) {name}" + ("\n(fewer than three architectures)" if few else ""))
        limits = np.array([min(numbers[unit].min(), cheap), max(numbers[unit].max(), cheap)]) * (0.8, 1.25)
        axis.set(xscale="log", xlabel={"macs": "multiply-adds", "params": "parameters"}[unit], xlim=limits)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=6))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(label)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _teacher(paths: list[Path], what: str) -> float:
    labels = ImageSet.load(paths[-1]).labels
    measure = {"nll": metrics.nll, "accuracy": metrics.accuracy}[what]
    return float(np.mean([measure(jobs.load_arrays(path)["test/predictive"], labels) for path in paths[1:-1]]))


def comparison_gped_end2(paths: list[Path]) -> Figure:
    """Accuracy and NLL of GPED and EnD² students for each model, estimator and size, with the ensemble as a line."""
    numbers = pd.concat(map(pd.read_csv, paths))
    models = list(dict.fromkeys(zip(numbers["model"], numbers["dataset"], strict=True)))
    figure, axes = plt.subplots(2, len(models), figsize=(PAGE, 3.6), squeeze=False)
    groups = [(u, size) for u in ("us", "uo") for size in ("base", "large")]
    names = {"us": "$U_s$", "uo": "$U_o$"}
    for row, (column, label) in enumerate({"accuracy": "test accuracy", "nll": "test NLL"}.items()):
        for axis, (model, dataset) in zip(axes[row], models, strict=True):
            here = numbers[(numbers["model"] == model) & (numbers["dataset"] == dataset)]
            here = here.set_index(["method", "estimator", "student"])
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


def joint_entropy(paths: list[Path]) -> Figure:
    """Expected entropy of each test input: ensemble against student, with both marginals."""
    cells = [paths[start : start + 3] for start in range(0, len(paths), 3)]
    figure = plt.figure(figsize=(PAGE, 1.6 + 1.9 * len(cells) / 3 * 1.5))
    panels = figure.subfigures(2, len(cells), squeeze=False)
    for number, (reference, *students) in enumerate(cells):
        truth = jobs.load_arrays(reference)["test/entropy"]
        for row, (name, path) in enumerate(zip(("GPED", "EnD²"), students, strict=True)):
            said = jobs.load_arrays(path)
            student = said["test/entropy"] if row == 0 else decompose_dirichlet(said["test/log_predictive"]).data
            model, dataset = reference.parts[-3].split("-", 1)
            _joint(panels[row][number], truth, student, f"{name}, {model.upper()} on {dataset}", (BLUE, ORANGE)[row])
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
    bins = np.linspace(0, limit, 40)
    top.hist(truth, bins, color=GREY)
    side.hist(student, bins, color=colour, orientation="horizontal")
    for marginal in (top, side):
        marginal.axis("off")
    top.set_title(title)


def published_vs_reproduced(paths: list[Path]) -> Figure:
    """Every published number against ours, by table; on the diagonal they agree."""
    numbers = pd.read_csv(paths[0])
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
        all_rows = numbers[numbers["table"] == table]
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


def schedule(paths: list[Path]) -> Figure:
    """How much worse students are than their teachers over training sizes, for each schedule of the learning rate."""
    numbers = pd.read_csv(paths[0]).query("ablation == 'schedule' and quantity == 'nll_gap'")
    published = pd.read_csv(jobs.PUBLISHED / "estimators.csv").query("masking_rate == 0")
    published["gap"] = published["student_nll_us"] - published["teacher_nll"]
    models = numbers.groupby(["model", "dataset"], sort=False)
    figure, axes = plt.subplots(1, models.ngroups, figsize=(PAGE, 2.3), squeeze=False)
    for axis, ((model, dataset), rows) in zip(axes[0], models, strict=True):
        theirs = published[(published["model"] == model) & (published["dataset"] == dataset)]
        if len(theirs):
            axis.plot("train_size", "gap", "^--", ms=3, data=theirs, color=GREY, label="published")
        settings = rows.groupby("setting", sort=False)
        for (setting, ours), style, colour in zip(settings, ("o-", "s-"), (BLUE, ORANGE), strict=True):
            spread = ours.get("value_seed_std")
            axis.errorbar(
                "train_size", "value", spread, data=ours, fmt=style, ms=3, color=colour, capsize=2, label=setting
            )
        axis.axhline(0, color=GREY, lw=0.6, zorder=0)
        axis.set(title=f"{model}, {dataset}", xlabel="training images", ylabel="student NLL − teacher NLL")
        axis.legend()
        axis.grid(alpha=0.3)
    return figure


def draw(name: str, paths: list[Path], data_seed: int) -> Figure:
    """The figure of that name."""
    kind, _, rest = name.partition("_")
    if kind == "masking":
        return masking(paths, data_seed)
    if kind == "robustness":
        return robustness(paths, rest)
    if kind == "tradeoff":
        return tradeoff(paths, *rest.split("_", 1))
    return {
        "comparison": comparison_gped_end2,
        "joint": joint_entropy,
        "published": published_vs_reproduced,
        "schedule": schedule,
    }[kind](paths)


def main() -> None:
    """Write the two files in --output."""
    job = jobs.arguments(__doc__, "figure", "data-seed", "inputs+", "output+")
    mpl.use("agg")
    plt.rcParams.update(
        {
            "font.size": 7,
            "axes.titlesize": 7,
            "axes.labelsize": 7,
            "legend.fontsize": 6.5,
            "xtick.labelsize": 6.5,
            "ytick.labelsize": 6.5,
            "figure.constrained_layout.use": True,
            "pdf.fonttype": 42,
        }
    )
    figure = draw(job.figure, [Path(path) for path in job.inputs], int(job.data_seed))
    for path in map(Path, job.output):
        part = path.with_name(f".{path.name}.part")
        undated = {"CreationDate": None} if path.suffix == ".pdf" else None  # the same bytes for the same numbers
        figure.savefig(part, format=path.suffix[1:], dpi=300, metadata=undated)
        part.replace(path)


if __name__ == "__main__":
    jobs.run(main)
