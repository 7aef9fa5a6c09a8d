"""Compute the numbers of one table or figure from references and predictions: tidy rows, seeds as mean and spread."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gped import metrics
from gped.data.images import ImageSet
from gped.names import Cell, StudentId
from gped.uncertainty import Uncertainty, decompose, decompose_dirichlet
from workflow.scripts import jobs

Row = dict[str, Any]
METHODS = {"gped": "joint", "end2": "end2"}


class Results:
    """What one cell and some of its students have to say."""

    def __init__(
        self, root: Path, cell: Cell, slugs: list[str], ood_sets: list[str], ablations: Sequence[list[str]] = ()
    ) -> None:
        self.cell = cell
        self.ablations = ablations
        self.ood_sets = ood_sets
        self.folder = root / "cells" / cell.path
        self.labels = ImageSet.load(root / "data" / f"{cell.dataset}-test.npz").labels
        self.students = {StudentId.from_slug(slug): self.folder / "students" / f"{slug}.npz" for slug in slugs}

    @cached_property
    def reference(self) -> dict[str, np.ndarray]:
        """The ensemble's expectations by set and name."""
        return jobs.load_arrays(self.folder / "reference.npz")

    def predictions(self, **wanted: Any) -> dict[str, np.ndarray]:
        """What the one student with these properties says."""
        (path,) = (
            path for student, path in self.students.items() if all(getattr(student, k) == v for k, v in wanted.items())
        )
        return jobs.load_arrays(path)

    @property
    def teacher_nll(self) -> float:
        """NLL of the ensemble's predictive distribution on the test set."""
        return metrics.nll(self.reference["test/predictive"], self.labels)

    def nll(self, **wanted: Any) -> float:
        """NLL of a student's predictive distribution on the test set."""
        return metrics.nll(self.predictions(**wanted)["test/predictive"], self.labels)

    def entropy_mae(self, **wanted: Any) -> float:
        """Mean absolute error of a student's expected entropy on the test set."""
        return metrics.entropy_mae(self.predictions(**wanted)["test/entropy"], self.reference["test/entropy"])

    def ensemble(self, name: str) -> tuple[np.ndarray, Uncertainty]:
        """Probabilities and uncertainties of the ensemble on a set."""
        p = self.reference[f"{name}/predictive"]
        return p, decompose(p, self.reference[f"{name}/entropy"])

    def downstream(self, method: str, name: str) -> tuple[np.ndarray, Uncertainty]:
        """Probabilities and uncertainties of the GPED or EnD² student on a set."""
        (student,) = (student for student in self.students if student.target == METHODS[method])
        return self.downstream_of(student, name)

    def downstream_of(self, student: StudentId, name: str) -> tuple[np.ndarray, Uncertainty | None]:
        """Probabilities of a student on a set, and its uncertainties if it has learnt them."""
        said = jobs.load_arrays(self.students[student])
        if student.target == "end2":
            alpha = said[f"{name}/log_predictive"].astype(np.float64)
            return alpha / alpha.sum(1, keepdims=True), decompose_dirichlet(alpha)
        p = said[f"{name}/predictive"].astype(np.float64)
        learnt = f"{name}/entropy" in said
        return p / p.sum(1, keepdims=True), decompose(p, said[f"{name}/entropy"]) if learnt else None


def exp1(results: Results, table: str) -> Iterator[Row]:
    """Experiment 1: teacher and base students on the full training set without masks."""
    yield {
        **_model(results),
        "teacher_nll": results.teacher_nll,
        "student_nll": results.nll(target="predictive"),
        "entropy_mae": results.entropy_mae(target="entropy"),
    }


def estimators(results: Results, table: str) -> Iterator[Row]:
    """Experiment 2: both estimators over training sizes and masks."""
    yield {
        **_model(results),
        "train_size": results.cell.train_size,
        "masking_rate": results.cell.masking_rate,
        "teacher_nll": results.teacher_nll,
        "student_nll_uo": results.nll(target="predictive", estimator="uo"),
        "student_nll_us": results.nll(target="predictive", estimator="us"),
        "entropy_mae_uo": results.entropy_mae(target="entropy", estimator="uo"),
        "entropy_mae_us": results.entropy_mae(target="entropy", estimator="us"),
    }


def constants(results: Results, table: str) -> Iterator[Row]:
    """Have entropy students learnt anything? Beside their errors, that of the best constant, the true median."""
    truth = results.reference["test/entropy"]
    yield {
        **_model(results),
        "train_size": results.cell.train_size,
        "masking_rate": results.cell.masking_rate,
        "mean_entropy": truth.mean(),
        "constant_mae": metrics.entropy_mae(np.full_like(truth, np.median(truth)), truth),
        "entropy_mae_uo": results.entropy_mae(target="entropy", estimator="uo"),
        "entropy_mae_us": results.entropy_mae(target="entropy", estimator="us"),
    }


