"""The map of the reproduction: every published number by its verdict."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from workflow.reporting.comparison import ROW_KEYS
from workflow.reporting.drawings import TABLE_TITLES
from workflow.reporting.forms import HEADINGS
from workflow.reporting.looks import BLUE, GREEN, ORANGE, PAGE, STYLE, heading, legend_below

VERDICT_COLOURS = {"agrees": GREEN, "better": BLUE, "worse": ORANGE, "not measured": "#D9D9D9"}


def verdict_map(compared: pd.DataFrame) -> Figure:
    """Every published number as a square with the colour of its verdict: a row of a table is a column here."""
    mpl.use("agg")
    plt.rcParams.update(STYLE)
    models = list(dict.fromkeys(zip(compared["model"], compared["dataset"], strict=True)))
    of = [models.index(one) for one in zip(compared["model"], compared["dataset"], strict=True)]
    tables = dict(list(compared.assign(of=of).groupby("table", sort=False)))
    heights = [rows["quantity"].nunique() for rows in tables.values()]
    size = {"figsize": (PAGE, 0.13 * sum(heights) + 2.4), "height_ratios": [height + 1.5 for height in heights]}
    figure, axes = plt.subplots(len(tables), 1, squeeze=False, **size)
    widest = max(len(rows) // height for rows, height in zip(tables.values(), heights, strict=True)) + len(models)
    for axis, (name, rows) in zip(axes[:, 0], tables.items(), strict=True):
        quantities = list(dict.fromkeys(rows["quantity"]))
        keys = [key for key in ("of", *ROW_KEYS[2:]) if rows[key].notna().any()]
        columns = rows[rows["quantity"] == quantities[0]].sort_values(keys)[keys].reset_index(drop=True)
        at = rows.merge(columns.assign(column=columns.index + columns["of"]), on=keys)  # a gap between two models
        for row in at.itertuples():
            square = (row.column, quantities.index(row.quantity))
            axis.add_patch(Rectangle(square, 0.9, 0.9, color=VERDICT_COLOURS[row.verdict], lw=0))
        for of, first in at.groupby("of")["column"].min().items():
            axis.text(first, -0.2, "abc"[of], size=6.5)
        axis.set(xlim=(0, widest), ylim=(len(quantities), -0.6), aspect="equal", anchor="W", xticks=[])
        axis.set_yticks(np.arange(len(quantities)) + 0.45, [HEADINGS[quantity] for quantity in quantities])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_title(TABLE_TITLES[name].replace("\n", ": ") + f", {len(rows)} numbers")
    for verdict, colour in VERDICT_COLOURS.items():
        count = (compared["verdict"] == verdict).sum()
        axes[0, 0].plot([], [], "s", color=colour, label=f"{verdict} ({count})")
    legend_below(figure, axes[:, 0])
    named = ", ".join(f"{letter} {model} on {dataset}" for letter, (model, dataset) in zip("abc", models, strict=True))
    heading(figure, f"All {len(compared)} published numbers by verdict: {named}")
    return figure
