"""What a student is told to be: which it is of those of its cell, and what the configuration makes of that."""

from dataclasses import dataclass
from typing import Any

from tests.naive.networks import NETWORKS, shapes, widths

CLASSES = 10
CLASS_NAMES = {"MNIST5k": "0123456789", "PhotoLetters": "ABCDEFGHIJ"}


@dataclass(frozen=True)
class Told:
    """Which student it is: of a cell, and among the students of that cell."""

    role: str
    train_size: int
    seed: int
    target: str
    estimator: str
    k1: float = 1
    k2: float = 1
    strength: float | None = None

    def slug(self, model: dict[str, Any]) -> str:
        """Its name in file names."""
        pruned = "" if self.strength is None else f"-gl{self.strength:g}"
        return f"{self.target}-{self.estimator}-h{self.thinning(model)}-k{self.k1:g}x{self.k2:g}{pruned}"

    def thinning(self, model: dict[str, Any]) -> int:
        """H."""
        return model["students"]["thinning"]["joint" if self.is_downstream else self.target]

    @property
    def is_downstream(self) -> bool:
        """Whether it is of experiment 4."""
        return self.target in ("joint", "end2")

    def dropout(self, model: dict[str, Any]) -> float:
        """None while a student is pruned."""
        if self.strength is not None:
            return 0.0
        return model["students"]["joint_dropout" if self.is_downstream else "dropout"]

    def expectations(self, model: dict[str, Any]) -> list[tuple[str, str, int]]:
        """What it learns: name, estimator and number of outputs."""
        if self.target == "predictive":
            return [("predictive", self.estimator, CLASSES)]
        if self.target == "entropy":
            return [("entropy", self.estimator, 1)]
        if self.target == "end2":
            return [("log_predictive", self.estimator, CLASSES)]
        if model["students"]["joint_head"] == "share":
            return [("predictive_and_entropy", self.estimator, CLASSES + 1)]
        return [("predictive", self.estimator, CLASSES), ("entropy", "uo", 1)]

    def layers(self, model: dict[str, Any]) -> list[tuple[int, ...]]:
        """Shapes of its weights, before pruning."""
        outputs = sum(size for *_, size in self.expectations(model))
        return shapes(self.role, *widths(self.role, self.k1, self.k2), outputs)


def specification(told: Told, model: dict[str, Any]) -> dict[str, Any]:
    """What a student's file says that it was told to be."""
    students, pruning = model["students"], model["pruning"]
    end2 = students["end2"]
    heads: dict[str, dict[str, Any]] = {
        "predictive": {"name": "softmax"},
        "entropy": {"name": "exponential", "error": students["entropy_loss"]},
        "predictive_and_entropy": {"name": "share"},
        "log_predictive": {
            "name": "dirichlet",
            "temperature": end2["temperature"],
            "prediction_temperature": end2["prediction_temperature"],
        },
    }
    teacher = {"temperature": end2["teacher_temperature"], "smoothing": end2["smoothing"]}
    lasso = {
        "strength": told.strength,
        "fine_tuning_steps": steps(pruning["fine_tuning"], told.train_size, model["chain"]),
        "fine_tuning_rate": pruning["learning_rate"],
        **{key: pruning[key] for key in ("threshold", "proximal", "biases", "output_layer")},
    }
    shape, kernel, *_ = NETWORKS[told.role]
    channels, hidden = widths(told.role, told.k1, told.k2)
    return {
        "architecture": {"input_shape": list(shape), "channels": channels, "kernel": kernel, "hidden": hidden},
        "likelihood": {"name": "categorical", "outputs": CLASSES},
        "class_names": list(CLASS_NAMES[model["dataset"]]),
        "steps": model["chain"]["steps"],
        "thinning": told.thinning(model),
        "learning_rate": students["learning_rate"],
        "halving_every": steps(students["halving"], told.train_size, model["chain"]),
        "dropout": told.dropout(model),
        "dropout_layers": students.get("dropout_layers"),
        "input_noise": students["input_noise"],
        "pruning": None if told.strength is None else lasso,
        "seed": told.seed,
        "targets": [
            {
                "expectation": name,
                "parameters": teacher if name == "log_predictive" else {},
                "head": heads[name],
                "estimator": estimator,
            }
            for name, estimator, _ in told.expectations(model)
        ],
    }


def steps(duration: str, train_size: int, chain: dict[str, Any]) -> int:
    """A duration in steps of the chain: an epoch is a pass over D, as much shorter as the chain is than 10^6 steps."""
    number, unit = duration.split()
    epoch = train_size / chain["batch_size"] * chain["steps"] / 10**6
    return max(1, round(float(number) * (epoch if unit == "epochs" else 1)))
