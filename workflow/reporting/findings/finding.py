"""A finding: in how many cases a claim is true, how it is counted, and how tables say that they do not tell."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow.experiments.tables import TABLES

Frames = dict[str, pd.DataFrame]
Find = Callable[[Frames], "Finding"]
GRID = ["model", "dataset"]
CELL = [*GRID, "train_size", "masking_rate"]


class LackingError(Exception):
    """Some tables do not tell; says what would."""

    def __init__(self, what: str, table: str = "") -> None:
        super().__init__(f"needs {what}")
        self.table = table


@dataclass(frozen=True)
class Finding:
    """In how many of the cases a claim is true, and what to point to.

    Args:
        true: Cases in which it is true. A tie counts for nobody.
        cases: All of them.
        chains: How many teachers stand behind them, each with one seed.
        evidence: What to point to.
        ties: Cases that are neither so nor so.
    """

    true: int
    cases: int
    chains: int
    evidence: str
    ties: int = 0

    def __str__(self) -> str:
        ties = f", {self.ties} tie" + "s" * (self.ties > 1) if self.ties else ""
        return f"{self.true} of {self.cases}{ties}"


def table_of(frames: Frames, name: str, dataset: str | None = None) -> pd.DataFrame:
    """A table, or its part on one data set."""
    if name not in frames:
        (table,) = (table for table in TABLES if table.name == name)
        makers = " or ".join(map(str, table.experiments))
        raise LackingError(f"the table {name} of experiment {makers}", name)
    frame = frames[name]
    if dataset:
        frame = frame[frame["dataset"] == dataset]
        if frame.empty:
            raise LackingError(f"numbers on {dataset} in the table {name}", name)
    return frame


def chains_of(frame: pd.DataFrame) -> int:
    """How many teachers a table's rows are about."""
    return len(frame[[key for key in CELL if key in frame]].drop_duplicates())


def leads(lead: np.ndarray | pd.Series, chains: int, evidence: str) -> Finding:
    """Of a claim that something leads, by its lead in each case; 1e-10 is the arithmetic's, and none."""
    lead = np.round(np.asarray(lead, float), 9)
    lead = lead[~np.isnan(lead)]
    return Finding(int((lead > 0).sum()), len(lead), chains, evidence, int((lead == 0).sum()))


def listed(cases: list[tuple[str, bool]], chains: int, before: str = "") -> Finding:
    """Of a few cases, each of which is told."""
    return Finding(sum(ok for _, ok in cases), len(cases), chains, before + ", ".join(told for told, _ in cases))
