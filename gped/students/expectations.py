"""What is distilled: expectations E[g] over the posterior.

An expectation is a plain function of what a draw says, for a classifier log-probabilities of shape (inputs, classes),
with the head that can learn it:

    confidence = Expectation("confidence", lambda log_p: log_p.exp().amax(1), head=Exponential())
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gped.readings import functions
from gped.students.heads import Dirichlet, Exponential, Head, Moments, Share, Softmax


@dataclass(frozen=True)
class Expectation:
    """A posterior expectation E[g].

    Args:
        name: What it is called in student files and tables.
        g: From what a draw says, one row for each input, to one value or one row of values for each input.
        head: How a student expresses it, and the loss that goes with it. An absolute error with U_s, which shows single
            draws, leads to the median of g over the posterior; with U_o, or as a squared error, to its mean.
    """

    name: str
    g: Callable[[Tensor], Tensor]
    head: Head

    def __call__(self, said: Tensor) -> Tensor:
        """The values of g, shape (inputs, values)."""
        values = functions.values_of(self.name, self.g, said).to(said.dtype)  # so that counts can be averaged
        return values.unsqueeze(1) if values.dim() == 1 else values


predictive = Expectation("predictive", functions.probabilities, head=Softmax())
"""The posterior predictive distribution E[p(y|x, θ)]."""

entropy = Expectation("entropy", functions.entropy, head=Exponential())
"""The expected entropy E[−Σ p log p], also called expected data uncertainty; never negative.

The paper learns it by the absolute error, `entropy_by("absolute")`.
"""


def entropy_by(error: str) -> Expectation:
    """The expected entropy, learnt by another error: "absolute", "squared" or "deviance"."""
    return replace(entropy, head=Exponential(error))


def _both(log_p: Tensor) -> Tensor:
    """p and, last, −Σ p log p."""
    return torch.cat([functions.probabilities(log_p), functions.entropy(log_p).unsqueeze(1)], 1)


predictive_and_entropy = Expectation("predictive_and_entropy", _both, head=Share())
"""Both at once, such that the expected entropy never exceeds the entropy of the predictive distribution."""

variance = Expectation("variance", functions.variance, head=Exponential())
"""E[p(1 − p)], which the paper calls the posterior marginal variance.

It is the expected variance of the class indicator under a draw, not the posterior variance of p, which is
E[p²] − E[p]².
"""


def log_predictive(temperature: float = 2.5, smoothing: float = 1e-3) -> Expectation:
    """E[log π] for tempered and smoothed probabilities π, as EnD² distils it.

    The smoothing keeps log π finite where a draw gives a class no probability. The head is a Dirichlet trained at the
    same temperature.
    """
    return Expectation("log_predictive", functions.LogPredictive(temperature, smoothing), head=Dirichlet(temperature))


moments = Expectation("moments", functions.moments, head=Moments())
"""Of a regression: E[μ], E[σ²] and E[μ² + σ²], and so the predictive mean and both parts of the predictive variance.

A student says the variance, E[μ² + σ²] − E[μ]², in the place of the last.
"""
