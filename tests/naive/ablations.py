"""What the ablations compare, by the words of their table, and the numbers that they tell."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tests.naive import metrics
from tests.naive.run import Cell, Row
from tests.naive.tables import Tables
from tests.naive.told import Told, steps


@dataclass(frozen=True)
class Compared:
    """A setting, and where it is measured.

    Args:
        ablation: What is compared.
        setting: What was done in this case.
        cell: Where.
        told: By which student; None for the teacher.
        variant: What the student is called besides, in its file.
        of_cell: What the cell is called besides.
        changed: Of the model's section `students`, what is different.
    """

    ablation: str
    setting: str
    cell: Cell
    told: Told | None = None
    variant: str = ""
    of_cell: str = ""
    changed: dict[str, Any] | None = None


class Ablations(Tables):
    """The table of ablations, which has a run's own chains and students beside those of the experiments."""

    def compared(self) -> Iterator[Compared]:
        """All that is compared."""
        for role in self.models:
            yield from self.of_schedules(role)
            yield from self.of_heads_and_losses(role)
            yield from self.of_inputs(role)
            every = self.models[role]["chain"]["reference_every"]
            yield Compared("reference", f"every {every} steps", self.full(role))

    def of_schedules(self, role: str) -> Iterator[Compared]:
        """When the learning rate is halved, and where dropout is."""
        model = self.models[role]
        chain, sizes, halving = model["chain"], model["train_sizes"], model["students"]["halving"]
        masked = [cell for cell in self.grid(role) if cell.mask in (0, model["focus"]["mask"])]

        def every(size: int) -> dict[str, str]:
            return {"halving": f"{steps(halving, size, chain)} steps"}

        if role != "cnn_cifar10":
            for cell in masked:
                one = self.told(cell, "predictive", "us")
                yield Compared("schedule", "halving per pass over D", cell, one)
                largest, smallest = every(max(sizes)), every(min(sizes))
                yield Compared("schedule", "halving as at the largest N", cell, one, "budget", changed=largest)
                yield Compared("schedule", "halving as at the smallest N", cell, one, "scarce", changed=smallest)
        for cell, estimator in product(masked if role != "cnn_cifar10" else [], ("us", "uo")):
            one = self.told(cell, "predictive", estimator)
            yield Compared("release", "as configured", cell, one)
            if role == "cnn_mnist":
                often = {"halving": "100 epochs"}
                yield Compared("release", "halving every 100 epochs", cell, one, "hundred", changed=often)
            else:
                first = {"dropout_layers": 1}
                yield Compared(
                    "release", "dropout after the first hidden layer only", cell, one, "first", changed=first
                )
                yield Compared("release", "the same, left on at prediction", cell, one, "left_on", changed=first)
        for target, estimator in product(("joint", "end2"), ("us", "uo")):
            cell = self.focus(role)
            one, slow = (
                self.told(cell, target, estimator),
                {"halving": f"{10 * steps(halving, cell.size, chain)} steps"},
            )
            yield Compared("slower schedule", "halving as configured", cell, one)
            yield Compared("slower schedule", "ten times as long between two", cell, one, "slow", changed=slow)

    def of_heads_and_losses(self, role: str) -> Iterator[Compared]:
        """How entropies are learnt and said, and the temperatures of EnD²."""
        students, focus = self.models[role]["students"], self.focus(role)
        cells = [focus] if role == "cnn_cifar10" else dict.fromkeys([self.full(role), focus])
        kinds = [("entropy", "us"), ("entropy", "uo"), ("joint", "us")]
        for cell, kind, loss in product(cells, kinds, ("absolute", "squared", "deviance")):
            variant = "" if loss == students["entropy_loss"] else loss
            changed = {"entropy_loss": loss}
            yield Compared("entropy loss", loss, cell, self.told(cell, *kind), variant, changed=changed)
        for estimator, head in product(("us", "uo"), ("separate", "share")):
            variant = "" if head == students["joint_head"] else head
            one = self.told(focus, "joint", estimator)
            yield Compared("joint head", head, focus, one, variant, changed={"joint_head": head})
        if role == "fcnn_mnist":
            name, one, end2 = "EnD² temperatures", self.told(focus, "end2", "us"), students["end2"]
            cold = dict.fromkeys(("temperature", "teacher_temperature", "prediction_temperature"), 1)
            warm = {"prediction_temperature": end2["temperature"]}
            yield Compared(name, "as configured", focus, one)
            yield Compared(name, "all 1", focus, one, "cold", changed={"end2": end2 | cold})
            yield Compared(name, "prediction as in training", focus, one, "warm", changed={"end2": end2 | warm})

    def of_inputs(self, role: str) -> Iterator[Compared]:
        """What chains and students see."""
        students, focus = self.models[role]["students"], self.focus(role)
        for target in ("joint", "end2"):
            one = self.told(focus, target, "uo")
            yield Compared("unlabelled inputs", "training images", focus, one)
            for kind in ("turned", "noisy", "mixed") if role != "cnn_cifar10" else ("turned",):
                yield Compared("unlabelled inputs", f"and {kind} copies", focus, one, of_cell=kind)
        if role == "fcnn_mnist":
            cell = self.full(role)
            one, noise = self.told(cell, "predictive", "us"), students["input_noise"]
            yield Compared("input noise", f"{noise:g}", cell, one)
            yield Compared("input noise", "0.001", cell, one, "noise", changed={"input_noise": 1e-3})
        if role == "cnn_cifar10":
            words = {True: "standardised", False: "in [0, 1]"}
            configured = self.models[role]["standardise"]
            yield Compared("pixels", words[configured], focus)
            yield Compared("pixels", words[not configured], focus, of_cell="rescaled")

    def folder_of(self, one: Compared) -> Path:
        """The folder of the cell."""
        folder = self.path(one.cell)
        return folder.with_name(f"{folder.name}-{one.of_cell}") if one.of_cell else folder

    def file_of(self, one: Compared, form: str) -> Path:
        """The file of the student."""
        assert one.told
        slug = "-".join(filter(None, (one.told.slug(self.models[one.cell.role]), one.variant)))
        return self.folder_of(one) / "students" / f"{slug}.{form}"

    def varied(self, one: Compared) -> dict[str, Any]:
        """The section of the model in the configuration that would give this."""
        model = self.models[one.cell.role]
        return model | {"students": model["students"] | (one.changed or {})}

    def rows(self) -> Iterator[Row]:
        """A row for each quantity."""
        for one in self.compared():
            told = {"target": one.told.target, "estimator": one.told.estimator} if one.told else {}
            key = {
                "ablation": one.ablation,
                **self.names(one.cell.role),
                "train_size": one.cell.size,
                "masking_rate": one.cell.masking_rate,
                **{column: told.get(column, "") for column in ("target", "estimator")},
                "setting": one.setting,
            }
            for quantity, value in self.quantities(one):
                yield key | {"quantity": quantity, "value": value}

    def quantities(self, one: Compared) -> Iterator[tuple[str, float]]:
        """All that is measured."""
        folder = self.folder_of(one)
        truth, labels = self.arrays(folder / "reference.npz"), self.labels(one.cell)
        teacher = metrics.nll(truth["test/predictive"], labels)
        yield "teacher_nll", teacher
        if one.ablation == "reference":
            yield from self.monte_carlo(one, truth)
        if not one.told:
            return
        said = self.arrays(self.file_of(one, "npz"))
        p, data = (
            said[what].astype(np.float64) if (what := f"test/{name}") in said else None
            for name in ("probabilities", "data")
        )
        if p is not None:
            nll = metrics.nll(p, labels)
            yield "student_nll", nll
            yield "nll_gap", nll - teacher
            yield "kl_to_ensemble", metrics.kl(truth["test/predictive"], p)
        if data is not None:
            yield "entropy_mae", metrics.mae(data, truth["test/entropy"])
            yield "constant_mae", metrics.best_constant(truth["test/entropy"])
            yield "correlation", metrics.correlation(data, truth["test/entropy"])
        if p is None or data is None:
            return
        yield "negative_knowledge", metrics.mean([float(value < 0) for value in said["test/knowledge"]])
        for ood, kind in product(self.models[one.cell.role]["ood"], ("total", "knowledge")):
            if f"{ood}/{kind}" in said:  # not where experiment 4 does not look
                yield f"auroc_{kind}_{ood}", metrics.auroc(said[f"test/{kind}"], said[f"{ood}/{kind}"])
        total = metrics.entropy(truth["test/predictive"])
        for kind, gain in {"total": total, "knowledge": total - truth["test/entropy"]}.items():
            yield f"ndcg_{kind}", metrics.ndcg(gain, said[f"test/{kind}"])[0]

    def monte_carlo(self, one: Compared, truth: dict[str, np.ndarray]) -> Iterator[tuple[str, float]]:
        """How far the ensemble is known: a lower bound if a block of draws is shorter than the chain's memory."""
        chain = self.models[one.cell.role]["chain"]
        memory = 2 / (chain["step_size"] * chain["prior_precision"])
        blocks = (chain["steps"] - chain["burn_in"]) / 20 / memory
        yield "relaxations_per_block", blocks
        for what in ("predictive", "entropy"):
            name = f"monte_carlo_error_{what}" + ("_at_least" if blocks < 1 else "")
            yield name, metrics.mean(truth[f"test/{what}_error"].ravel().tolist())
