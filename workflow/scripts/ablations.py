"""Render what the paper left open: each setting with what was measured under it."""

from pathlib import Path

import pandas as pd

from workflow.scripts import jobs
from workflow.scripts.render import demonstration, markdown, page

NOTE = (
    "schedule: the paper halves the student's learning rate per pass over D, so that a student of a smaller D gets a "
    "smaller budget; here every training size gets the budget of the largest. dropout, input noise, EnD² temperatures, "
    "pixels: other readings of the text or of the authors' code. reference: mean standard error of the ensemble's "
    "expectations on a test input, by the means of 20 blocks of consecutive draws."
)


def table(numbers: pd.DataFrame) -> pd.DataFrame:
    """One row for each setting, one column for each quantity."""
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
    return wide.astype(str)


def main() -> None:
    """Write the two files in --output."""
    job = jobs.arguments(__doc__, "numbers", "output+")
    numbers = pd.read_csv(job.numbers)
    note = f"{demonstration(numbers)} {NOTE}".strip()
    for path, form in zip(map(Path, job.output), (markdown, page), strict=True):
        jobs.save_text(path, form(table(numbers), "What the paper left open", note))


if __name__ == "__main__":
    jobs.run(main)
