"""P1 to P6: the grid of masks."""

import pandas as pd

from workflow.reporting.findings.finding import Frames
from workflow.reporting.predicted.counted import Counted, cells_beside_published
from workflow.reporting.published import published

MASKED_CELLS = 20
"""Of the FCNN: four training sizes, five masks."""


def _masked(frames: Frames) -> pd.DataFrame | None:
    """The FCNN's cells with masks, with the published numbers beside ours; None unless they are all there."""
    table = cells_beside_published(frames, "dataset == 'MNIST' and masking_rate > 0 and model == 'FCNN'")
    return table if len(table) == MASKED_CELLS else None


def teachers_are_worse(frames: Frames) -> Counted | None:
    """P1: in how many masked cells the ensemble is worse than published, and by how much."""
    if (table := _masked(frames)) is None:
        return None
    difference = table["teacher_nll"] - table["teacher_nll_published"]
    above, within = int((difference > 0).sum()), int(difference.between(0.01, 0.06).sum())
    told = f"above in {above} of {len(table)}, by 0.01 to 0.06 in {within}; {difference.mean():+.3f} on average"
    return Counted(above >= 18, above <= 12, told)


def teachers_go_the_same_way(frames: Frames) -> Counted | None:
    """P2: how often neighbouring cells' ensembles differ in the published direction."""
    if _masked(frames) is None:
        return None
    keys = ["model", "dataset", "train_size", "masking_rate"]
    table = frames["estimators"].merge(published("estimators"), on=keys, suffixes=("", "_published"))
    same = compared = 0
    for along, across in (("train_size", "masking_rate"), ("masking_rate", "train_size")):
        for _, line in table.query("dataset == 'MNIST'").groupby(["model", across]):
            steps = line.sort_values(along)[["teacher_nll", "teacher_nll_published"]].diff().iloc[1:]
            steps = steps[steps["teacher_nll_published"].round(3) != 0]  # ties as printed say nothing
            same += int((steps["teacher_nll"] * steps["teacher_nll_published"] > 0).sum())
            compared += len(steps)
    return Counted(same >= 0.95 * compared, same <= 0.8 * compared, f"the same sign in {same} of {compared}")


def gaps_are_smaller(frames: Frames) -> Counted | None:
    """P3: in how many masked cells the gap is larger than published, and where it is largest."""
    if (table := _masked(frames)) is None:
        return None
    larger = int((table["gap"] > table["gap_published"]).sum())
    largest = table.loc[table.groupby("train_size")["gap"].idxmax(), "masking_rate"]
    moderate = int(largest.isin([0.29, 0.51]).sum())
    told = (
        f"larger than published in {larger} of {len(table)}, largest at m = 15 or 20 for {moderate} of {len(largest)} "
        "training sizes"
    )
    return Counted(larger == 0 and moderate == len(largest), larger > 4, told)


def estimators_are_alike(frames: Frames) -> Counted | None:
    """P4: by how much U_o is ahead of U_s in masked cells."""
    if (table := _masked(frames)) is None:
        return None
    ahead = (table["student_nll_us"] - table["student_nll_uo"]).mean()
    return Counted(ahead < 0.01, ahead > 0.03, f"U_o is ahead by {ahead:+.4f} on average of {len(table)} cells")


def masks_teach_entropies(frames: Frames) -> Counted | None:
    """P5: how many entropy students beat the best constant, under small masks and others."""
    if _masked(frames) is None:
        return None
    table = frames["constants"].query("dataset == 'MNIST' and model == 'FCNN'")
    better = table["entropy_mae_uo"] < table["constant_mae"]
    few, many = table["masking_rate"] == 0.03, table["masking_rate"] > 0.03
    told = f"better than the constant in {better[many].sum()} of {many.sum()}, with m = 5 in {better[few].sum()} of 4"
    return Counted(better[many].sum() >= 15 and better[few].sum() <= 2, bool(better[many].sum() <= 8), told)


def only_the_cnn_is_uniform(frames: Frames) -> Counted | None:
    """P6: whose ensemble is uniform under the largest mask."""
    table = frames["estimators"].query("dataset == 'MNIST' and masking_rate == 0.8")
    nll = {model: part["teacher_nll"] for model, part in table.groupby("model")}
    if nll.keys() < {"CNN", "FCNN"}:
        return None
    came = nll["FCNN"].max() < 2.2 and nll["CNN"].min() > 2.25
    refuted = nll["FCNN"].mean() >= 2.2 or nll["CNN"].mean() <= 2.25
    told = ", ".join(f"{model} {values.min():.3f} to {values.max():.3f}" for model, values in nll.items())
    return Counted(bool(came), bool(refuted), told)
