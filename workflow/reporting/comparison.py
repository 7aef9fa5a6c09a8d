"""Set every published result beside this run's, with the difference and a verdict."""

from typing import Any

import numpy as np
import pandas as pd

from workflow.experiments.paper import PAPER_STEPS
from workflow.reporting.published import PUBLISHED_TABLES

ROW_KEYS = ["model", "dataset", "train_size", "masking_rate", "ood_dataset", "estimator", "student", "uncertainty"]
VERDICTS = {
    "within": "the difference is at most 0.01 or 10 %, or two standard deviations over seeds",
    "better": "outside that, and better than published",
    "worse": "outside that, and worse than published",
    "not comparable": "outside that, but the chain is shorter than the paper's",
    "not produced": "this run does not make the number",
}


def tidy(table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each number: the table's keys, the quantity, its value and its spread."""
    keys = [key for key in ROW_KEYS if key in frame]
    quantities = [name for name in frame if name not in keys and not name.endswith("_std")]
    rows = []
    for quantity in quantities:
        part = frame[keys].copy()
        part["quantity"] = quantity.removesuffix("_mean")
        part["value"] = frame[quantity]
        spread = quantity.removesuffix("_mean") + "_std" if quantity.endswith("_mean") else f"{quantity}_seed_std"
        part["spread"] = frame.get(spread, np.nan)
        part["seed_std"] = frame.get(f"{quantity}_seed_std", np.nan)
        rows.append(part)
    return pd.concat(rows, ignore_index=True).assign(table=table)


def compare(published: dict[str, pd.DataFrame], ours: dict[str, pd.DataFrame], steps: list[Any]) -> pd.DataFrame:
    """All published numbers beside ours.

    Args:
        published: The paper's tables.
        ours: The run's, as far as it makes them.
        steps: Model, data set and T of each chain of the run.
    """
    rows = pd.concat([tidy(name, frame) for name, frame in published.items()], ignore_index=True)
    keys = ["table", *ROW_KEYS, "quantity"]
    made = pd.concat([rows.iloc[:0], *(tidy(name, frame) for name, frame in ours.items())], ignore_index=True)
    merged = rows.merge(made.reindex(columns=rows.columns), on=keys, how="left", suffixes=("", "_ours"))
    chain = pd.DataFrame(steps, columns=["model", "dataset", "steps"])
    merged = merged.merge(chain, on=["model", "dataset"], how="left")
    result = merged[keys].assign(
        published=merged["value"],
        published_spread=merged["spread"],
        reproduced=merged["value_ours"],
        reproduced_spread=merged["spread_ours"],
    )
    result["difference"] = result["reproduced"] - result["published"]
    short = merged["steps"] < PAPER_STEPS
    result["verdict"] = [
        verdict(row.published, row.difference, row.table in ("ood_auroc", "ndcg"), seed_std, is_short)
        for row, seed_std, is_short in zip(result.itertuples(), merged["seed_std_ours"], short, strict=True)
    ]
    return result


def verdict(published: float, difference: float, more_is_better: bool, seed_std: float, short_chain: bool) -> str:
    """What a difference means."""
    if np.isnan(difference):
        return "not produced"
    tolerance = np.nanmax([0.01, 0.1 * abs(published), 2 * seed_std])
    if abs(difference) <= tolerance + 1e-9:
        return "within"
    if short_chain:
        return "not comparable"
    return "better" if (difference > 0) == more_is_better else "worse"


def counts(result: pd.DataFrame) -> pd.DataFrame:
    """How many numbers of each of the paper's tables got which verdict."""
    table = result.groupby(["table", "verdict"], sort=False).size().unstack(fill_value=0)
    table = table.reindex(index=list(PUBLISHED_TABLES), columns=list(VERDICTS), fill_value=0)
    table.loc["all"] = table.sum()
    return table.rename_axis("table").reset_index().astype(str)


def text_of(result: pd.DataFrame) -> pd.DataFrame:
    """The rows as they are read, without empty columns."""
    shown = result.copy()
    shown["train_size"] = shown["train_size"].map(lambda value: "" if pd.isna(value) else f"{value:.0f}")
    shown["masking_rate"] = shown["masking_rate"].map(lambda value: "" if pd.isna(value) else f"{value:g}")
    for name in ("published", "published_spread", "reproduced", "reproduced_spread", "difference"):
        sign = "+" if name == "difference" else ""
        shown[name] = [("" if pd.isna(value) else f"{value:{sign}.3f}") for value in shown[name]]
    shown = shown.fillna("").astype(str)
    return shown[[name for name in shown if (shown[name] != "").any()]]


def pages(result: pd.DataFrame) -> list[tuple[pd.DataFrame, str, str]]:
    """What is read of it: the counts, then every number; each a table with its heading and a note."""
    note = "Verdicts: " + "; ".join(f"{name}: {meaning}" for name, meaning in VERDICTS.items()) + "."
    heading = f"Published and reproduced: all {len(result)} numbers of the paper's tables"
    return [(counts(result), heading, note), (text_of(result), "Number by number", "")]
