"""What the outputs of a network say: every expectation, and class probabilities or means with their uncertainties."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from torch import Tensor

from gped.students.expectations import entropy, moments, predictive, predictive_and_entropy
from gped.students.heads import Head, entropy_of

Values = TypeVar("Values", Tensor, np.ndarray)
ANSWERS = ("mean", "probabilities", "total", "data", "knowledge")
"""What a prediction has a name of its own for."""


class Output(NamedTuple):
    """A part of a network's outputs.

    Args:
        name: The expectation that it expresses.
        head: How.
        size: How many outputs it takes.
    """

    name: str
    head: Head
    size: int


class Answers(NamedTuple):
    """The same as `Prediction`, as tensors: what is not known is left out of `known`."""

    expectations: dict[str, Tensor]
    known: dict[str, Tensor]


def answers(heads: Sequence[Output], outputs: Tensor) -> Answers:
    """Every expectation by name, and the `ANSWERS` as far as the student was taught them.

    They come from the expectations `predictive` and `entropy`, or from a head that tells more, as a Dirichlet does.
    Only operations that ONNX has.
    """
    said, known, first = dict[str, Tensor](), dict[str, Tensor](), 0
    for name, head, size in heads:
        said[name] = head.predict(outputs[:, first : first + size])
        first += size
    if predictive.name in said:
        known["probabilities"] = said[predictive.name]
    if entropy.name in said:
        known["data"] = said[entropy.name].squeeze(1)
    for name, head, _ in heads:
        known |= head.tells(said[name])
    if "probabilities" in known:
        known["total"] = entropy_of(known["probabilities"])
    if {"total", "data"} <= known.keys():
        known["knowledge"] = known["total"] - known["data"]
    columns = {name: values[:, 0] if values.shape[1] == 1 else values for name, values in said.items()}
    return Answers(columns, {name: known[name] for name in ANSWERS if name in known})


@dataclass(frozen=True)
class Prediction:
    """What a student says of some inputs. What it was not taught is None.

    Args:
        expectations: Each expectation under its name, one row (or number) per input; for EnD², the concentrations.
        mean: Of a regression, the predictive mean of each target.
        probabilities: Class probabilities.
        total: Total uncertainty: the entropy of the probabilities, or the predictive variance.
        data: Data uncertainty: the expected entropy, or the expected variance of the noise.
        knowledge: Knowledge uncertainty, total − data: how far the draws disagree.
        class_names: Of the classes, in the order of the probabilities; empty if the student was told none.
    """

    expectations: dict[str, np.ndarray]
    mean: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    total: np.ndarray | None = None
    data: np.ndarray | None = None
    knowledge: np.ndarray | None = None
    class_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, said: Answers, class_names: tuple[str, ...] = ()) -> "Prediction":
        """The answers as arrays."""
        return cls(
            {name: values.numpy() for name, values in said.expectations.items()},
            **{name: values.numpy() for name, values in said.known.items()},
            class_names=class_names,
        )

    @property
    def known(self) -> dict[str, np.ndarray]:
        """The class probabilities and uncertainties that the student was taught, by name."""
        return {name: values for name in ANSWERS if (values := getattr(self, name)) is not None}

    @property
    def further(self) -> dict[str, np.ndarray]:
        """The expectations that are not among `known` under another name."""
        return further(self.expectations)


def further(expectations: dict[str, Values]) -> dict[str, Values]:
    """Of expectations by name, those that no answer repeats."""
    repeated = (predictive.name, entropy.name, predictive_and_entropy.name, moments.name)
    return {name: values for name, values in expectations.items() if name not in repeated}
