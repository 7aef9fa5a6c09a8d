"""Claims about experiment 3: width multipliers and pruning."""

import numpy as np
import pandas as pd

from workflow.reporting.findings.finding import GRID, Finding, Frames, LackingError, chains_of, leads, listed, table_of


def _students(
    frames: Frames, dataset: str | None = None, methods: tuple[str, ...] = ("search", "prune")
) -> list[tuple[str, str, pd.DataFrame, pd.Series]]:
    """Of each model and target that has students of these methods: its name, its error, all students, and the base."""
    found = []
    for (model, data, target), part in table_of(frames, "tradeoff", dataset).groupby([*GRID, "target"], sort=False):
        base = part[(part["method"] == "search") & (part["k1"] == 1) & (part["k2"] == 1)]
        if len(base) and set(methods) <= set(part["method"]):
            error = "entropy_mae" if target == "entropy" else "nll"
            found.append((f"{model} {data} {target}", error, part, base.iloc[0]))
    if not found:
        raise LackingError(f"base students and those of {' and '.join(methods)} in the table tradeoff", "tradeoff")
    return found


def searches_improve_strongly(frames: Frames) -> Finding:
    """The best student of each method errs at least 18 % less than the base: half of the published 0.469 → 0.30."""
    if "text" in frames:
        text = frames["text"].set_index("what")["value"]
        base, best = text["baseline student at 29 % masking"], text["best student at 29 % masking"]
        return listed([(f"CNN MNIST NLL {base:.3f} → {best:.2f}", best <= 0.82 * base)], 1)
    cases = []
    for name, error, part, base in _students(frames):
        for method, students in part.groupby("method", sort=False):
            best = students[error].min()
            cases.append((f"{name} {method} {base[error]:.3f} → {best:.3f}", bool(best <= 0.82 * base[error])))
    return listed(cases, chains_of(frames["tradeoff"]))


def pruning_beats_search(frames: Frames) -> Finding:
    """For each student on the search's frontier there is a pruned one of no more cost and less error."""
    lead = []
    for _, error, part, _ in _students(frames):
        search, pruned = part[part["method"] == "search"], part[part["method"] == "prune"]
        for unit in ("params", "macs"):
            for student in search[search["pareto"].astype(str).str.contains(unit)].to_dict("records"):
                rivals = pruned.loc[pruned[unit] <= student[unit], error]
                lead.append(student[error] - rivals.min() if len(rivals) else -np.inf)
    evidence = "students on the search's frontier that a pruned one of no more cost beats"
    return leads(np.array(lead), chains_of(frames["tradeoff"]), evidence)


def half_the_multiply_adds(frames: Frames) -> Finding:
    """On MNIST a pruned student of less than half the base's multiply-adds errs by 0.01 or a tenth more at most."""
    cases = []
    for name, error, part, base in _students(frames, "MNIST"):
        cheap = part[(part["method"] == "prune") & (part["macs"] < base["macs"] / 2)]
        loss = cheap[error].min() - base[error] if len(cheap) else np.inf
        told = f"{loss:+.3f}" if len(cheap) else "none so cheap"
        cases.append((f"{name} {told}", bool(loss <= max(0.01, 0.1 * base[error]))))
    return listed(cases, chains_of(table_of(frames, "tradeoff", "MNIST")), "loss at half the multiply-adds: ")


def best_is_pruned(frames: Frames) -> Finding:
    """By each measure the best student of all is a pruned one. The captions say it, and what it costs."""
    if "text" in frames:
        best = frames["text"][frames["text"]["what"].str.startswith("best student by")]
        times = best.loc[best["quantity"] == "parameters over base", "value"]
        cases = best.groupby(["what", *GRID]).ngroups
        cost = f"at {times.min():g} to {times.max():g} times the base's parameters"
        return Finding(cases, cases, best.groupby(GRID).ngroups, cost)
    lead, told = [], []
    for name, error, part, base in _students(frames):
        for column, sign in ({error: -1} | ({"accuracy": 1} if error == "nll" else {})).items():
            best = (sign * part[column]).groupby(part["method"]).max()
            lead.append(best["prune"] - best["search"])
            winner = part.loc[(sign * part[column]).idxmax()]
            told.append(f"{name} {column} {winner['method']} at {winner['params'] / base['params']:.1f}×")
    return leads(np.array(lead), chains_of(frames["tradeoff"]), ", ".join(told))


def larger_searched_students(frames: Frames) -> Finding:
    """The largest student of the search errs less than the base."""
    lead, told = [], []
    for name, error, part, base in _students(frames, methods=("search",)):
        search = part[part["method"] == "search"]
        largest = search.loc[search["params"].idxmax()]
        lead.append(base[error] - largest[error])
        told.append(f"{name} {base[error]:.3f} → {largest[error]:.3f}")
    return leads(np.array(lead), chains_of(frames["tradeoff"]), ", ".join(told))
