"""The paper's claims as code: each is evaluated in the same way on the published numbers and on this run's."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow.experiments.paper import PAPER_SETS

Frames = dict[str, pd.DataFrame]
GRID = ["model", "dataset"]


@dataclass(frozen=True)
class Finding:
    """In how many of the cases a claim is true, and what to point to."""

    true: int
    cases: int
    evidence: str

    def __str__(self) -> str:
        return f"{self.true} of {self.cases}"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how to see whether it is so.

    Args:
        sentence: What is claimed.
        find: The cases in which it is true; None where the numbers do not tell.
        share: Of cases in which it must be true to hold. In more than half of them, it holds partly.
    """

    sentence: str
    find: Callable[[Frames], Finding | None]
    share: float = 0.9

    def verdict(self, finding: Finding | None) -> str:
        """Whether it holds."""
        if finding is None or not finding.cases:
            return "not measured"
        if finding.true >= self.share * finding.cases - 1e-9:
            return "holds"
        return "holds partly" if finding.true > finding.cases / 2 else "does not hold"


def _groups(frame: pd.DataFrame, by: list[str], along: str) -> Iterator[tuple[tuple[object, ...], pd.DataFrame]]:
    """Parts of a grid that differ in one key only, in the order of that key; parts of one row tell nothing."""
    for key, part in frame.groupby(by, sort=False):
        if len(part) > 1:
            yield key, part.sort_values(along)


def _falls(values: pd.Series, sign: int = -1) -> tuple[int, int]:
    """How many neighbours fall, and how many neighbours there are."""
    steps = np.diff(values.to_numpy()) * sign
    return int((steps > 0).sum()), len(steps)


def _along_data(column: str, sign: int, name: str, only: str | None = None) -> Callable[[Frames], Finding | None]:
    """A claim that something falls (sign −1) or rises (+1) from each training size to the next."""

    def find(frames: Frames) -> Finding | None:
        if "estimators" not in frames:
            return None
        grid = frames["estimators"]
        grid = grid.assign(gap=grid["student_nll_us"] - grid["teacher_nll"])
        grid = grid[grid["dataset"] == only] if only else grid
        true = cases = 0
        ends = []
        for _, part in _groups(grid, [*GRID, "masking_rate"], "train_size"):
            here = _falls(part[column], sign)
            true, cases = true + here[0], cases + here[1]
            ends.append((part[column].iloc[0], part[column].iloc[-1]))
        if not cases:
            return None
        first, last = np.mean(ends, axis=0)
        return Finding(true, cases, f"mean {name} from {first:.3f} at the smallest to {last:.3f} at the largest size")

    return find


def _along_masks(frames: Frames) -> Finding | None:
    if "estimators" not in frames:
        return None
    true = cases = 0
    ends = []
    for _, part in _groups(frames["estimators"], [*GRID, "train_size"], "masking_rate"):
        here = _falls(part["teacher_nll"], +1)
        true, cases = true + here[0], cases + here[1]
        ends.append((part["teacher_nll"].iloc[0], part["teacher_nll"].iloc[-1]))
    if not cases:
        return None
    first, last = np.mean(ends, axis=0)
    return Finding(true, cases, f"mean teacher NLL from {first:.3f} at the smallest to {last:.3f} at the largest mask")


def _peaks(column: str, name: str) -> Callable[[Frames], Finding | None]:
    """A claim that something is largest neither without a mask nor under the largest."""

    def find(frames: Frames) -> Finding | None:
        if "estimators" not in frames:
            return None
        grid = frames["estimators"]
        grid = grid.assign(gap=grid["student_nll_us"] - grid["teacher_nll"])
        at = [
            (part["masking_rate"].iloc[position], 0 < position < len(part) - 1)
            for _, part in _groups(grid, [*GRID, "train_size"], "masking_rate")
            if len(part) > 2
            for position in [int(part[column].to_numpy().argmax())]
        ]
        if not at:
            return None
        rates = ", ".join(f"{rate:g}" for rate in sorted({rate for rate, _ in at}))
        return Finding(sum(inside for _, inside in at), len(at), f"{name} is largest at masking rates {rates}")

    return find


