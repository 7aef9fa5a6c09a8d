"""Set every published result beside this run's, with the difference, a verdict, and what the verdict rests on."""

from math import hypot, isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from workflow.reporting.published import PUBLISHED_TABLES, kind, published, rounding

ROW_KEYS = ["model", "dataset", "train_size", "masking_rate", "ood_dataset", "estimator", "student", "uncertainty"]
MORE_IS_BETTER = ("ood_auroc", "ndcg")
TRIALS = 500
"""Random samples of test inputs over which a printed nDCG is the mean."""
ENOUGH_SEEDS = 3
"""From so many on, their spread decides; with fewer it says too little."""
VERDICTS = {
    "agrees": "the published number is inside the interval",
    "better": "it is outside, and ours is better",
    "worse": "it is outside, and ours is worse",
    "not measured": "this run does not make the number",
}


class Effect(NamedTuple):
    """The smallest effect that the paper draws from a table, in one of its quantities, and why it is that."""

    size: float
    reason: str


_NLL_OF_ESTIMATORS = Effect(
    0.009, "median advantage of U_o over U_s, which is almost always better (the mean is almost all the FCNN's)"
)
_MAE_OF_ESTIMATORS = Effect(0.007, "median advantage of U_o over U_s")
EFFECTS = {
    ("exp1", "NLL"): _NLL_OF_ESTIMATORS._replace(reason="its numbers are those of estimators"),
    ("exp1", "entropy MAE"): _MAE_OF_ESTIMATORS._replace(reason="its numbers are those of estimators"),
    ("estimators", "NLL"): _NLL_OF_ESTIMATORS,
    ("estimators", "entropy MAE"): _MAE_OF_ESTIMATORS,
    ("test_metrics", "NLL"): Effect(
        0.017, "mean lead of GPED over EnD², which is consistently better, with the largest students, where it is less"
    ),
    ("test_metrics", "entropy MAE"): Effect(
        0.026, "the same, on MNIST (on CIFAR-10, where entropies are large, it is 0.19)"
    ),
    ("ood_auroc", "AUROC"): Effect(0.02, "mean lead of GPED over EnD², which is better in 75 % of the settings"),
    ("ndcg", "nDCG"): Effect(
        0.018, "mean lead of GPED over EnD², which is better in 91 %, with the largest students, where it is less"
    ),
}
"""By table and kind of quantity. With few seeds a number agrees if it is off by at most half of that."""


def tidy(table: str, frame: pd.DataFrame) -> pd.DataFrame:
    """One row for each number: the table's keys, the quantity, its value and its spread."""
    keys = [key for key in ROW_KEYS if key in frame]
    quantities = [name for name in frame if name not in keys and not name.endswith("_std")]
    rows = []
    for quantity in quantities:
        part = frame[keys].copy()
        part["quantity"] = quantity.removesuffix("_mean")
        part["value"] = frame[quantity]
        spread = quantity.removesuffix("_mean") + "_std" if quantity.endswith("_mean") else f"{quantity}_seed_std"
        part["spread"] = frame.get(spread, np.nan)
        part["seed_std"] = frame.get(f"{quantity}_seed_std", np.nan)
        rows.append(part)
    return pd.concat(rows, ignore_index=True).assign(table=table)