def test_metrics(results: Results, table: str) -> Iterator[Row]:
    """Experiment 4 in distribution."""
    truth = results.reference["test/entropy"]
    row = {**_downstream_key(results, table), "nll_ensemble": results.teacher_nll}
    said = {method: results.downstream(method, "test") for method in METHODS}
    row |= {f"nll_{method}": metrics.nll(p, results.labels) for method, (p, _) in said.items()}
    yield row | {f"entropy_mae_{method}": metrics.entropy_mae(u.data, truth) for method, (_, u) in said.items()}


def ood_auroc(results: Results, table: str) -> Iterator[Row]:
    """Experiment 4, detection of out-of-distribution inputs, masked like the test set."""
    for row in ood_extended(results, table):
        if row.pop("masked"):
            yield {key.removesuffix("_auroc"): v for key, v in row.items() if not key.endswith(("_aupr", "_fpr95"))}


def ood_extended(results: Results, table: str) -> Iterator[Row]:
    """The same with more measures, and also without masks on the out-of-distribution inputs."""
    sources: dict[str, Callable[[str], tuple[np.ndarray, Uncertainty]]] = {"ensemble": results.ensemble}
    sources |= {method: lambda name, method=method: results.downstream(method, name) for method in METHODS}
    inside = {source: said("test")[1] for source, said in sources.items()}
    for ood in results.ood_sets:
        variants = [ood, f"{ood}-unmasked"] if results.cell.mask else [ood]
        for variant in variants:
            missing = f"{variant}/predictive" not in results.reference  # an optional set that could not be had
            outside = {} if missing else {source: said(variant)[1] for source, said in sources.items()}
            for kind in ("total", "knowledge"):
                row = {**_downstream_key(results, table, ood), "uncertainty": kind, "masked": variant == ood}
                for source in sources:
                    if missing:
                        row |= {f"{source}_{measure}": np.nan for measure in ("auroc", "aupr", "fpr95")}
                        continue
                    pair = getattr(inside[source], kind), getattr(outside[source], kind)
                    equal = metrics.equal_counts(*pair)
                    row[f"{source}_auroc"] = metrics.auroc(*pair)
                    row[f"{source}_aupr"] = metrics.aupr(*equal)
                    row[f"{source}_fpr95"] = metrics.fpr95(*equal)
                yield row


def ndcg(results: Results, table: str) -> Iterator[Row]:
    """Experiment 4, ranking of test inputs by uncertainty."""
    _, ensemble = results.ensemble("test")
    sample = min(100, len(results.labels))
    for kind in ("total", "knowledge"):
        row = {**_downstream_key(results, table), "uncertainty": kind}
        for method in METHODS:
            student = getattr(results.downstream(method, "test")[1], kind)
            said = metrics.ndcg(getattr(ensemble, kind), student, k=min(20, sample), sample=sample)
            row |= {f"{method}_mean": said.mean, f"{method}_std": said.std}
        yield row


def accuracy(results: Results, table: str) -> Iterator[Row]:
    """Experiment 4 beyond the paper: accuracy, calibration, and how often the knowledge uncertainty is negative."""
    said = {"ensemble": results.ensemble("test")} | {m: results.downstream(m, "test") for m in METHODS}
    for source, (p, uncertainty) in said.items():
        correct = p.argmax(1) == results.labels
        yield {
            **_downstream_key(results, table),
            "method": source,
            "accuracy": metrics.accuracy(p, results.labels),
            "nll": metrics.nll(p, results.labels),
            "brier": metrics.brier(p, results.labels),
            "ece": metrics.ece(p, results.labels),
            "aurc": metrics.aurc(uncertainty.total, correct),
            "negative_knowledge": float((uncertainty.knowledge < 0).mean()),
        }


def tradeoff(results: Results, table: str) -> Iterator[Row]:
    """Experiment 3: every student of the search and of the pruning, with its cost."""
    truth = results.reference["test/entropy"]
    for student, path in results.students.items():
        said = jobs.load_arrays(path)
        cost = json.loads(str(said["cost"]))
        row = {
            **_model(results),
            "target": student.target,
            "method": "search" if student.strength is None else "prune",
            "k1": student.k1,
            "k2": student.k2,
            "lambda": student.strength,
            "widths": "-".join(map(str, cost["widths"])),
            "params": cost["parameters"],
            "macs": cost["multiply_adds"],
            "nll": np.nan,
            "accuracy": np.nan,
            "entropy_mae": np.nan,
        }
        if student.target == "predictive":
            row["nll"] = metrics.nll(said["test/predictive"], results.labels)
            row["accuracy"] = metrics.accuracy(said["test/predictive"], results.labels)
        else:
            row["entropy_mae"] = metrics.entropy_mae(said["test/entropy"], truth)
        yield row


def pruning(results: Results, table: str) -> Iterator[Row]:
    """Experiment 3: what pruning does to the error at T, and what fine-tuning makes of it."""
    truth = results.reference["test/entropy"]

    def error(said: dict[str, np.ndarray], stage: str) -> float:
        if f"{stage}test/predictive" in said:
            return metrics.nll(said[f"{stage}test/predictive"], results.labels)
        return metrics.entropy_mae(said[f"{stage}test/entropy"], truth)

    for student, path in results.students.items():
        if student.strength is None:
            continue
        said = jobs.load_arrays(path)
        before, after = error(said, "before pruning/"), error(said, "after pruning/")
        yield {
            **_model(results),
            "target": student.target,
            "lambda": student.strength,
            "widths": "-".join(map(str, json.loads(str(said["cost"]))["widths"])),
            "error_before": before,
            "error_after": after,
            "error_final": error(said, ""),
            "jump_above_10_percent": after > 1.1 * before,
        }


