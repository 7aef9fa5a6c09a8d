"""Claims about experiments 1 and 2: base students, training sizes and masks, both estimators."""

from math import log

import numpy as np
import pandas as pd

from workflow.reporting.findings.finding import (
    CELL,
    Find,
    Finding,
    Frames,
    LackingError,
    chains_of,
    leads,
    listed,
    table_of,
)

BDK = {"teacher_nll": 0.0419, "student_nll": 0.0502}
"""Balan, Rathod, Murphy, Welling: Bayesian Dark Knowledge, 2015: SGLD and what was distilled of it, on MNIST."""


def replicates_bdk(frames: Frames) -> Finding:
    """Within half of what lies between the two numbers that are replicated, so that they could be told apart."""
    table = table_of(frames, "exp1", "MNIST")
    table = table[table["model"] == "FCNN"]
    if table.empty:
        raise LackingError("the FCNN in the table exp1", "exp1")
    near = (BDK["student_nll"] - BDK["teacher_nll"]) / 2
    row = table.iloc[0]
    cases = [
        (f"{name} {row[column]:.3f} (theirs {theirs:.3f})", bool(abs(row[column] - theirs) <= near))
        for (column, theirs), name in zip(BDK.items(), ("teacher", "student"), strict=True)
    ]
    return listed(cases, chains_of(table))


def entropy_error_is_low(frames: Frames) -> Finding:
    """At least a tenth less than the best constant's, on the largest training set without masks."""
    table = table_of(frames, "constants", "MNIST")
    table = table[table["masking_rate"] == 0]
    table = table[table["train_size"] == table.groupby("model")["train_size"].transform("max")]
    if table.empty:
        raise LackingError("cells without masks in the table constants", "constants")
    cases = [
        (
            f"{row.model} {row.entropy_mae_uo:.3f} beside {row.constant_mae:.3f}",
            row.entropy_mae_uo <= 0.9 * row.constant_mae,
        )
        for row in table.itertuples()
    ]
    return listed(cases, chains_of(table), "MAE beside the best constant's: ")


def fails_on_cifar10(frames: Frames) -> Finding:
    """Its gap and its entropy error exceed those of each model on MNIST."""
    hard, easy = (table_of(frames, "exp1", dataset) for dataset in ("CIFAR10", "MNIST"))
    measures = {"NLL gap": lambda t: t["student_nll"] - t["teacher_nll"], "entropy MAE": lambda t: t["entropy_mae"]}
    values = {name: (measure(hard).iloc[0], measure(easy)) for name, measure in measures.items()}
    told = [f"{name} {one:.3f} against {other.max():.3f} at most" for name, (one, other) in values.items()]
    lead = np.concatenate([one - other for one, other in values.values()])
    return leads(lead, len(hard) + len(easy), f"on CIFAR-10 and on MNIST: {', '.join(told)}")


def _lines(table: pd.DataFrame, along: str, least: int = 2) -> list[pd.DataFrame]:
    """Parts of a grid that differ in one key only, in the order of that key, if they have at least so many rows."""
    by = [key for key in CELL if key != along]
    lines = [part.sort_values(along) for _, part in table.groupby(by, sort=False) if len(part) >= least]
    if not lines:
        names = {"train_size": "training sizes", "masking_rate": "masking rates"}
        raise LackingError(f"at least {least} {names[along]} in the table estimators", "estimators")
    return lines