def compare(ours: dict[str, pd.DataFrame], steps: list[Any], seeds: int) -> pd.DataFrame:
    """All published numbers beside ours.

    Args:
        ours: The run's tables, as far as it makes those that the paper has.
        steps: Model, data set and T of each chain of the run.
        seeds: How many seeds our numbers are the mean of.
    """
    rows = pd.concat([tidy(name, published(name)) for name in PUBLISHED_TABLES], ignore_index=True)
    rows["rounding"] = pd.concat([tidy(name, rounding(name)) for name in PUBLISHED_TABLES], ignore_index=True)["value"]
    keys = ["table", *ROW_KEYS, "quantity"]
    made = pd.concat([rows.iloc[:0], *(tidy(name, frame) for name, frame in ours.items())], ignore_index=True)
    made = made[[*keys, "value", "spread", "seed_std"]]
    merged = rows.merge(made, on=keys, how="left", suffixes=("", "_ours"))
    chain = pd.DataFrame(steps, columns=["model", "dataset", "steps"])
    merged = merged.merge(chain, on=["model", "dataset"], how="left")
    result = merged[keys].assign(
        published=merged["value"],
        published_spread=merged["spread"],
        reproduced=merged["value_ours"],
        reproduced_spread=merged["spread_ours"],
    )
    result["difference"] = result["reproduced"] - result["published"]
    allowed = [allowed_difference(row, seeds) for row in merged.to_dict("records")]
    result["verdict"] = [
        verdict(row.difference, most, row.table in MORE_IS_BETTER)
        for row, most in zip(result.itertuples(), allowed, strict=True)
    ]
    is_made = result["reproduced"].notna()
    by_spread = is_made & (seeds >= ENOUGH_SEEDS) & merged["seed_std_ours"].notna()
    return result.assign(
        steps=merged["steps"].where(is_made).astype("Int64"),
        seeds=pd.Series(seeds, result.index).where(is_made).astype("Int64"),
        low=result["reproduced"] - allowed,
        high=result["reproduced"] + allowed,
        rule=np.select([by_spread, is_made], ["prediction interval", "half the smallest effect"], ""),
        repeats=repeats(result),
    )


def allowed_difference(row: dict[str, Any], seeds: int) -> float:
    """By how much a number may be off and still agree."""
    if seeds < ENOUGH_SEEDS or isnan(row["seed_std_ours"]):
        return max(EFFECTS[row["table"], kind(row["table"], row["quantity"])].size / 2, row["rounding"])
    samples = hypot(row["spread"], row["spread_ours"]) / sqrt(TRIALS) if row["table"] == "ndcg" else 0.0
    return half_interval(row["seed_std_ours"], seeds, row["rounding"], samples)


def half_interval(seed_std: float, seeds: int, rounding: float, error: float = 0.0) -> float:
    """Half of the interval in which, with 95 %, one new run's printed number lies.

    Args:
        seed_std: Standard deviation over our seeds. What a chain of finite length errs by is in it.
        seeds: How many they are.
        rounding: Of the printed number.
        error: Monte Carlo standard error that is not in that spread, because all seeds have it alike: for nDCG, whose
            samples of test inputs are the same for all of ours and other ones in the paper.
    """
    of_a_new_run = stdtrit(seeds - 1, 0.975) * seed_std * sqrt(1 + 1 / seeds)  # Student's t, and below the normal
    return float(of_a_new_run + rounding + ndtri(0.975) * error)


def verdict(difference: float, allowed: float, more_is_better: bool) -> str:
    """What a difference means."""
    if isnan(difference):
        return "not measured"
    if abs(difference) <= allowed + 1e-9:
        return "agrees"
    return "better" if (difference > 0) == more_is_better else "worse"


def repeats(result: pd.DataFrame) -> pd.Series:
    """Which rows repeat a number that another row has, and that counts there.

    Where the paper prints several values for one number, the row that counts has the one that it prints most often.
    """
    largest = published("estimators").groupby(["model", "dataset"])["train_size"].max()
    number = pd.Series([_number(row, largest[row["model"], row["dataset"]]) for row in result.to_dict("records")])
    preferred = pd.DataFrame(
        {
            "made": result["reproduced"].notna(),
            "as printed most often": result.groupby([number, "published"])["published"].transform("size"),
            "in the larger table": result["table"] != "exp1",
        }
    )
    order = preferred.sort_values(list(preferred), ascending=False, kind="stable").index
    return number[order].duplicated().reindex(result.index)


def _number(row: dict[str, Any], largest: int) -> tuple[Any, ...]:
    """What tells a number from all others, whichever tables it stands in.

    Experiment 1 is the largest training size without masks of experiment 2, and the ensemble of experiment 4 is the
    same for both estimators and student sizes.
    """
    if row["table"] == "exp1":
        named = {"student_nll": "student_nll_us", "entropy_mae": "entropy_mae_uo"}
        full = {"table": "estimators", "train_size": float(largest), "masking_rate": 0.0}
        row = row | full | {"quantity": named.get(row["quantity"], row["quantity"])}
    if "ensemble" in row["quantity"]:
        row = row | {"estimator": "", "student": ""}
    return tuple(str(row[key]) for key in ("table", *ROW_KEYS, "quantity"))


