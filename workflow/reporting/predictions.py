"""What docs/predictions.md predicts, as code that was written before the runs that decide it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from workflow.experiments.paper import PAPER_STEPS
from workflow.reporting.claims import as_printed
from workflow.reporting.findings.architectures import (
    half_the_multiply_adds,
    larger_searched_students,
    pruning_beats_search,
)
from workflow.reporting.findings.finding import Frames
from workflow.reporting.published import published

CELLS = 8
"""Four training sizes, without masks and with those of experiment 4."""
MASKED_CELLS = 20
"""Of the FCNN: four training sizes, five masks."""
SEEDS = 3
"""That a prediction about the schedule or the released code is about."""
STRONG = 0.82
"""The share of the base's error that is left by a strong improvement, as the claim about it has it."""
CLOSE = 0.005
"""By so much a gap may fall and still count as staying what it is."""


class Counted(NamedTuple):
    """What a run says of a hypothesis."""

    came: bool
    refuted: bool
    told: str

    @property
    def outcome(self) -> str:
        """In a word or two."""
        return "as predicted" if self.came else "refuted" if self.refuted else "neither"


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis about the published numbers.

    Args:
        name: As the document has it.
        says: In a few words.
        table: That a run must have to tell anything of it.
        count: Counts what a run's tables say; None if they do not tell.
        least_seeds: Of a run that decides it.
        least_steps: The same.
    """

    name: str
    says: str
    table: str
    count: Callable[[Frames], Counted | None]
    least_seeds: int = 1
    least_steps: int = 0


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


def _halved_every_100_epochs(frames: Frames) -> Counted | None:
    table = _beside_published(frames, "release").query("model == 'CNN' and estimator == 'us'")
    often = "halving every 100 epochs"
    if len(table) < CELLS or often not in table:
        return None
    nearer = _nearer(table, often, "as configured")
    within = int(((table[often] - table["published"]).abs() <= table["published"].abs() / 3).sum())
    told = f"100 is nearer in {nearer} of {len(table)} cells, and within a third in {within}"
    return Counted(nearer >= 7 and within >= 6, nearer <= 4, told)


def _dropout_left_on(frames: Frames) -> Counted | None:
    table = _beside_published(frames, "release").query("model == 'FCNN'")
    off, on = "dropout after the first hidden layer only", "the same, left on at prediction"
    if len(table) < 2 * CELLS or on not in table:
        return None
    stochastic = _nearer(table.query("estimator == 'us'"), on, off)
    online = _nearer(table.query("estimator == 'uo'"), off, on)
    told = f"nearer in {stochastic} of {CELLS} cells left on (U_s), in {online} off (U_o)"
    return Counted(min(stochastic, online) >= 7, min(stochastic, online) <= 4, told)


PER_PASS, LARGEST, SMALLEST = (
    "halving per pass over D",
    "halving as at the largest N",
    "halving as at the smallest N",
)


def _falls(frames: Frames, quantity: str) -> Iterator[tuple[float, float, float]]:
    """For each network and mask: by how much it falls from the smallest to the largest training set, by schedule."""
    table = _beside_published(frames, "schedule", quantity).query("estimator == 'us'")
    for _, part in table.groupby(["model", "masking_rate"]):
        ends = part.sort_values("train_size")[[PER_PASS, LARGEST, SMALLEST]].iloc[[0, -1]]
        per_pass, largest, smallest = (ends.iloc[0] - ends.iloc[1]).tolist()
        yield per_pass, largest, smallest


def _schedule_decides(frames: Frames) -> Counted | None:
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


def _length_decides(frames: Frames) -> Counted | None:
    rows = as_printed(frames["ood_auroc"]).query("dataset == 'MNIST'")
    rows = rows[rows["ood_dataset"].isin(published("ood_auroc")["ood_dataset"])]
    if len(rows) < 32:
        return None
    ahead = int((rows["gped"] > rows["end2"]).sum())
    return Counted(ahead >= 16, ahead <= 8, f"GPED is ahead in {ahead} of {len(rows)} settings")


def _entropies_need_length(frames: Frames) -> Counted | None:
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


def _cells_beside_published(frames: Frames, which: str) -> pd.DataFrame:
    """Some cells of experiment 2 with the published numbers beside ours, and the gaps of U_s."""
    keys = ["model", "dataset", "train_size", "masking_rate"]
    table = frames["estimators"].query(which).merge(published("estimators"), on=keys, suffixes=("", "_published"))
    for end in ("", "_published"):
        table[f"gap{end}"] = table[f"student_nll_us{end}"] - table[f"teacher_nll{end}"]
    return table


def _masked(frames: Frames) -> pd.DataFrame | None:
    """The FCNN's cells with masks, with the published numbers beside ours; None unless they are all there."""
    table = _cells_beside_published(frames, "dataset == 'MNIST' and masking_rate > 0 and model == 'FCNN'")
    return table if len(table) == MASKED_CELLS else None