def _with_gap(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(gap=table["student_nll_us"] - table["teacher_nll"])


def along(key: str, column: str, sign: int, name: str, dataset: str | None = None) -> Find:
    """Something falls (sign −1) or rises (+1) from each training size or masking rate to the next."""

    def find(frames: Frames) -> Finding:
        lines = _lines(_with_gap(table_of(frames, "estimators", dataset)), key)
        steps = np.concatenate([sign * np.diff(line[column]) for line in lines])
        first, last = (np.mean([line[column].iloc[end] for line in lines]) for end in (0, -1))
        what = {"train_size": "size", "masking_rate": "mask"}[key]
        evidence = f"mean {name} from {first:.3f} at the smallest to {last:.3f} at the largest {what}"
        return leads(steps, chains_of(pd.concat(lines)), evidence)

    return find


def masks_matter_more(frames: Frames) -> Finding:
    """At each training size the teacher's NLL varies more with masks than it does with sizes at any mask."""
    table = table_of(frames, "estimators", "MNIST")
    masks, sizes = _lines(table, "masking_rate"), _lines(table, "train_size")

    def ranges(lines: list[pd.DataFrame], model: str) -> list[float]:
        return [np.ptp(line["teacher_nll"]) for line in lines if line["model"].iloc[0] == model]

    models = [model for model in table["model"].unique() if ranges(masks, model) and ranges(sizes, model)]
    lead = [one - max(ranges(sizes, model)) for model in models for one in ranges(masks, model)]
    if not lead:
        raise LackingError("several training sizes and masking rates of one model", "estimators")
    told = [f"{model} {min(ranges(masks, model)):.3f} against {max(ranges(sizes, model)):.3f}" for model in models]
    evidence = f"least range over masks against the largest over sizes: {', '.join(told)}"
    return leads(np.array(lead), chains_of(table), evidence)


def peaks(column: str, name: str) -> Find:
    """Something is largest neither without a mask nor under the largest."""

    def find(frames: Frames) -> Finding:
        lines = _lines(_with_gap(table_of(frames, "estimators", "MNIST")), "masking_rate", least=3)
        lead = [line[column].iloc[1:-1].max() - line[column].iloc[[0, -1]].max() for line in lines]
        rates = sorted({line["masking_rate"].iloc[int(line[column].to_numpy().argmax())] for line in lines})
        evidence = f"{name} is largest at masking rates {', '.join(f'{rate:g}' for rate in rates)}"
        return leads(np.array(lead), chains_of(pd.concat(lines)), evidence)

    return find


def uniform_under_the_largest_mask(frames: Frames) -> Finding:
    """The teacher's NLL is that of ten equal probabilities, to a hundredth of it."""
    table = table_of(frames, "estimators", "MNIST")
    table = table[table["masking_rate"] >= 0.8]
    if table.empty:
        raise LackingError("a masking rate of 0.8 in the table estimators", "estimators")
    means = table.groupby("model", sort=False)["teacher_nll"].mean()
    told = ", ".join(f"{model} {nll:.3f}" for model, nll in means.items())
    near = (table["teacher_nll"] - log(10)).abs() <= 0.01 * log(10)
    return Finding(int(near.sum()), len(table), chains_of(table), f"ln 10 is {log(10):.3f}, mean teacher NLL {told}")


def networks_are_alike(frames: Frames) -> Finding:
    """Over sizes and masks, the FCNN and the CNN on MNIST order the cells alike: a rank correlation of at least 0.8."""
    table = _with_gap(table_of(frames, "estimators", "MNIST"))
    cells = table.pivot(index=["train_size", "masking_rate"], columns="model").dropna()
    if len(cells) < 5 or not {"FCNN", "CNN"} <= set(table["model"]):
        raise LackingError("five cells that both MNIST networks have in the table estimators", "estimators")
    columns = {"teacher_nll": "teacher NLL", "gap": "NLL gap", "entropy_mae_uo": "entropy MAE"}
    ranks = {name: cells[column].corr(method="spearman").loc["FCNN", "CNN"] for column, name in columns.items()}
    return listed(
        [(f"{name} {rank:.2f}", bool(rank >= 0.8)) for name, rank in ranks.items()],
        2 * len(cells),
        "rank correlation: ",
    )


def online_beats_stochastic(column: str, name: str) -> Find:
    """U_o has less error than U_s.

    Where the truth is next to nothing, entropy students of either estimator can end up saying zero, and which of two
    such errors is smaller means nothing. Such cells are left out where the run tells the best constant's error: those
    whose two errors *together* are no less than twice that. The filter looks at the sum of the two errors and the
    claim at their difference, so that it cannot favour either estimator: exchange them, and the same cells are left.
    """

    def find(frames: Frames) -> Finding:
        table, left_out = table_of(frames, "estimators"), ""
        uo, us = f"{column}_uo", f"{column}_us"
        if column == "entropy_mae" and "constants" in frames:
            told = frames["constants"]
            learnt = told[uo] + told[us] < 2 * told["constant_mae"]
            table = table.merge(told.loc[learnt, CELL], on=CELL)
            left_out = f"; without {(~learnt).sum()} cells whose students are together no better than a constant"
            if table.empty:
                raise LackingError("entropy students that are better than a constant", "estimators")
        evidence = f"mean {name} {table[uo].mean():.3f} with U_o, {table[us].mean():.3f} with U_s{left_out}"
        return leads(table[us] - table[uo], chains_of(table), evidence)

    return find