def ablations(results: Results, table: str) -> Iterator[Row]:
    """What the paper left open: one row for each setting and quantity."""
    for name, setting, slug in results.ablations:
        measured = {"teacher_nll": results.teacher_nll}
        if name == "reference":
            errors = {what: results.reference[f"test/{what}_error"] for what in ("predictive", "entropy")}
            measured |= {f"monte_carlo_error_{what}": float(np.mean(error)) for what, error in errors.items()}
        if slug:
            student = StudentId.from_slug(slug)
            p, uncertainty = results.downstream_of(student, "test")
            measured["student_nll"] = metrics.nll(p, results.labels)
            measured["nll_gap"] = measured["student_nll"] - measured["teacher_nll"]
            if uncertainty:
                measured["entropy_mae"] = metrics.entropy_mae(uncertainty.data, results.reference["test/entropy"])
        for quantity, value in measured.items():
            key = {"train_size": results.cell.train_size, "masking_rate": results.cell.masking_rate}
            yield {"ablation": name, **_model(results), **key, "setting": setting, "quantity": quantity, "value": value}


def _model(results: Results) -> Row:
    return {"model": results.cell.model, "dataset": results.cell.dataset}


def _downstream_key(results: Results, table: str, ood: str | None = None) -> Row:
    estimator, size = table.split("_")[-2:]
    return {**_model(results), **({"ood_dataset": ood} if ood else {}), "estimator": estimator, "student": size}


TABLES: dict[str, Callable[[Results, str], Iterator[Row]]] = {
    "exp1": exp1,
    "estimators": estimators,
    "test_metrics": test_metrics,
    "ood_auroc": ood_auroc,
    "ood_extended": ood_extended,
    "ndcg": ndcg,
    "accuracy": accuracy,
    "tradeoff": tradeoff,
    "pruning": pruning,
    "constants": constants,
    "ablations": ablations,
}
KEYS = {
    "ablation",
    "setting",
    "quantity",
    "model",
    "dataset",
    "ood_dataset",
    "train_size",
    "masking_rate",
    "estimator",
    "student",
    "uncertainty",
    "masked",
    "method",
    "target",
    "k1",
    "k2",
    "lambda",
}


def over_seeds(rows: list[Row], seeds: int) -> pd.DataFrame:
    """One row for each key: the mean over seeds, and with several their standard deviation, suffix _seed_std."""
    frame = pd.DataFrame(rows)
    if seeds == 1 or frame.empty:
        return frame
    keys = [column for column in frame if column in KEYS]
    numbers = [column for column in frame if column not in KEYS and pd.api.types.is_numeric_dtype(frame[column])]
    groups = frame.groupby(keys, sort=False, dropna=False)
    merged = groups[numbers].mean().join(groups[numbers].std().add_suffix("_seed_std"))
    texts = [column for column in frame if column not in keys + numbers]
    if texts:
        merged = merged.join(groups[texts].agg(lambda values: " | ".join(map(str, values))))
    return merged.reset_index()[[*frame.columns, *(f"{column}_seed_std" for column in numbers)]]


def with_frontier(frame: pd.DataFrame) -> pd.DataFrame:
    """Mark the students that no other of the same method beats in error at equal or lower cost."""
    error = frame["nll"].fillna(frame["entropy_mae"])
    on = pd.DataFrame(
        {
            cost: [
                not (
                    (frame["method"] == row["method"])
                    & (frame["target"] == row["target"])
                    & (frame[cost] <= row[cost])
                    & (error <= error[number])
                    & ((frame[cost] < row[cost]) | (error < error[number]))
                ).any()
                for number, row in frame.iterrows()
            ]
            for cost in ("macs", "params")
        },
        index=frame.index,
    )
    frame["pareto"] = ["+".join(cost for cost in on if on[cost][number]) for number in frame.index]
    return frame


def measure(root: Path, table: str, needs: list[Row]) -> pd.DataFrame:
    """All rows of a table."""
    compute = TABLES[next(kind for kind in sorted(TABLES, key=len, reverse=True) if table.startswith(kind))]
    every = [Results(root, Cell(**need["cell"]), need["students"], need["ood"], need["ablations"]) for need in needs]
    rows = [row for results in every for row in compute(results, table)]
    frame = over_seeds(rows, len({results.cell.seed for results in every}))
    return with_frontier(frame) if compute is tradeoff else frame


def main() -> None:
    """Write --output; --settings has the table's name and the cells and students that it needs."""
    job = jobs.arguments(__doc__, "settings", "root", "output")
    frame = measure(Path(job.root), job.settings["table"], job.settings["needs"])
    jobs.save_text(job.output, frame.to_csv(index=False, float_format="%.6g"))


if __name__ == "__main__":
    jobs.run(main)