def _uo_against_us(column: str, name: str) -> Callable[[Frames], Finding | None]:
    def find(frames: Frames) -> Finding | None:
        if "estimators" not in frames:
            return None
        table, left_out = frames["estimators"], ""
        if column == "entropy_mae" and "constants" in frames:  # which has the same rows, with the best constant's error
            told = frames["constants"]
            learnt = told[["entropy_mae_uo", "entropy_mae_us"]].min(axis=1) < told["constant_mae"]
            table = told[learnt]
            left_out = f"; without {(~learnt).sum()} cells whose students are no better than a constant"
            if table.empty:
                return Finding(0, 0, "no student is better than a constant")
        uo, us = (table[f"{column}_{u}"] for u in ("uo", "us"))
        evidence = f"mean {name} {uo.mean():.3f} with U_o, {us.mean():.3f} with U_s{left_out}"
        return Finding(int((uo <= us).sum()), len(uo), evidence)

    return find


def _larger_students(frames: Frames) -> Finding | None:
    if "test_metrics" not in frames:
        return None
    table = frames["test_metrics"]
    gaps = (
        table.assign(gap=table["nll_gped"] - table["nll_ensemble"])
        .pivot_table(index=[*GRID, "estimator"], columns="student", values="gap")
        .dropna()
    )
    if not {"base", "large"} <= set(gaps):
        return None
    evidence = (
        f"mean NLL gap of GPED {gaps['base'].mean():.3f} with base, {gaps['large'].mean():.3f} with largest students"
    )
    return Finding(int((gaps["large"] < gaps["base"]).sum()), len(gaps), evidence)


def _gped_against_end2(table: str, pairs: list[tuple[str, str]], sign: int) -> Callable[[Frames], Finding | None]:
    """A claim that GPED beats EnD²; a tie counts for it, and is told."""

    def find(frames: Frames) -> Finding | None:
        if table not in frames:
            return None
        lead = pd.concat([(frames[table][gped] - frames[table][end2]) * sign for gped, end2 in pairs]).dropna()
        if lead.empty:
            return None
        ties = int((lead == 0).sum())
        evidence = f"GPED is ahead by {lead.mean():+.3f} on average" + (
            f", {ties} tie" + "s" * (ties > 1) if ties else ""
        )
        return Finding(int((lead >= 0).sum()), len(lead), evidence)

    return find


def _students(frames: Frames) -> Iterator[tuple[tuple[str, str], str, str, pd.DataFrame, pd.Series]]:
    """Of experiment 3: model and data, target, the error's column, all students, and the base student."""
    table = frames.get("tradeoff", pd.DataFrame(columns=[*GRID, "target"]))
    for (model, dataset, target), part in table.groupby([*GRID, "target"], sort=False):
        base = part[(part["method"] == "search") & (part["k1"] == 1) & (part["k2"] == 1)]
        if len(base) and (part["method"] == "prune").any():
            yield (model, dataset), target, "entropy_mae" if target == "entropy" else "nll", part, base.iloc[0]


def _pruning_beats_search(frames: Frames) -> Finding | None:
    true = cases = 0
    for _, _, error, part, _ in _students(frames):
        search, pruned = part[part["method"] == "search"], part[part["method"] == "prune"]
        for unit in ("params", "macs"):
            frontier = search[search["pareto"].astype(str).str.contains(unit)]
            for student in frontier.itertuples():
                rivals = pruned[pruned[unit] <= getattr(student, unit)]
                true += bool((rivals[error] <= getattr(student, error)).any())
                cases += 1
    if not cases:
        return None
    return Finding(true, cases, "students on the search's frontier that a pruned one of no more cost equals or beats")


def _half_the_cost(frames: Frames) -> Finding | None:
    found = []
    for (model, dataset), target, error, part, base in _students(frames):
        cheap = part[(part["method"] == "prune") & (part["params"] <= base["params"] / 2)]
        loss = cheap[error].min() - base[error] if len(cheap) else np.inf
        told = f"{loss:+.3f}" if len(cheap) else "none so small"
        found.append((f"{model} {dataset} {target} {told}", bool(loss <= max(0.01, 0.1 * base[error]))))
    if not found:
        return None
    return Finding(
        sum(ok for _, ok in found), len(found), f"loss at half the parameters: {', '.join(f for f, _ in found)}"
    )