def counted(result: pd.DataFrame) -> pd.DataFrame:
    """Every number once."""
    return result[~result["repeats"].astype(bool)]


def directions(result: pd.DataFrame) -> tuple[int, int]:
    """How many measured numbers are worse than published, by however little, and how many there are."""
    made = counted(result).dropna(subset="difference")
    gain = made["difference"] * np.where(made["table"].isin(MORE_IS_BETTER), 1, -1)
    return int((gain < 0).sum()), len(made)


def in_words(result: pd.DataFrame) -> str:
    """How many numbers of the paper a run makes, with what verdicts, and which way they are off."""
    once = counted(result)
    worse, made = directions(result)
    told = f"Of the {len(once)} numbers in the paper's tables ({len(result)} with repetitions) it makes"
    if not made:
        return f"{told} none."
    found = once["verdict"].value_counts().reindex(list(VERDICTS), fill_value=0)
    return (
        f"{told} {made}: {found['agrees']} agree, {found['better']} are better and {found['worse']} worse. {worse} of "
        f"the {made} differences are for the worse."
    )


def counts(result: pd.DataFrame) -> pd.DataFrame:
    """How many numbers of each of the paper's tables, each counted once, got which verdict."""
    rows = {}
    for name in PUBLISHED_TABLES:
        part = result[result["table"] == name]
        verdicts = counted(part)["verdict"].value_counts().reindex(list(VERDICTS), fill_value=0)
        told = {"printed": len(part), "counted": len(counted(part))}
        rows[name] = told | verdicts.to_dict() | {"differences for the worse": directions(part)[0]}
    table = pd.DataFrame(rows).T
    table.loc["all"] = table.sum()
    return table.rename_axis("table").reset_index().astype(str)


def smallest_effects() -> pd.DataFrame:
    """What numbers of fewer than three seeds are held against, as it is read."""
    rows = [
        {"table": table, "quantity": what, "effect": f"{effect.size:g}", "off by at most": f"{effect.size / 2:g}"}
        | {"the effect is": effect.reason}
        for (table, what), effect in EFFECTS.items()
    ]
    return pd.DataFrame(rows)


def text_of(result: pd.DataFrame) -> pd.DataFrame:
    """The rows as they are read, without empty columns."""
    shown = result.copy()
    for name in ("train_size", "steps", "seeds"):
        shown[name] = ["" if pd.isna(value) else f"{value:.0f}" for value in shown[name]]
    shown["masking_rate"] = ["" if pd.isna(value) else f"{value:g}" for value in shown["masking_rate"]]
    for name in ("published", "published_spread", "reproduced", "reproduced_spread", "difference", "low", "high"):
        sign = "+" if name == "difference" else ""
        shown[name] = ["" if pd.isna(value) else f"{value:{sign}.3f}" for value in shown[name]]
    shown["repeats"] = shown["repeats"].map({True: "yes", False: ""})
    shown = shown.fillna("").astype(str)
    return shown[[name for name in shown if (shown[name] != "").any()]]


NOTE = (
    "The interval is ours plus or minus, with at least three seeds, what one new run may be off by with 95 %: "
    "t·s·√(1 + 1/n) for n seeds of spread s, the rounding of the published number, and for nDCG the error of its 500 "
    "samples. With fewer seeds it is half of the smallest effect that the paper draws from the table, or the rounding "
    "if that is more. Steps are T of the chain. A number that stands in several tables counts once."
)


def pages(result: pd.DataFrame) -> list[tuple[pd.DataFrame, str, str]]:
    """What is read of it: counts, the smallest effects, every number; each a table with its heading and a note."""
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in VERDICTS.items())
    return [
        (counts(result), "Published and reproduced", f"{in_words(result)} Verdicts: {meanings}. {NOTE}"),
        (smallest_effects(), "The smallest effects that the paper draws from its tables", ""),
        (text_of(result), f"Number by number: all {len(result)}", ""),
    ]
