"""The paper's claims as code: each is evaluated in the same way on the published numbers and on this run's."""

from dataclasses import dataclass

import pandas as pd

from workflow.experiments.paper import PAPER_SETS
from workflow.reporting.findings.architectures import (
    best_is_pruned,
    half_the_multiply_adds,
    larger_searched_students,
    pruning_beats_search,
    searches_improve_strongly,
)
from workflow.reporting.findings.downstream import gped_against_end2, gped_is_more_accurate, larger_students
from workflow.reporting.findings.finding import Find, Finding, Frames, LackingError
from workflow.reporting.findings.robustness import (
    along,
    entropy_error_is_low,
    fails_on_cifar10,
    masks_matter_more,
    networks_are_alike,
    online_beats_stochastic,
    peaks,
    replicates_bdk,
    uniform_under_the_largest_mask,
)
from workflow.reporting.frames import KEY_COLUMNS
from workflow.reporting.published import PUBLISHED_TABLES

DIGITS = 3
"""To which the paper prints its numbers. Ours are rounded alike, so that a tie is a tie in both."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how to see whether it is so.

    Args:
        sentence: What is claimed.
        find: In how many cases it is true.
        share: Of cases in which it must be true to hold. In more than half of them, it holds partly.
    """

    sentence: str
    find: Find
    share: float = 0.9

    def verdict(self, finding: Finding) -> str:
        """Whether it holds."""
        if finding.true >= self.share * finding.cases - 1e-9:
            return "holds"
        return "holds partly" if finding.true > finding.cases / 2 else "does not hold"


CLAIMS = [
    # Experiment 1
    Claim("The FCNN's NLLs on MNIST closely replicate those of Bayesian Dark Knowledge", replicates_bdk, 1.0),
    Claim("The entropy error of base students is low on MNIST", entropy_error_is_low, 1.0),
    Claim("On CIFAR-10 the base student does not match the teacher, as it does on MNIST", fails_on_cifar10, 1.0),
    # Experiment 2
    Claim("The teacher's NLL falls with more training data", along("train_size", "teacher_nll", -1, "teacher NLL")),
    Claim("The teacher's NLL rises with masking", along("masking_rate", "teacher_nll", +1, "teacher NLL", "MNIST")),
    Claim("Masking changes the teacher's NLL much more than the training size does", masks_matter_more),
    Claim("The student's NLL gap falls with more training data", along("train_size", "gap", -1, "NLL gap")),
    Claim("The NLL gap is largest at moderate masking", peaks("gap", "the gap")),
    Claim("Under the largest mask the teacher is essentially uniform", uniform_under_the_largest_mask),
    Claim("The entropy MAE is largest at moderate masking", peaks("entropy_mae_uo", "the MAE")),
    Claim(
        "On CIFAR-10 the entropy MAE rises with more training data",
        along("train_size", "entropy_mae_uo", +1, "entropy MAE", "CIFAR10"),
        1.0,
    ),
    Claim("On MNIST the FCNN's results are similar to the CNN's", networks_are_alike, 1.0),
    Claim("U_o is almost always better than U_s in NLL", online_beats_stochastic("student_nll", "NLL")),
    Claim("U_o is almost always better than U_s in entropy MAE", online_beats_stochastic("entropy_mae", "MAE")),
    # Experiment 3
    Claim("Search and pruning improve strongly on the base student", searches_improve_strongly),
    Claim("Larger students of the search are better", larger_searched_students, 1.0),
    Claim("Pruning beats exhaustive search at equal cost", pruning_beats_search),
    Claim(
        "Pruning takes less than half of the base's multiply-adds on MNIST with a small loss", half_the_multiply_adds
    ),
    Claim("The best student comes from pruning", best_is_pruned),
    # Experiment 4
    Claim("Larger students close the gap to the ensemble", larger_students, 1.0),
    Claim(
        "GPED beats EnD² on every in-distribution metric: NLL and entropy MAE",
        gped_against_end2("test_metrics", [("nll_gped", "nll_end2"), ("entropy_mae_gped", "entropy_mae_end2")], -1),
        1.0,
    ),
    Claim("GPED beats EnD² on every in-distribution metric: accuracy", gped_is_more_accurate, 1.0),
    Claim(
        "GPED tracks the expected entropy better than EnD² (largest students, U_s)",
        gped_against_end2(
            "test_metrics",
            [("entropy_mae_gped", "entropy_mae_end2")],
            -1,
            only={"estimator": "us", "student": "large"},
        ),
        1.0,
    ),
    Claim(
        "GPED beats EnD² in 75 % of out-of-distribution settings",
        gped_against_end2("ood_auroc", [("gped", "end2")], +1),
        0.75,
    ),
    Claim(
        "GPED beats EnD² in 91 % of ranking settings",
        gped_against_end2("ndcg", [("gped_mean", "end2_mean")], +1),
        0.91,
    ),
]


