"""What the paper left open, as one table: each setting with what was measured under it."""

import pandas as pd

from workflow.reporting.forms import demonstration

NOTE = (
    "schedule: the paper halves the student's learning rate per pass over D, so that a student of a smaller D gets a "
    "smaller budget; here every training size gets the budget of the largest. dropout, input noise, EnD² temperatures, "
    "pixels: other readings of the text or of the authors' code. reference: mean standard error of the ensemble's "
    "expectations on a test input, by the means of 20 blocks of consecutive draws."
)


def as_text(numbers: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """One row for each setting, one column for each quantity, and what is to be said of them."""
    keys = ["ablation", "model", "dataset", "train_size", "masking_rate", "setting"]
    texts = numbers.assign(text=numbers["value"].map("{:.4f}".format))
    if "value_seed_std" in numbers:
        texts["text"] += numbers["value_seed_std"].map(" ± {:.4f}".format)
    wide = texts.pivot(index=keys, columns="quantity", values="text")
    first = {name: number for number, name in enumerate(dict.fromkeys(numbers["ablation"]))}
    rows = numbers[keys].drop_duplicates().itertuples(index=False, name=None)
    order = sorted(rows, key=lambda row: first[row[0]])  # rows come cell by cell
    wide = wide.loc[order, list(dict.fromkeys(numbers["quantity"]))].fillna("").reset_index()
    wide["masking_rate"] = wide["masking_rate"].map("{:g}".format)
    return wide.astype(str), f"{demonstration(numbers)} {NOTE}".strip()
