"""How the outputs of a network express an expectation, and the loss that teaches them.

Each head turns outputs z of shape (inputs, values) into predictions, and says how far z is from targets of the
same shape: summed over the values of an input, averaged over the inputs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor


@dataclass(frozen=True)
class Softmax:
    """A distribution over the classes, learnt by the cross-entropy ℓ(p, q) = −p log q."""

    name: ClassVar[str] = "softmax"

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of the predicted distributions under the targets."""
        return -(targets * torch.log_softmax(outputs, 1)).sum(1).mean()

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities."""
        return torch.softmax(outputs, 1)

    def refusal(self, values: Tensor, classes: int) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        if values.shape[1] != classes or values.min() < 0 or not torch.allclose(values.sum(1), torch.ones(len(values))):
            return f"values that are not distributions over the {classes} classes"
        return None


@dataclass(frozen=True)
class Linear:
    """Any numbers, learnt by their absolute or squared error."""

    error: str = "absolute"
    name: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        if self.error not in ("absolute", "squared"):
            raise ValueError(f"the {self.name} head's error is {self.error!r}: it must be 'absolute' or 'squared'.")

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Absolute or squared error of the predictions."""
        difference = self.predict(outputs) - targets
        return (difference.abs() if self.error == "absolute" else difference.square()).sum(1).mean()

    def predict(self, outputs: Tensor) -> Tensor:
        """The outputs themselves."""
        return outputs

    def refusal(self, values: Tensor, classes: int) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        return None


@dataclass(frozen=True)
class Exponential(Linear):
    """Numbers that are never negative, as exp(z), learnt by their absolute or squared error."""

    name: ClassVar[str] = "exponential"

    def predict(self, outputs: Tensor) -> Tensor:
        """The exponential of the outputs."""
        return outputs.exp()

    def refusal(self, values: Tensor, classes: int) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        return "negative values" if values.min() < 0 else None


@dataclass(frozen=True)
class Dirichlet:
    """A Dirichlet distribution over class distributions, learnt by its log-likelihood (EnD²).

    The targets are log-probabilities, or their averages: the log-likelihood is linear in them.

    Args:
        temperature: Training uses the concentrations exp(z / temperature).
        prediction_temperature: Prediction uses the concentrations exp(z / prediction_temperature).
    """

    temperature: float = 2.5
    prediction_temperature: float = 1.0
    name: ClassVar[str] = "dirichlet"

    def __post_init__(self) -> None:
        for what, value in asdict(self).items():
            if not value > 0:
                raise ValueError(f"the dirichlet head's {what} is {value}: it must be positive.")

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Negative log-likelihood, in double precision: concentrations span many orders of magnitude."""
        alpha = (outputs.double() / self.temperature).exp()
        log_normaliser = torch.lgamma(alpha).sum(1) - torch.lgamma(alpha.sum(1))
        return (log_normaliser - ((alpha - 1) * targets).sum(1)).mean()

    def predict(self, outputs: Tensor) -> Tensor:
        """Concentrations."""
        return (outputs / self.prediction_temperature).exp()

    def refusal(self, values: Tensor, classes: int) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        if values.shape[1] != classes or not torch.allclose(values.exp().sum(1), torch.ones(len(values))):
            return f"values that are not log-probabilities of the {classes} classes"
        return None


Head = Softmax | Linear | Exponential | Dirichlet

HEADS: dict[str, type[Head]] = {head.name: head for head in (Softmax, Linear, Exponential, Dirichlet)}


class UnknownError(ValueError):
    """A student file is in order, but of a kind that is not known here."""


def describe(head: Head) -> dict[str, Any]:
    """The head as plain values, for a file."""
    return {"name": head.name, **asdict(head)}


def from_description(description: dict[str, Any], own: Sequence[type[Head]] = ()) -> Head:
    """The head that was described, one of the library's or of the caller's own."""
    known = HEADS | {head.name: head for head in own}
    options = dict(description)
    name = options.pop("name")
    if name not in known:
        raise UnknownError(f"its head {name!r} is not one of the library's. Pass its class in own_heads")
    return known[name](**options)
