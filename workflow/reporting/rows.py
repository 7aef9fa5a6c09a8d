"""The rows of every table: one function for each, of the table's name, from what a cell and its students say.

Columns that begin with "beside_" are for readers: they stand in the rendered tables, and not in the tidy files.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from gped.evaluation import metrics
from gped.evaluation.montecarlo import spread_over_error
from workflow.experiments.names import StudentId
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
        "beside_constant_mae": results.constant_mae,
        "beside_correlation": results.correlation(results.the(target="entropy")),
    }


@table
def estimators(results: Results) -> Iterator[Row]:
    """Experiment 2: both estimators over training sizes and masks."""
    entropies = {estimator: results.the(target="entropy", estimator=estimator) for estimator in ("uo", "us")}
    yield {
        **results.model,
        "train_size": results.cell.train_size,
        "masking_rate": results.cell.masking_rate,
        "teacher_nll": results.teacher_nll,
        "student_nll_uo": results.nll(results.the(target="predictive", estimator="uo")),
        "student_nll_us": results.nll(results.the(target="predictive", estimator="us")),
        **{f"entropy_mae_{estimator}": results.entropy_mae(said) for estimator, said in entropies.items()},
        "beside_constant_mae": results.constant_mae,
        **{f"beside_correlation_{estimator}": results.correlation(said) for estimator, said in entropies.items()},
    }


@table
def constants(results: Results) -> Iterator[Row]:
    """Have entropy students learnt anything? Beside their errors, that of the best constant, and their correlation."""
    entropies = {estimator: results.the(target="entropy", estimator=estimator) for estimator in ("uo", "us")}
    yield {
        **results.model,
        "train_size": results.cell.train_size,
        "masking_rate": results.cell.masking_rate,
        "mean_entropy": results.entropy.mean(),
        "constant_mae": results.constant_mae,
        **{f"entropy_mae_{estimator}": results.entropy_mae(said) for estimator, said in entropies.items()},
        **{f"correlation_{estimator}": results.correlation(said) for estimator, said in entropies.items()},
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
        "beside_constant_mae": results.constant_mae,
        **{f"beside_correlation_{method}": results.correlation(one) for method, one in said.items()},
    }


@cache  # because two tables are made of it
def _detection(results: Results) -> list[Row]:
    """Detection of each out-of-distribution set, masked like the test set and without masks, by every measure."""
    inside, rows = {source: uncertainty for source, _, uncertainty in results.downstream("test")}, list[Row]()
    for ood in results.ood_sets:
        variants = [ood, f"{ood}-unmasked"] if results.cell.mask else [ood]
        for variant in variants:
            missing = f"{variant}/predictive" not in results.reference  # an optional set that was not available
            outside = {} if missing else {source: there for source, _, there in results.downstream(variant)}
            for kind in ("total", "knowledge"):
                row: Row = {**results.model, "ood_dataset": results.called(ood), **results.keys, "uncertainty": kind}
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
                rows.append(row)
    return rows


@table
def ood_auroc(results: Results) -> Iterator[Row]:
    """Experiment 4, detection of out-of-distribution inputs, masked like the test set."""
    for row in _detection(results):
        if row["masked"]:
            told = {key: value for key, value in row.items() if not key.endswith(("masked", "_aupr", "_fpr95"))}
            yield {key.removesuffix("_auroc"): value for key, value in told.items()}


@table
def ood_extended(results: Results) -> Iterator[Row]:
    """The same with more measures, and also without masks on the out-of-distribution inputs."""
    yield from _detection(results)


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
            "beside_constant_mae": np.nan if learnt_classes else results.constant_mae,
            "beside_correlation": np.nan if learnt_classes else results.correlation(said),
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
            measured |= dict(monte_carlo(results))
        if student:
            measured |= dict(quantities(results, student))
        key = {
            "train_size": results.cell.train_size,
            "masking_rate": results.cell.masking_rate,
            "target": student.target if student else "",
            "estimator": student.estimator if student else "",
        }
        for quantity, value in measured.items():
            yield {"ablation": name, **results.model, **key, "setting": setting, "quantity": quantity, "value": value}


def monte_carlo(results: Results) -> Iterator[tuple[str, float]]:
    """How well a chain knows the ensemble's expectations, called a lower bound where it can be no more than that."""
    bound = "_at_least" if results.relaxations_per_block < 1 else ""
    yield "relaxations_per_block", results.relaxations_per_block
    for what in ("predictive", "entropy"):
        error = results.reference[f"test/{what}_error"]
        yield f"monte_carlo_error_{what}{bound}", float(np.mean(error))
        if results.other_seeds:
            yield f"spread_over_error_{what}", spread_over_error(results.of_all_seeds(f"test/{what}"), error)


def quantities(results: Results, student: StudentId) -> Iterator[tuple[str, float]]:
    """All that can be measured of a student."""
    said = results.said(student)
    if said.has("probabilities"):
        yield "student_nll", results.nll(said)
        yield "nll_gap", results.nll(said) - results.teacher_nll
        yield "kl_to_ensemble", metrics.kl(results.reference["test/predictive"], said.probabilities("test"))
    if said.has("data"):
        yield "entropy_mae", results.entropy_mae(said)
        yield "constant_mae", results.constant_mae
        yield "correlation", results.correlation(said)
    if not said.has("knowledge"):
        return
    inside, (_, ensemble) = said.uncertainty("test"), results.ensemble("test")
    yield "negative_knowledge", float((inside.knowledge < 0).mean())
    for ood in (ood for ood in results.ood_sets if f"{ood}/predictive" in results.reference):
        for kind in ("total", "knowledge"):
            pair = getattr(inside, kind), getattr(said.uncertainty(ood), kind)
            yield f"auroc_{kind}_{results.called(ood)}", metrics.auroc(*pair)
    sample = min(100, len(results.labels))
    for kind in ("total", "knowledge"):
        pair = getattr(ensemble, kind), getattr(inside, kind)
        yield f"ndcg_{kind}", metrics.ndcg(*pair, k=min(20, sample), sample=sample).mean
