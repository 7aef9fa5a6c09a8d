"""H1 to H3: the schedule of the learning rate, and the authors' released code."""

from collections.abc import Iterator

import pandas as pd

from workflow.reporting.findings.finding import Frames
from workflow.reporting.predicted.counted import Counted
from workflow.reporting.published import published

CELLS = 8
"""Four training sizes, without masks and with those of experiment 4."""
CLOSE = 0.005
"""By so much a gap may fall and still count as staying what it is."""
PER_PASS, LARGEST, SMALLEST = (
    "halving per pass over D",
    "halving as at the largest N",
    "halving as at the smallest N",
)


def _beside_published(frames: Frames, ablation: str, quantity: str = "nll_gap") -> pd.DataFrame:
    """A row for each cell and estimator of an ablation on MNIST: a column for each setting, and the published gap."""
    rows = frames["ablations"].query("ablation == @ablation and dataset == 'MNIST' and quantity == @quantity")
    keys = ["model", "train_size", "masking_rate", "estimator"]
    table = rows.pivot(index=keys, columns="setting", values="value").reset_index()
    paper = published("estimators").query("dataset == 'MNIST'")
    gaps = [
        paper[keys[:3]].assign(estimator=name, published=paper[f"student_nll_{name}"] - paper["teacher_nll"])
        for name in ("us", "uo")
    ]
    return table.merge(pd.concat(gaps), on=keys)


def _nearer(table: pd.DataFrame, one: str, other: str) -> int:
    """In how many cells one setting is nearer to the published gap than the other."""
    return int(((table[one] - table["published"]).abs() < (table[other] - table["published"]).abs()).sum())


def halved_every_100_epochs(frames: Frames) -> Counted | None:
    """H1: in how many cells halving every 100 epochs is nearer to the published gap, and within a third of it."""
    table = _beside_published(frames, "release").query("model == 'CNN' and estimator == 'us'")
    often = "halving every 100 epochs"
    if len(table) < CELLS or often not in table:
        return None
    nearer = _nearer(table, often, "as configured")
    within = int(((table[often] - table["published"]).abs() <= table["published"].abs() / 3).sum())
    told = f"100 is nearer in {nearer} of {len(table)} cells, and within a third in {within}"
    return Counted(nearer >= 7 and within >= 6, nearer <= 4, told)


def dropout_left_on(frames: Frames) -> Counted | None:
    """H2: in how many cells dropout left on is nearer for U_s, and dropout off for U_o."""
    table = _beside_published(frames, "release").query("model == 'FCNN'")
    off, on = "dropout after the first hidden layer only", "the same, left on at prediction"
    if len(table) < 2 * CELLS or on not in table:
        return None
    stochastic = _nearer(table.query("estimator == 'us'"), on, off)
    online = _nearer(table.query("estimator == 'uo'"), off, on)
    told = f"nearer in {stochastic} of {CELLS} cells left on (U_s), in {online} off (U_o)"
    return Counted(min(stochastic, online) >= 7, min(stochastic, online) <= 4, told)


def _falls(frames: Frames, quantity: str) -> Iterator[tuple[float, float, float]]:
    """For each network and mask: by how much it falls from the smallest to the largest training set, by schedule."""
    table = _beside_published(frames, "schedule", quantity).query("estimator == 'us'")
    for _, part in table.groupby(["model", "masking_rate"]):
        ends = part.sort_values("train_size")[[PER_PASS, LARGEST, SMALLEST]].iloc[[0, -1]]
        per_pass, largest, smallest = (ends.iloc[0] - ends.iloc[1]).tolist()
        yield per_pass, largest, smallest


def schedule_decides(frames: Frames) -> Counted | None:
    """H3: by how much the gap falls with data under each schedule."""
    settings = set(frames["ablations"].query("ablation == 'schedule'")["setting"])
    if not {PER_PASS, LARGEST, SMALLEST} <= settings:
        return None
    gaps, divergences = (list(_falls(frames, quantity)) for quantity in ("nll_gap", "kl_to_ensemble"))
    if len(gaps) < 4:
        return None
    as_said = [
        sum(per_pass > 0 and largest <= CLOSE and smallest < per_pass / 2 for per_pass, largest, smallest in falls)
        for falls in (gaps, divergences)
    ]
    still = sum(max(largest, smallest) > per_pass / 2 for per_pass, largest, smallest in gaps)
    told = (
        f"as said in {as_said[0]} of {len(gaps)} by NLL and in {as_said[1]} by the divergence from the ensemble; with "
        f"one schedule for all the gap still falls by more than half in {still}"
    )
    return Counted(min(as_said) == len(gaps), still >= 2, told)
