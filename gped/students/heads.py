"""How the outputs of a network express an expectation, and the loss that teaches them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn


class Head(Protocol):
    """What a head is: `Softmax`, `Linear`, `Exponential`, `Dirichlet`, `Share`, `Moments`, or a dataclass of your own.

    Its fields are plain values, and are saved with a student under its name.
    """

    name: ClassVar[str]

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """How far outputs (inputs, values) are from targets: summed over values, averaged over inputs."""
        ...

    def predict(self, outputs: Tensor) -> Tensor:
        """Outputs (inputs, values) as predictions of the same shape."""
        ...

    def refusal(self, values: Tensor) -> str | None:
        """What is wrong with values of the expectation that cannot be expressed, such as "negative values"."""
        ...

    def tells(self, predictions: Tensor) -> dict[str, Tensor]:
        """The answers that the predictions hold, by their names in `Prediction`; none if they are not about that."""
        ...


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

    def refusal(self, values: Tensor) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        if values.shape[1] < 2 or values.min() < 0 or not torch.allclose(values.sum(1), torch.ones(len(values))):
            return "values that are not distributions over classes"
        return None

    def tells(self, predictions: Tensor) -> dict[str, Tensor]:
        """Nothing: one distribution does not tell how the draws differ."""
        return {}


Error = Callable[[Tensor, Tensor, Tensor], Tensor]
ERRORS: dict[str, Error] = {
    "absolute": lambda outputs, predictions, targets: (predictions - targets).abs(),
    "squared": lambda outputs, predictions, targets: (predictions - targets).square(),
}
"""How far predictions are from targets, given the outputs z that they are made of."""


@dataclass(frozen=True)
class Linear:
    """Any numbers, learnt by their absolute or squared error."""

    error: str = "absolute"
    name: ClassVar[str] = "linear"
    errors: ClassVar[dict[str, Error]] = ERRORS

    def __post_init__(self) -> None:
        if self.error not in self.errors:
            raise ValueError(
                f"the {self.name} head's error is {self.error!r}: it must be one of {', '.join(self.errors)}."
            )

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The error of the predictions."""
        return self.errors[self.error](outputs, self.predict(outputs), targets).sum(1).mean()

    def predict(self, outputs: Tensor) -> Tensor:
        """The outputs themselves."""
        return outputs

    def refusal(self, values: Tensor) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        return None

    def tells(self, predictions: Tensor) -> dict[str, Tensor]:
        """Nothing: numbers are not about distributions."""
        return {}


@dataclass(frozen=True)
class Exponential(Linear):
    """Numbers that are never negative, as exp(z).

    By default they are learnt by the deviance exp(z) − t z, the generalised Kullback–Leibler divergence from the target
    t but for a constant. Its gradient in z, exp(z) − t, vanishes only at the target, and it is linear in t: with U_s it
    is unbiased for the gradient of the expectation, as cross-entropy is for a softmax. The absolute error, which the
    paper uses for entropies, asks for a median, and its gradient dies with exp(z): where most targets are near zero,
    the student soon says zero everywhere and does not recover.

    Args:
        error: "deviance", "absolute" or "squared".
    """

    error: str = "deviance"
    name: ClassVar[str] = "exponential"
    errors: ClassVar[dict[str, Error]] = ERRORS | {
        "deviance": lambda outputs, predictions, targets: predictions - targets * outputs
    }

    def predict(self, outputs: Tensor) -> Tensor:
        """The exponential of the outputs."""
        return outputs.exp()

    def refusal(self, values: Tensor) -> str | None:
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

    def refusal(self, values: Tensor) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        if values.shape[1] < 2 or not torch.allclose(values.exp().sum(1), torch.ones(len(values))):
            return "values that are not log-probabilities of classes"
        return None

    def tells(self, predictions: Tensor) -> dict[str, Tensor]:
        """Mean and expected entropy of a Dirichlet, in closed form."""
        total = predictions.sum(1, keepdim=True)
        mean = predictions / total
        entropy = -(mean * (_digamma(predictions + 1) - _digamma(total + 1))).sum(1)
        return {"probabilities": mean, "data": entropy}