def _teachers_are_worse(frames: Frames) -> Counted | None:
    if (table := _masked(frames)) is None:
        return None
    difference = table["teacher_nll"] - table["teacher_nll_published"]
    above, within = int((difference > 0).sum()), int(difference.between(0.01, 0.06).sum())
    told = f"above in {above} of {len(table)}, by 0.01 to 0.06 in {within}; {difference.mean():+.3f} on average"
    return Counted(above >= 18, above <= 12, told)


def _teachers_go_the_same_way(frames: Frames) -> Counted | None:
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


def _gaps_are_smaller(frames: Frames) -> Counted | None:
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


def _estimators_are_alike(frames: Frames) -> Counted | None:
    if (table := _masked(frames)) is None:
        return None
    ahead = (table["student_nll_us"] - table["student_nll_uo"]).mean()
    return Counted(ahead < 0.01, ahead > 0.03, f"U_o is ahead by {ahead:+.4f} on average of {len(table)} cells")


def _masks_teach_entropies(frames: Frames) -> Counted | None:
    if _masked(frames) is None:
        return None
    table = frames["constants"].query("dataset == 'MNIST' and model == 'FCNN'")
    better = table["entropy_mae_uo"] < table["constant_mae"]
    few, many = table["masking_rate"] == 0.03, table["masking_rate"] > 0.03
    told = f"better than the constant in {better[many].sum()} of {many.sum()}, with m = 5 in {better[few].sum()} of 4"
    return Counted(better[many].sum() >= 15 and better[few].sum() <= 2, bool(better[many].sum() <= 8), told)


def _only_the_cnn_is_uniform(frames: Frames) -> Counted | None:
    table = frames["estimators"].query("dataset == 'MNIST' and masking_rate == 0.8")
    nll = {model: part["teacher_nll"] for model, part in table.groupby("model")}
    if nll.keys() < {"CNN", "FCNN"}:
        return None
    came = nll["FCNN"].max() < 2.2 and nll["CNN"].min() > 2.25
    refuted = nll["FCNN"].mean() >= 2.2 or nll["CNN"].mean() <= 2.25
    told = ", ".join(f"{model} {values.min():.3f} to {values.max():.3f}" for model, values in nll.items())
    return Counted(bool(came), bool(refuted), told)


def _of_the_fcnn(frames: Frames, target: str | None = None) -> Frames | None:
    """The FCNN's students of experiment 3, of one target or both; None unless both methods made each."""
    table = frames["tradeoff"].query("model == 'FCNN' and dataset == 'MNIST'")
    if table.groupby(["target", "method"]).ngroups < 4:
        return None
    return {"tradeoff": table if target is None else table[table["target"] == target]}


def _larger_are_better(frames: Frames) -> Counted | None:
    if (ours := _of_the_fcnn(frames)) is None:
        return None
    found = larger_searched_students(ours)
    return Counted(found.true == found.cases, found.true == 0, f"{found}: {found.evidence}")


def _pruning_is_not_ahead(frames: Frames) -> Counted | None:
    if (ours := _of_the_fcnn(frames)) is None:
        return None
    found = pruning_beats_search(ours)
    told = f"{found} students on the search's frontier are beaten"
    return Counted(found.true < found.cases / 2, found.true >= 0.9 * found.cases, told)


def _nll_is_bounded(frames: Frames) -> Counted | None:
    if (ours := _of_the_fcnn(frames)) is None:
        return None
    shares = {}
    for target, error in (("predictive", "nll"), ("entropy", "entropy_mae")):
        table = ours["tradeoff"].query("target == @target")
        base = table.query("method == 'search' and k1 == 1 and k2 == 1")[error].iloc[0]
        shares[target] = table[error].min() / base
    told = ", ".join(f"{target} {share:.2f}" for target, share in shares.items())
    bounded, learnt = shares["predictive"] > STRONG, shares["entropy"] <= STRONG
    return Counted(bool(bounded and learnt), not bounded, f"best over base: {told}")


