"""The rows of every table: one function for each, of the table's name, from what a cell and its students say."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gped.evaluation import metrics
from workflow.reporting.results import METHODS, Results

Row = dict[str, Any]
ROWS: dict[str, Callable[[Results], Iterator[Row]]] = {}


def table(rows: Callable[[Results], Iterator[Row]]) -> Callable[[Results], Iterator[Row]]:
    """Let the rows of the table of that name be made by this function."""
    ROWS[rows.__name__] = rows
    return rows


@table
def exp1(results: Results) -> Iterator[Row]:
    """Experiment 1: teacher and base students on the full training set without masks."""
    yield {
        **results.model,
        "teacher_nll": results.teacher_nll,
        "student_nll": results.nll(results.the(target="predictive")),
        "entropy_mae": results.entropy_mae(results.the(target="entropy")),
    }


@table
def estimators(results: Results) -> Iterator[Row]:
    """Experiment 2: both estimators over training sizes and masks."""
    yield {
        **results.model,
        "train_size": results.cell.train_size,
        "masking_rate": results.cell.masking_rate,
        "teacher_nll": results.teacher_nll,
        "student_nll_uo": results.nll(results.the(target="predictive", estimator="uo")),
        "student_nll_us": results.nll(results.the(target="predictive", estimator="us")),
        "entropy_mae_uo": results.entropy_mae(results.the(target="entropy", estimator="uo")),
        "entropy_mae_us": results.entropy_mae(results.the(target="entropy", estimator="us")),
    }


@table
def constants(results: Results) -> Iterator[Row]:
    """Have entropy students learnt anything? Beside their errors, that of the best constant, the true median."""
    truth = results.entropy
    yield {
        **results.model,
        "train_size": results.cell.train_size,
        "masking_rate": results.cell.masking_rate,
        "mean_entropy": truth.mean(),
        "constant_mae": metrics.entropy_mae(np.full_like(truth, np.median(truth)), truth),
        "entropy_mae_uo": results.entropy_mae(results.the(target="entropy", estimator="uo")),
        "entropy_mae_us": results.entropy_mae(results.the(target="entropy", estimator="us")),
    }


@table
def test_metrics(results: Results) -> Iterator[Row]:
    """Experiment 4 in distribution."""
    said = {method: results.the(target=target) for method, target in METHODS.items()}
    yield {
        **results.model,
        **results.keys,
        "nll_ensemble": results.teacher_nll,
        **{f"nll_{method}": results.nll(one) for method, one in said.items()},
        **{f"entropy_mae_{method}": results.entropy_mae(one) for method, one in said.items()},
    }


@table
def ood_auroc(results: Results) -> Iterator[Row]:
    """Experiment 4, detection of out-of-distribution inputs, masked like the test set."""
    for row in ood_extended(results):
        if row.pop("masked"):
            yield {key.removesuffix("_auroc"): v for key, v in row.items() if not key.endswith(("_aupr", "_fpr95"))}


@table
def ood_extended(results: Results) -> Iterator[Row]:
    """The same with more measures, and also without masks on the out-of-distribution inputs."""
    inside = {source: uncertainty for source, _, uncertainty in results.downstream("test")}
    for ood in results.ood_sets:
        variants = [ood, f"{ood}-unmasked"] if results.cell.mask else [ood]
        for variant in variants:
            missing = f"{variant}/predictive" not in results.reference  # an optional set that was not available
            outside = {} if missing else {source: there for source, _, there in results.downstream(variant)}
            for kind in ("total", "knowledge"):
                row: Row = {**results.model, "ood_dataset": ood, **results.keys, "uncertainty": kind}
                row["masked"] = variant == ood
                for source in inside:
                    if missing:
                        row |= {f"{source}_{measure}": np.nan for measure in ("auroc", "aupr", "fpr95")}
                        continue
                    pair = getattr(inside[source], kind), getattr(outside[source], kind)
                    equal = metrics.equal_counts(*pair)
                    row[f"{source}_auroc"] = metrics.auroc(*pair)
                    row[f"{source}_aupr"] = metrics.aupr(*equal)
                    row[f"{source}_fpr95"] = metrics.fpr95(*equal)
                yield row


@table
def ndcg(results: Results) -> Iterator[Row]:
    """Experiment 4, ranking of test inputs by uncertainty."""
    uncertainties = {source: uncertainty for source, _, uncertainty in results.downstream("test")}
    ensemble, sample = uncertainties.pop("ensemble"), min(100, len(results.labels))
    for kind in ("total", "knowledge"):
        row: Row = {**results.model, **results.keys, "uncertainty": kind}
        for method, uncertainty in uncertainties.items():
            student = getattr(uncertainty, kind)
            said = metrics.ndcg(getattr(ensemble, kind), student, k=min(20, sample), sample=sample)
            row |= {f"{method}_mean": said.mean, f"{method}_std": said.std}
        yield row


@table
def accuracy(results: Results) -> Iterator[Row]:
    """Experiment 4 beyond the paper: accuracy, calibration, and how often the knowledge uncertainty is negative."""
    for source, p, uncertainty in results.downstream("test"):
        correct = p.argmax(1) == results.labels
        yield {
            **results.model,
            **results.keys,
            "method": source,
            "accuracy": metrics.accuracy(p, results.labels),
            "nll": metrics.nll(p, results.labels),
            "brier": metrics.brier(p, results.labels),
            "ece": metrics.ece(p, results.labels),
            "aurc": metrics.aurc(uncertainty.total, correct),
            "negative_knowledge": float((uncertainty.knowledge < 0).mean()),
        }


@table
def tradeoff(results: Results) -> Iterator[Row]:
    """Experiment 3: every student of the search and of the pruning, with its cost."""
    for student in results.students:
        said = results.said(student)
        cost, learnt_classes = said.cost, said.has("probabilities")
        yield {
            **results.model,
            **results.keys,
            "method": "search" if student.strength is None else "prune",
            "k1": student.k1,
            "k2": student.k2,
            "lambda": student.strength,
            "widths": "-".join(map(str, cost["widths"])),
            "params": cost["parameters"],
            "macs": cost["multiply_adds"],
            "nll": results.nll(said) if learnt_classes else np.nan,
            "accuracy": metrics.accuracy(said.probabilities("test"), results.labels) if learnt_classes else np.nan,
            "entropy_mae": np.nan if learnt_classes else results.entropy_mae(said),
        }


@table
def pruning(results: Results) -> Iterator[Row]:
    """Experiment 3: what pruning does to the error at T, and what fine-tuning makes of it."""
    for student in results.students:
        if student.strength is None:
            continue
        said = results.said(student)
        error = results.nll if said.has("probabilities") else results.entropy_mae
        before, after = error(said, "before pruning/"), error(said, "after pruning/")
        yield {
            **results.model,
            **results.keys,
            "lambda": student.strength,
            "widths": "-".join(map(str, said.cost["widths"])),
            "error_before": before,
            "error_after": after,
            "error_final": error(said),
            "jump_above_10_percent": after > 1.1 * before,
        }


@table
def ablations(results: Results) -> Iterator[Row]:
    """What the paper left open: one row for each setting and quantity."""
    for name, setting, student in results.ablations:
        measured = {"teacher_nll": results.teacher_nll}
        if name == "reference":
            errors = {what: results.reference[f"test/{what}_error"] for what in ("predictive", "entropy")}
            measured |= {f"monte_carlo_error_{what}": float(np.mean(error)) for what, error in errors.items()}
        if student:
            said = results.said(student)
            measured["student_nll"] = results.nll(said)
            measured["nll_gap"] = measured["student_nll"] - measured["teacher_nll"]
            if said.has("data"):
                measured["entropy_mae"] = results.entropy_mae(said)
        for quantity, value in measured.items():
            key = {"train_size": results.cell.train_size, "masking_rate": results.cell.masking_rate}
            yield {"ablation": name, **results.model, **key, "setting": setting, "quantity": quantity, "value": value}
