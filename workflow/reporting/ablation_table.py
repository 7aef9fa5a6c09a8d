"""What the paper left open: for each ablation a table, each setting with what was measured under it."""

import pandas as pd

from workflow.reporting.forms import demonstration, markdown

NOTES = {
    "schedule": "The paper halves the student's learning rate per pass over D, so that a student of a smaller D gets a "
    "smaller budget; here every training size also gets the budget of the largest, and of the smallest.",
    "release": "What the authors' released code does differently from the paper.",
    "slower schedule": "A shorter chain cannot keep both the number of halvings and the updates between two.",
    "entropy loss": "The paper's is the absolute error. The best constant's error is that of the true median.",
    "joint head": "Data uncertainty on its own, as in the paper, or as a share of the total, which never makes "
    "knowledge uncertainty negative.",
    "unlabelled inputs": "D' is the training images, or they and transformed copies of them.",
    "input noise": "On the inputs of students, as in Bayesian Dark Knowledge.",
    "EnD² temperatures": "Of concentrations and of the teacher's probabilities.",
    "pixels": "Standardised per channel, or as they are.",
    "reference": "Mean standard error of the ensemble's expectations on a test input, by the means of 20 blocks of "
    "consecutive draws. Where a block is shorter than one relaxation time of a weight under its prior, 2/(ητ) steps, "
    "blocks are not independent, and the error is a lower bound (at least). With several seeds, the spread between "
    "their chains over the error that each states says how far off it is: 1 if it is right.",
}
SETTING_KEYS = ["model", "dataset", "train_size", "masking_rate", "target", "estimator", "setting"]


def as_markdown(numbers: pd.DataFrame, title: str) -> str:
    """A page with a table for each ablation."""
    pages = [
        markdown(table(rows), f"{title}: {name}", NOTES[str(name)])
        for name, rows in numbers.groupby("ablation", sort=False)
    ]
    return "\n".join([*pages, demonstration(numbers), ""])


def table(numbers: pd.DataFrame) -> pd.DataFrame:
    """One row for each setting, one column for each quantity."""
    texts = numbers.assign(text=numbers["value"].map("{:.4f}".format))
    if "value_seed_std" in numbers:
        texts["text"] += numbers["value_seed_std"].map(" ± {:.4f}".format)
    keys = [key for key in SETTING_KEYS if (numbers[key].fillna("") != "").any()]
    wide = texts.pivot(index=keys, columns="quantity", values="text")
    rows = numbers[keys].drop_duplicates()
    order = list(rows.itertuples(index=False, name=None))
    wide = wide.loc[order, list(dict.fromkeys(numbers["quantity"]))].fillna("").reset_index()
    wide["masking_rate"] = wide["masking_rate"].map("{:g}".format)
    return wide.astype(str)