def _best_is_pruned(frames: Frames) -> Finding | None:
    if "text" in frames:  # the captions say it of the best students, and give their cost
        best = frames["text"][frames["text"]["what"].str.startswith("best student by")]
        cases = best.groupby(["what", *GRID]).ngroups
        return Finding(cases, cases, _multiples(best["quantity"] == "parameters over base", best["value"]))
    found = []
    for (model, dataset), target, _, part, base in _students(frames):
        columns = {"entropy_mae": "idxmin"} if target == "entropy" else {"nll": "idxmin", "accuracy": "idxmax"}
        for column, pick in columns.items():
            best = part.loc[getattr(part[column], pick)()]
            times = best["params"] / base["params"]
            found.append((f"{model} {dataset} {column} {best['method']} at {times:.1f}×", best["method"] == "prune"))
    if not found:
        return None
    return Finding(sum(ok for _, ok in found), len(found), ", ".join(f for f, _ in found))


def _multiples(which: pd.Series, values: pd.Series) -> str:
    return f"at {values[which].min():g} to {values[which].max():g} times the base's parameters"


CLAIMS = [
    Claim("The teacher's NLL falls with more training data", _along_data("teacher_nll", -1, "teacher NLL")),
    Claim("The teacher's NLL rises with masking", _along_masks),
    Claim("The student's NLL gap falls with more training data", _along_data("gap", -1, "NLL gap")),
    Claim("The NLL gap is largest at moderate masking", _peaks("gap", "the gap")),
    Claim("The entropy MAE is largest at moderate masking", _peaks("entropy_mae_uo", "the MAE")),
    Claim(
        "On CIFAR-10 the entropy MAE rises with more training data",
        _along_data("entropy_mae_uo", +1, "entropy MAE", "CIFAR10"),
        share=1.0,
    ),
    Claim("U_o is almost always at least as good as U_s in NLL", _uo_against_us("student_nll", "NLL")),
    Claim("U_o is almost always at least as good as U_s in entropy MAE", _uo_against_us("entropy_mae", "MAE")),
    Claim("Larger students close the gap to the ensemble", _larger_students, share=1.0),
    Claim("Pruning beats exhaustive search at equal cost", _pruning_beats_search),
    Claim("Pruning reaches half the base's size with a small loss", _half_the_cost),
    Claim("The best student comes from pruning", _best_is_pruned),
    Claim(
        "GPED beats EnD² on every in-distribution metric",
        _gped_against_end2("test_metrics", [("nll_gped", "nll_end2"), ("entropy_mae_gped", "entropy_mae_end2")], -1),
        share=1.0,
    ),
    Claim(
        "GPED beats EnD² in 75 % of out-of-distribution settings",
        _gped_against_end2("ood_auroc", [("gped", "end2")], +1),
        share=0.75,
    ),
    Claim(
        "GPED beats EnD² in 91 % of ranking settings",
        _gped_against_end2("ndcg", [("gped_mean", "end2_mean")], +1),
        share=0.91,
    ),
]


def judge(published: Frames, ours: Frames) -> pd.DataFrame:
    """Every claim, on the published numbers and on ours. Only ours decide the verdict."""
    sets = {name for frame in ours.values() for name in frame["dataset"]}
    demonstration = not sets <= PAPER_SETS
    if "ood_auroc" in ours and not demonstration:  # other sets than the paper's are not what it speaks of
        table, known = ours["ood_auroc"], published["ood_auroc"]["ood_dataset"]
        ours = ours | {"ood_auroc": table[table["ood_dataset"].isin(known)]}
    rows = []
    for claim in CLAIMS:
        theirs, found = claim.find(published), claim.find(ours)
        verdict, evidence = claim.verdict(found), found.evidence if found else "this run does not make these numbers"
        if demonstration and found:
            verdict = "not measured"
            evidence = f"{', '.join(sorted(sets))} cannot judge it; there, {evidence}"
        rows.append(
            {
                "claim": claim.sentence,
                "published": f"{claim.verdict(theirs)}: {theirs}, {theirs.evidence}" if theirs else "only in figures",
                "reproduced": str(found) if found else "",
                "evidence": evidence,
                "verdict": verdict,
            }
        )
    return pd.DataFrame(rows)


NOTE = (
    "In how many cases each claim is true, in the published numbers and in this run's. A claim holds if that is as "
    "often as it says (nine in ten, if it says no number), and partly if it is more than half."
)
