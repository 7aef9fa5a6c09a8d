"""P7 to P10: architectures of the FCNN."""

from workflow.reporting.findings.architectures import (
    half_the_multiply_adds,
    larger_searched_students,
    pruning_beats_search,
)
from workflow.reporting.findings.finding import Frames
from workflow.reporting.predicted.counted import Counted

STRONG = 0.82
"""The share of the base's error that is left by a strong improvement, as the claim about it has it."""


def _of_the_fcnn(frames: Frames, target: str | None = None) -> Frames | None:
    """The FCNN's students of experiment 3, of one target or both; None unless both methods made each."""
    table = frames["tradeoff"].query("model == 'FCNN' and dataset == 'MNIST'")
    if table.groupby(["target", "method"]).ngroups < 4:
        return None
    return {"tradeoff": table if target is None else table[table["target"] == target]}


def larger_are_better(frames: Frames) -> Counted | None:
    """P7: whether the largest student of the search is better than the base."""
    if (ours := _of_the_fcnn(frames)) is None:
        return None
    found = larger_searched_students(ours)
    return Counted(found.true == found.cases, found.true == 0, f"{found}: {found.evidence}")


def pruning_is_not_ahead(frames: Frames) -> Counted | None:
    """P8: how many students on the search's frontier a pruned one of no more cost beats."""
    if (ours := _of_the_fcnn(frames)) is None:
        return None
    found = pruning_beats_search(ours)
    told = f"{found} students on the search's frontier are beaten"
    return Counted(found.true < found.cases / 2, found.true >= 0.9 * found.cases, told)


def nll_is_bounded(frames: Frames) -> Counted | None:
    """P9: the best student's error as a share of the base's."""
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


def half_the_cost(frames: Frames) -> Counted | None:
    """P10: what a pruned student of less than half of the base's cost loses."""
    if (ours := _of_the_fcnn(frames, "predictive")) is None:
        return None
    found = half_the_multiply_adds(ours)
    return Counted(found.true == 1, found.true == 0, found.evidence)
