"""The functions g of what a draw says, whose posterior expectations are distilled.

Of a classifier's draw they get log-probabilities (inputs, classes); of a regression's, its means and then the
logarithms of its variances, (inputs, 2 × targets).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gped.support.checks import real, share


def values_of(name: str, g: Callable[[Tensor], Tensor], said: Tensor) -> Tensor:
    """g of what a draw says; a sentence if that is no tensor.

    Args:
        name: Of the expectation.
        g: Gets a copy, because what is said is shared and a function may work in place.
        said: One row for each input.
    """
    values = g(said.clone())
    if not isinstance(values, Tensor):
        raise ValueError(
            f"the function of the expectation {name!r} gives a {type(values).__name__}: it must give a tensor, of one "
            "value or one row of values for each input. For the greatest of a row use .amax(1), because .max(1) gives "
            "two things."
        )
    return values


def itself(said: Tensor) -> Tensor:
    """What is said, as it is."""
    return said


# Of a classifier


def probabilities(log_p: Tensor) -> Tensor:
    """p, whose expectation is the posterior predictive distribution."""
    return log_p.exp()


def entropy(log_p: Tensor) -> Tensor:
    """−Σ p log p, whose expectation is the expected data uncertainty."""
    return -(log_p.exp() * log_p).sum(1)


def variance(log_p: Tensor) -> Tensor:
    """p(1 − p), the variance of each class's indicator under the draw."""
    p = log_p.exp()
    return p * (1 - p)


@dataclass(frozen=True)
class LogPredictive:
    """log π for tempered and smoothed probabilities π = (1 − ε) softmax(log p / τ) + ε/C."""

    temperature: float
    smoothing: float

    def __post_init__(self) -> None:
        real("the temperature of log_predictive", self.temperature, above=True)
        real("the smoothing of log_predictive", self.smoothing, above=True)
        share("the smoothing of log_predictive", self.smoothing)

    def __call__(self, log_p: Tensor) -> Tensor:
        """The values for some inputs."""
        tempered = torch.softmax(log_p / self.temperature, 1)
        return torch.log((1 - self.smoothing) * tempered + self.smoothing / log_p.shape[1])


# Of a regression


def mean(said: Tensor) -> Tensor:
    """μ, whose expectation is the predictive mean."""
    return said.chunk(2, 1)[0]


def noise(said: Tensor) -> Tensor:
    """σ², the noise of the targets under the draw; its expectation is the data's part of the predictive variance."""
    return said.chunk(2, 1)[1].exp()


def second_moment(said: Tensor) -> Tensor:
    """E[y²] = μ² + σ² under the draw. The predictive variance is the expectation of this minus E[μ]²."""
    return mean(said).square() + noise(said)


def moments(said: Tensor) -> Tensor:
    """All three, one after the other: μ, σ², μ² + σ²."""
    return torch.cat([mean(said), noise(said), second_moment(said)], 1)
