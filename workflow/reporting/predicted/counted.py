"""What a run says of a prediction, and what several predictions are counted in."""

from typing import NamedTuple

import pandas as pd

from workflow.reporting.findings.finding import Frames
from workflow.reporting.published import published


class Counted(NamedTuple):
    """What a run says of a hypothesis."""

    came: bool
    refuted: bool
    told: str

    @property
    def outcome(self) -> str:
        """In a word or two."""
        return "as predicted" if self.came else "refuted" if self.refuted else "neither"


def cells_beside_published(frames: Frames, which: str) -> pd.DataFrame:
    """Some cells of experiment 2 with the published numbers beside ours, and the gaps of U_s."""
    keys = ["model", "dataset", "train_size", "masking_rate"]
    table = frames["estimators"].query(which).merge(published("estimators"), on=keys, suffixes=("", "_published"))
    for end in ("", "_published"):
        table[f"gap{end}"] = table[f"student_nll_us{end}"] - table[f"teacher_nll{end}"]
    return table