def _half_the_cost(frames: Frames) -> Counted | None:
    if (ours := _of_the_fcnn(frames, "predictive")) is None:
        return None
    found = half_the_multiply_adds(ours)
    return Counted(found.true == 1, found.true == 0, found.evidence)


def _two_sizes_of_cifar10(frames: Frames) -> pd.DataFrame | None:
    """CIFAR-10 with 10,000 and 20,000 images, in this order, with the published gaps beside ours; None without both."""
    table = _cells_beside_published(frames, "dataset == 'CIFAR10' and train_size < 50000").sort_values("train_size")
    return table if len(table) == 2 else None


def _gaps_of_cifar10_are_larger(frames: Frames) -> Counted | None:
    if (table := _two_sizes_of_cifar10(frames)) is None:
        return None
    larger, (smallest, next_size) = table["gap"] > table["gap_published"], table["gap"]
    told = ", ".join(f"{row.train_size:,} images {row.gap:.3f} ({row.gap_published:.3f})" for row in table.itertuples())
    return Counted(bool(larger.all() and smallest > next_size), not larger.all(), f"gap (published): {told}")


def _entropy_errors_do_not_rise(frames: Frames) -> Counted | None:
    if (table := _two_sizes_of_cifar10(frames)) is None:
        return None
    smallest, next_size = table["entropy_mae_uo"]
    rise = next_size - smallest
    return Counted(bool(rise <= 0), bool(rise > 0.02), f"MAE {smallest:.3f} → {next_size:.3f}")


HYPOTHESES = (
    Hypothesis(
        "H1", "CNN students had their rate halved every 100 epochs", "ablations", _halved_every_100_epochs, SEEDS
    ),
    Hypothesis("H2", "dropout was left on for FCNN students of U_s", "ablations", _dropout_left_on, SEEDS),
    Hypothesis("H3", "the schedule decides whether the gap shrinks with data", "ablations", _schedule_decides, SEEDS),
    Hypothesis(
        "H4",
        "how long students train decides GPED against EnD²",
        "ood_auroc",
        _length_decides,
        least_steps=PAPER_STEPS,
    ),
    Hypothesis(
        "H5", "entropy errors need the published length", "exp1", _entropies_need_length, least_steps=PAPER_STEPS
    ),
    Hypothesis("P1", "masked ensembles of the FCNN are worse than published", "estimators", _teachers_are_worse),
    Hypothesis("P2", "ensembles follow data and masks as published", "estimators", _teachers_go_the_same_way),
    Hypothesis("P3", "the FCNN's gaps are smaller than published", "estimators", _gaps_are_smaller),
    Hypothesis("P4", "U_o and U_s are the same for the FCNN", "estimators", _estimators_are_alike),
    Hypothesis("P5", "entropies are learnt under masks, not under small ones", "constants", _masks_teach_entropies),
    Hypothesis("P6", "under the largest mask only the CNN is uniform", "estimators", _only_the_cnn_is_uniform),
    Hypothesis("P7", "larger FCNN students of the search are better", "tradeoff", _larger_are_better),
    Hypothesis("P8", "pruned FCNN students are not ahead at equal cost", "tradeoff", _pruning_is_not_ahead),
    Hypothesis("P9", "the FCNN's students improve strongly in entropies only", "tradeoff", _nll_is_bounded),
    Hypothesis("P10", "half of the FCNN's multiply-adds cost little", "tradeoff", _half_the_cost),
    Hypothesis("P11", "CIFAR-10's gaps are larger than published", "estimators", _gaps_of_cifar10_are_larger),
    Hypothesis("P12", "CIFAR-10's entropy errors do not rise with data", "estimators", _entropy_errors_do_not_rise),
)


def outcomes(runs: dict[str, tuple[Frames, int, int]]) -> pd.DataFrame:
    """What became of every prediction.

    Args:
        runs: By name, the tables of each run, how many seeds it has and the steps of its shortest chain.
    """
    rows = []
    for one in HYPOTHESES:
        row = {"hypothesis": f"{one.name}: {one.says}"}
        found = {
            name: counted
            for name, (frames, seeds, steps) in runs.items()
            if one.table in frames and seeds >= one.least_seeds and steps >= one.least_steps
            if (counted := one.count(frames))
        }
        rows += [row | {"run": name, "outcome": what.outcome, "counted": what.told} for name, what in found.items()]
        if not found:
            rows.append(row | {"run": "", "outcome": "not run", "counted": ""})
    return pd.DataFrame(rows)