@dataclass(frozen=True)
class Share:
    """Class probabilities and data uncertainty that add up: data is a share of the total, and never exceeds it.

    The last output z says which share, sigmoid(z), of the entropy of the predicted distribution is the expected
    entropy. The targets are probabilities and, last, entropies. The distribution is learnt by cross-entropy, the share
    by the deviance of the data uncertainty; the total is not differentiated through, so that the share does not bend
    the distribution.
    """

    name: ClassVar[str] = "share"

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of the distributions, and deviance of the data uncertainty."""
        log_q, z = torch.log_softmax(outputs[:, :-1], 1), outputs[:, -1]
        total = -(log_q.exp() * log_q).sum(1).detach()
        deviance = total * z.sigmoid() - targets[:, -1] * nn.functional.logsigmoid(z)
        return (deviance - (targets[:, :-1] * log_q).sum(1)).mean()

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities, and last the data uncertainty."""
        q = torch.softmax(outputs[:, :-1], 1)
        return torch.cat([q, (entropy_of(q) * outputs[:, -1].sigmoid()).unsqueeze(1)], 1)

    def refusal(self, values: Tensor) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        if values[:, -1].min() < 0 or Softmax().refusal(values[:, :-1]):
            return "values that are not distributions over classes with an entropy beside them"
        return None

    def tells(self, predictions: Tensor) -> dict[str, Tensor]:
        """Both, as they are predicted."""
        return {"probabilities": predictions[:, :-1], "data": predictions[:, -1]}


@dataclass(frozen=True)
class Moments:
    """Mean and variance of a regression's target, the variance in two parts that add up and are never negative.

    Of three outputs for each target, the first is the mean m, the second the logarithm of the variance v, and the
    third, z, says which share, sigmoid(z), of it is the noise of the data; the rest is how far the draws disagree. The
    targets are E[μ], E[σ²] and E[μ² + σ²], as `functions.moments` has them. Mean and variance are learnt by the
    cross-entropy of the Gaussian N(m, v) under the draws, which is least at their mean and at their whole variance,
    E[μ² + σ²] − E[μ]²; the share by the deviance of the noise, without differentiating through v. All of it is linear
    in the targets: with U_s it is unbiased, and no difference of two learnt numbers is ever taken.
    """

    name: ClassVar[str] = "moments"

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of the Gaussians but for a constant, and deviance of the noise."""
        mean, log_variance, z = outputs.chunk(3, 1)
        expected, noise, second_moment = targets.chunk(3, 1)
        squares = second_moment - 2 * mean * expected + mean.square()
        cross_entropy = (log_variance + squares * torch.exp(-log_variance)) / 2
        deviance = log_variance.exp().detach() * z.sigmoid() - noise * nn.functional.logsigmoid(z)
        return (cross_entropy + deviance).sum(1).mean()

    def predict(self, outputs: Tensor) -> Tensor:
        """Mean, noise and, in the place of the second moment, the variance, which could not be told from it exactly."""
        mean, log_variance, z = outputs.chunk(3, 1)
        variance = log_variance.exp()
        return torch.cat([mean, variance * z.sigmoid(), variance], 1)

    def refusal(self, values: Tensor) -> str | None:
        """Why these values cannot be expressed; None if they can."""
        if values.shape[1] % 3:
            return "not three values for each target"
        mean, noise, second_moment = values.chunk(3, 1)
        if noise.min() < 0 or (second_moment < (mean.square() + noise) * 0.999).any():
            return "values that are not means, noises and second moments"
        return None

    def tells(self, predictions: Tensor) -> dict[str, Tensor]:
        """Mean, variance, and the part of it that is noise."""
        mean, noise, variance = (part.squeeze(1) if part.shape[1] == 1 else part for part in predictions.chunk(3, 1))
        return {"mean": mean, "total": variance, "data": noise}


def entropy_of(p: Tensor) -> Tensor:
    """−Σ p log p of each row, by operations that ONNX has."""
    return -(p * p.clamp_min(torch.finfo(p.dtype).tiny).log()).sum(1)


def _digamma(x: Tensor) -> Tensor:
    """ψ(x) for x ≥ 1, to the last digits, by operations that ONNX has: its recurrence, then its asymptotic series."""
    steps = sum(1 / (x + k) for k in range(10))
    y = x + 10
    square = 1 / y**2
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return y.log() - 1 / (2 * y) - series - steps


HEADS: dict[str, type[Head]] = {head.name: head for head in (Softmax, Linear, Exponential, Dirichlet, Share, Moments)}


class UnknownError(ValueError):
    """A student file is in order, but of a kind that is not known here."""


def describe(head: Head) -> dict[str, Any]:
    """The head as plain values, for a file."""
    return {"name": head.name, **asdict(head)}  # type: ignore[call-overload]


def from_description(description: dict[str, Any], own: Sequence[type[Head]] = ()) -> Head:
    """The head that was described, one of the library's or of the caller's own."""
    known = HEADS | {head.name: head for head in own}
    options = dict(description)
    name = options.pop("name")
    if name not in known:
        raise UnknownError(f"its head {name!r} is not one of the library's. Pass its class in own_heads")
    return known[name](**options)
