"""What docs/predictions.md predicts, beside what came of it: counted by code that was written before the runs."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from workflow.experiments.paper import PAPER_STEPS
from workflow.reporting.findings.finding import Frames
from workflow.reporting.predicted import length, masks, schedules, sizes, tradeoffs
from workflow.reporting.predicted.counted import Counted

SEEDS = 3
"""That a prediction about the schedule or the released code is about."""


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


HYPOTHESES = (
    Hypothesis(
        "H1",
        "CNN students had their rate halved every 100 epochs",
        "ablations",
        schedules.halved_every_100_epochs,
        SEEDS,
    ),
    Hypothesis("H2", "dropout was left on for FCNN students of U_s", "ablations", schedules.dropout_left_on, SEEDS),
    Hypothesis(
        "H3", "the schedule decides whether the gap shrinks with data", "ablations", schedules.schedule_decides, SEEDS
    ),
    Hypothesis(
        "H4",
        "how long students train decides GPED against EnD²",
        "ood_auroc",
        length.length_decides,
        least_steps=PAPER_STEPS,
    ),
    Hypothesis(
        "H5", "entropy errors need the published length", "exp1", length.entropies_need_length, least_steps=PAPER_STEPS
    ),
    Hypothesis("P1", "masked ensembles of the FCNN are worse than published", "estimators", masks.teachers_are_worse),
    Hypothesis("P2", "ensembles follow data and masks as published", "estimators", masks.teachers_go_the_same_way),
    Hypothesis("P3", "the FCNN's gaps are smaller than published", "estimators", masks.gaps_are_smaller),
    Hypothesis("P4", "U_o and U_s are the same for the FCNN", "estimators", masks.estimators_are_alike),
    Hypothesis(
        "P5", "entropies are learnt under masks, not under small ones", "constants", masks.masks_teach_entropies
    ),
    Hypothesis("P6", "under the largest mask only the CNN is uniform", "estimators", masks.only_the_cnn_is_uniform),
    Hypothesis("P7", "larger FCNN students of the search are better", "tradeoff", tradeoffs.larger_are_better),
    Hypothesis("P8", "pruned FCNN students are not ahead at equal cost", "tradeoff", tradeoffs.pruning_is_not_ahead),
    Hypothesis("P9", "the FCNN's students improve strongly in entropies only", "tradeoff", tradeoffs.nll_is_bounded),
    Hypothesis("P10", "half of the FCNN's multiply-adds cost little", "tradeoff", tradeoffs.half_the_cost),
    Hypothesis("P11", "CIFAR-10's gaps are larger than published", "estimators", sizes.gaps_of_cifar10_are_larger),
    Hypothesis(
        "P12", "CIFAR-10's entropy errors do not rise with data", "estimators", sizes.entropy_errors_do_not_rise
    ),
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
