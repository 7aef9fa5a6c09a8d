"""The paper's numbers, as printed."""

from pathlib import Path

import pandas as pd

from workflow.experiments.tables import TABLES
from workflow.reporting.frames import KEY_COLUMNS

FOLDER = Path(__file__).parents[1] / "published"
PUBLISHED_TABLES = tuple(table.name for table in TABLES if table.is_published)


def published(name: str) -> pd.DataFrame:
    """The numbers of one of the paper's tables, or, as "text", those that only its text and captions say."""
    return pd.read_csv(FOLDER / f"{name}.csv")


def rounding(name: str) -> pd.DataFrame:
    """The same table with half a unit of the last printed digit for each number: 0.0005 for 0.67 printed as 0.670."""
    numbers, printed = published(name), pd.read_csv(FOLDER / f"{name}.csv", dtype=str)
    columns = [column for column in numbers if column not in KEY_COLUMNS]
    return numbers.assign(**{column: printed[column].map(half_a_unit) for column in columns})


def half_a_unit(printed: str) -> float:
    """Of the last digit of a number."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def kind(table: str, quantity: str) -> str:
    """What a number is a measure of."""
    measures = {"ood_auroc": "AUROC", "ndcg": "nDCG"}
    return measures.get(table, "NLL" if "nll" in quantity else "entropy MAE")
