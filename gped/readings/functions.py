"""The paper's functions g of a draw's log-probabilities, whose posterior expectations are distilled."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gped.support.checks import real, share


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
