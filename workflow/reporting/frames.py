"""Rows as a table: seeds as mean and spread, and what only the whole table can tell."""

from collections.abc import Callable
from typing import Any

import pandas as pd

Row = dict[str, Any]
KEY_COLUMNS = {
    "ablation",
    "setting",
    "quantity",
    "model",
    "dataset",
    "ood_dataset",
    "train_size",
    "masking_rate",
    "estimator",
    "student",
    "uncertainty",
    "masked",
    "method",
    "target",
    "k1",
    "k2",
    "lambda",
}


def over_seeds(rows: list[Row], seeds: int) -> pd.DataFrame:
    """One row for each key: the mean over seeds, and with several their standard deviation, suffix _seed_std."""
    frame = pd.DataFrame(rows)
    if seeds == 1 or frame.empty:
        return frame
    keys = [column for column in frame if column in KEY_COLUMNS]
    numbers = [column for column in frame if column not in KEY_COLUMNS and pd.api.types.is_numeric_dtype(frame[column])]
    groups = frame.groupby(keys, sort=False, dropna=False)
    merged = groups[numbers].mean().join(groups[numbers].std().add_suffix("_seed_std"))
    texts = [column for column in frame if column not in keys + numbers]
    if texts:
        merged = merged.join(groups[texts].agg(lambda values: " | ".join(map(str, values))))
    return merged.reset_index()[[*frame.columns, *(f"{column}_seed_std" for column in numbers)]]


def with_frontier(frame: pd.DataFrame) -> pd.DataFrame:
    """Mark the students that no other of the same method beats in error at equal or lower cost."""
    error = frame["nll"].fillna(frame["entropy_mae"])
    on = pd.DataFrame(
        {
            cost: [
                not (
                    (frame["method"] == row["method"])
                    & (frame["target"] == row["target"])
                    & (frame[cost] <= row[cost])
                    & (error <= error[number])
                    & ((frame[cost] < row[cost]) | (error < error[number]))
                ).any()
                for number, row in frame.iterrows()
            ]
            for cost in ("macs", "params")
        },
        index=frame.index,
    )
    frame["pareto"] = ["+".join(cost for cost in on if on[cost][number]) for number in frame.index]
    return frame


def frame_of(table: str, rows: list[Row], seeds: int) -> pd.DataFrame:
    """All rows of a table as it is written."""
    return COMPLETED.get(table, lambda frame: frame)(over_seeds(rows, seeds))


COMPLETED: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {"tradeoff": with_frontier}
"""What is added to a table when all its rows are there."""
