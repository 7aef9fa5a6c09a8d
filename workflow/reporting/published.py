"""The paper's numbers, as printed."""

from pathlib import Path

import pandas as pd

from workflow.experiments.tables import TABLES

FOLDER = Path(__file__).parents[1] / "published"
PUBLISHED_TABLES = tuple(table.name for table in TABLES if table.is_published)


def published(name: str) -> pd.DataFrame:
    """The numbers of one of the paper's tables, or, as "text", those that only its text and captions say."""
    return pd.read_csv(FOLDER / f"{name}.csv")