def judge(published: Frames, ours: Frames, seeds: int, stand_ins: dict[str, str] | None = None) -> pd.DataFrame:
    """Every claim, on the published numbers and on ours. Only ours decide the verdict.

    Args:
        published: The paper's tables, and as "text" what only its text says.
        ours: The run's tables.
        seeds: How many seeds ours are the mean of.
        stand_ins: Sets that are not the paper's, and those in whose place they are. A run on any of them is a
            demonstration: everything is counted, and nothing judged.
    """
    sets = {name for frame in ours.values() for name in frame["dataset"]}
    is_demonstration = not sets <= PAPER_SETS
    ours = {name: frame.assign(dataset=frame["dataset"].replace(stand_ins or {})) for name, frame in ours.items()}
    if "ood_auroc" in ours and not is_demonstration:  # other sets than the paper's are not what it speaks of
        table, known = ours["ood_auroc"], published["ood_auroc"]["ood_dataset"]
        ours = ours | {"ood_auroc": table[table["ood_dataset"].isin(known)]}
    ours = {name: as_printed(frame) if name in PUBLISHED_TABLES else frame for name, frame in ours.items()}
    rows = []
    for claim in CLAIMS:
        row = {"claim": claim.sentence, "published": _of_the_paper(claim, published)}
        try:
            found = claim.find(ours)
        except LackingError as error:
            rows.append(row | {"reproduced": "", "evidence": str(error), "verdict": "not measured"})
            continue
        verdict = "not judged" if is_demonstration else claim.verdict(found)
        reproduced = f"{found} ({chains(found.chains * seeds)}, {seeds} seed{'s' * (seeds > 1)})"
        rows.append(row | {"reproduced": reproduced, "evidence": found.evidence, "verdict": verdict})
    return pd.DataFrame(rows)


def as_printed(frame: pd.DataFrame) -> pd.DataFrame:
    """The numbers with as many digits as the paper prints."""
    return frame.assign(**{name: frame[name].round(DIGITS) for name in frame if name not in KEY_COLUMNS})


def _of_the_paper(claim: Claim, published: Frames) -> str:
    try:
        found = claim.find(published)
    except LackingError as error:
        return "the paper does not say" if error.table == "constants" else "only in figures"
    return f"{claim.verdict(found)}: {found} ({chains(found.chains)}), {found.evidence}"


def chains(count: int) -> str:
    """A number of chains in words."""
    return f"{count} chain{'s' * (count > 1)}"


def read(claims: pd.DataFrame) -> pd.DataFrame:
    """The claims as they are read: the verdict beside the claim."""
    return claims[["claim", "verdict", "reproduced", "evidence", "published"]]


def note(stand_ins: dict[str, str]) -> str:
    """What is to be said of the claims."""
    places = ", ".join(f"{name} (in {place}'s place)" for name, place in stand_ins.items())
    if not places:
        return NOTE
    names = " and ".join(stand_ins.values())
    return (
        f"{NOTE} On {places}: a demonstration, in which claims are counted and not judged; {names} are named for them."
    )


NOTE = (
    "In how many cases each claim is true, in this run's numbers and in the published ones, both rounded as the paper "
    "prints them. A tie counts for nobody. A claim holds if it is true as often as it says (nine in ten, if it says no "
    "number), and partly if in more than half of the cases. Cases are not independent: in brackets is how many chains "
    "stand behind them."
)
