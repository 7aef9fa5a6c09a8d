"""H4 and H5: the published length."""

from workflow.reporting.claims import as_printed
from workflow.reporting.findings.finding import Frames
from workflow.reporting.predicted.counted import Counted
from workflow.reporting.published import published


def length_decides(frames: Frames) -> Counted | None:
    """H4: in how many settings on MNIST GPED detects better."""
    rows = as_printed(frames["ood_auroc"]).query("dataset == 'MNIST'")
    rows = rows[rows["ood_dataset"].isin(published("ood_auroc")["ood_dataset"])]
    if len(rows) < 32:
        return None
    ahead = int((rows["gped"] > rows["end2"]).sum())
    return Counted(ahead >= 16, ahead <= 8, f"GPED is ahead in {ahead} of {len(rows)} settings")


def entropies_need_length(frames: Frames) -> Counted | None:
    """H5: entropy errors beside the best constant's, and correlations with the truth."""
    table = frames["exp1"].query("dataset == 'MNIST'")
    if len(table) < 2 or "beside_correlation" not in table:
        return None
    share = table["entropy_mae"] / table["beside_constant_mae"]
    came = (share <= 0.9).all() and (table["beside_correlation"] > 0.3).all()
    told = ", ".join(
        f"{row.model}: MAE {row.entropy_mae:.4f} (constant {row.beside_constant_mae:.4f}), correlation "
        f"{row.beside_correlation:.2f}"
        for row in table.itertuples()
    )
    return Counted(bool(came), bool((share >= 1).any()), told)
