"""The rows of every table, from the configuration and the files of a run."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from safetensors.numpy import load_file

from tests.naive import metrics
from tests.naive.networks import cost
from tests.naive.run import Cell, Row, Run
from tests.naive.told import Told

METHODS = {"gped": "joint", "end2": "end2"}


class Tables(Run):
    """A method for each table."""

    def exp1(self) -> Iterator[Row]:
        """All training images, no masks, base students."""
        for role in self.models:
            cell = self.full(role)
            yield {
                **self.names(role),
                "teacher_nll": self.teacher_nll(cell),
                "student_nll": self.nll(cell, self.told(cell, "predictive", "us")),
                "entropy_mae": self.mae(cell, self.told(cell, "entropy", "uo")),
            }

    def estimators(self) -> Iterator[Row]:
        """Both estimators over the grid."""
        for cell in (cell for role in self.models for cell in self.grid(role)):
            yield {
                **self.names(cell.role),
                "train_size": cell.size,
                "masking_rate": cell.masking_rate,
                "teacher_nll": self.teacher_nll(cell),
                "student_nll_uo": self.nll(cell, self.told(cell, "predictive", "uo")),
                "student_nll_us": self.nll(cell, self.told(cell, "predictive", "us")),
                "entropy_mae_uo": self.mae(cell, self.told(cell, "entropy", "uo")),
                "entropy_mae_us": self.mae(cell, self.told(cell, "entropy", "us")),
            }

    def constants(self) -> Iterator[Row]:
        """Entropy students beside the best constant."""
        for cell in (cell for role in self.models for cell in self.grid(role)):
            truth = self.reference(cell, "test/entropy")
            told = {u: self.told(cell, "entropy", u) for u in ("uo", "us")}
            yield {
                **self.names(cell.role),
                "train_size": cell.size,
                "masking_rate": cell.masking_rate,
                "mean_entropy": metrics.mean(truth.tolist()),
                "constant_mae": metrics.best_constant(truth),
                "entropy_mae_uo": self.mae(cell, told["uo"]),
                "entropy_mae_us": self.mae(cell, told["us"]),
                "correlation_uo": metrics.correlation(self.said(cell, told["uo"], "test/data"), truth),
                "correlation_us": metrics.correlation(self.said(cell, told["us"], "test/data"), truth),
            }

    def downstream(self) -> Iterator[tuple[Row, Cell, dict[str, Told | None]]]:
        """Experiment 4: what tells its rows apart, and who is compared."""
        for role, estimator, size in product(self.models, ("us", "uo"), ("base", "large")):
            cell = self.focus(role)
            who = {name: self.told(cell, t, estimator, *self.widths(role, size)) for name, t in METHODS.items()}
            yield self.names(role) | {"estimator": estimator, "student": size}, cell, {"ensemble": None} | who

    def test_metrics(self) -> Iterator[Row]:
        """In distribution."""
        for key, cell, who in self.downstream():
            yield key | {
                "nll_ensemble": self.teacher_nll(cell),
                "nll_gped": self.nll(cell, who["gped"]),
                "nll_end2": self.nll(cell, who["end2"]),
                "entropy_mae_gped": self.mae(cell, who["gped"]),
                "entropy_mae_end2": self.mae(cell, who["end2"]),
            }

    def ood_auroc(self) -> Iterator[Row]:
        """Out-of-distribution sets, masked like the test set."""
        for key, cell, who in self.downstream():
            for ood, kind in product(self.models[cell.role]["ood"], ("total", "knowledge")):
                row = key | {"ood_dataset": ood, "uncertainty": kind}
                for name, told in who.items():
                    inside, outside = (self.uncertainty(cell, told, one, kind) for one in ("test", ood))
                    row[name] = metrics.auroc(inside, outside)
                yield row

    def ood_extended(self) -> Iterator[Row]:
        """The same by more measures, and where the test set is masked also without masks on the others."""
        for key, cell, who in self.downstream():
            for ood, kind, masked in product(self.models[cell.role]["ood"], ("total", "knowledge"), (True, False)):
                if not masked and not cell.mask:
                    continue
                row = key | {"ood_dataset": ood, "uncertainty": kind, "masked": masked}
                for name, told in who.items():
                    far = ood if masked else f"{ood}-unmasked"
                    inside, outside = (self.uncertainty(cell, told, one, kind) for one in ("test", far))
                    equal = metrics.in_equal_counts(inside, outside)
                    row[f"{name}_auroc"] = metrics.auroc(inside, outside)
                    row[f"{name}_aupr"] = metrics.aupr(*equal)
                    row[f"{name}_fpr95"] = metrics.fpr95(*equal)
                yield row

    def ndcg(self) -> Iterator[Row]:
        """How students rank test inputs, where the ensemble's uncertainty is the gain."""
        for key, cell, who in self.downstream():
            for kind in ("total", "knowledge"):
                truth, row = self.uncertainty(cell, None, "test", kind), key | {"uncertainty": kind}
                for name in METHODS:
                    student = self.uncertainty(cell, who[name], "test", kind)
                    row[f"{name}_mean"], row[f"{name}_std"] = metrics.ndcg(truth, student)
                yield row

    def accuracy(self) -> Iterator[Row]:
        """Accuracy and calibration."""
        for (key, cell, who), name in product(self.downstream(), ("ensemble", *METHODS)):
            told, labels = who[name], self.labels(cell)
            p = self.said(cell, told, "test/probabilities") if told else self.reference(cell, "test/predictive")
            correct = [metrics.likeliest(row) == label for row, label in zip(p.tolist(), labels, strict=True)]
            knowledge = self.uncertainty(cell, told, "test", "knowledge").tolist()
            yield key | {
                "method": name,
                "accuracy": metrics.accuracy(p, labels),
                "nll": metrics.nll(p, labels),
                "brier": metrics.brier(p, labels),
                "ece": metrics.ece(p, labels),
                "aurc": metrics.aurc(self.uncertainty(cell, told, "test", "total"), correct),
                "negative_knowledge": metrics.mean([float(value < 0) for value in knowledge]),
            }

    def tradeoff(self) -> Iterator[Row]:
        """Error and cost of every student of experiment 3."""
        for role, target in product(self.models, ("predictive", "entropy")):
            cell, rows = self.focus(role), []
            for told in (*self.searched(cell, target), *self.pruned(cell, target)):
                tensors = load_file(self.student(cell, told, "safetensors"))
                shapes = [tensors[f"{layer}.weight"].shape for layer in range(len(tensors) // 2)]
                params, macs = cost(role, shapes)
                row = {
                    **self.names(role),
                    "target": target,
                    "method": "search" if told.strength is None else "prune",
                    "k1": told.k1,
                    "k2": told.k2,
                    "lambda": np.nan if told.strength is None else told.strength,
                    "widths": "-".join(str(shape[0]) for shape in shapes[:-1]),
                    "params": params,
                    "macs": macs,
                    "nll": np.nan,
                    "accuracy": np.nan,
                    "entropy_mae": np.nan,
                }
                if target == "predictive":
                    p = self.said(cell, told, "test/probabilities")
                    row |= {"nll": self.nll(cell, told), "accuracy": metrics.accuracy(p, self.labels(cell))}
                else:
                    row["entropy_mae"] = self.mae(cell, told)
                rows.append(row)
            error = "nll" if target == "predictive" else "entropy_mae"
            for row in rows:
                rivals = [other for other in rows if other["method"] == row["method"]]
                on = [unit for unit in ("macs", "params") if not any(beats(one, row, unit, error) for one in rivals)]
                yield row | {"pareto": "+".join(on)}

    def pruning(self) -> Iterator[Row]:
        """Error before pruning, after it, and after fine-tuning."""
        for role, target in product(self.models, ("predictive", "entropy")):
            cell = self.focus(role)
            error = self.nll if target == "predictive" else self.mae
            for told in self.pruned(cell, target):
                tensors = load_file(self.student(cell, told, "safetensors"))
                before, after = (error(cell, told, f"{stage} pruning/") for stage in ("before", "after"))
                yield {
                    **self.names(role),
                    "target": target,
                    "lambda": told.strength,
                    "widths": "-".join(str(len(tensors[f"{layer}.weight"])) for layer in range(len(tensors) // 2 - 1)),
                    "error_before": before,
                    "error_after": after,
                    "error_final": error(cell, told),
                    "jump_above_10_percent": after > 1.1 * before,
                }


def beats(one: Row, other: Row, unit: str, error: str) -> bool:
    """Whether a student is no worse in cost and error, and better in one of them."""
    pairs = [(one[column], other[column]) for column in (unit, error)]
    return all(mine <= theirs for mine, theirs in pairs) and any(mine < theirs for mine, theirs in pairs)
