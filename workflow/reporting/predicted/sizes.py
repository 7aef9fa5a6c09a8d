"""P11 and P12: CIFAR-10's smaller training sizes."""

import pandas as pd

from workflow.reporting.findings.finding import Frames
from workflow.reporting.predicted.counted import Counted, cells_beside_published


def _two_sizes_of_cifar10(frames: Frames) -> pd.DataFrame | None:
    """CIFAR-10 with 10,000 and 20,000 images, in this order, with the published gaps beside ours; None without both."""
    table = cells_beside_published(frames, "dataset == 'CIFAR10' and train_size < 50000").sort_values("train_size")
    return table if len(table) == 2 else None


def gaps_of_cifar10_are_larger(frames: Frames) -> Counted | None:
    """P11: the gaps beside the published ones."""
    if (table := _two_sizes_of_cifar10(frames)) is None:
        return None
    larger, (smallest, next_size) = table["gap"] > table["gap_published"], table["gap"]
    told = ", ".join(f"{row.train_size:,} images {row.gap:.3f} ({row.gap_published:.3f})" for row in table.itertuples())
    return Counted(bool(larger.all() and smallest > next_size), not larger.all(), f"gap (published): {told}")


def entropy_errors_do_not_rise(frames: Frames) -> Counted | None:
    """P12: by how much the entropy error rises with data."""
    if (table := _two_sizes_of_cifar10(frames)) is None:
        return None
    smallest, next_size = table["entropy_mae_uo"]
    rise = next_size - smallest
    return Counted(bool(rise <= 0), bool(rise > 0.02), f"MAE {smallest:.3f} → {next_size:.3f}")
