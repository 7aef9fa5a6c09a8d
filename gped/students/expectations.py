"""What is distilled: expectations E[g] over the posterior.

An expectation is a plain function of a reading's log-probabilities, shape (inputs, classes), with the head
that can learn it:

    confidence = Expectation("confidence", lambda log_p: log_p.exp().amax(1), head=Exponential())
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gped.readings import functions
from gped.students.heads import Dirichlet, Exponential, Head, Share, Softmax


@dataclass(frozen=True)
class Expectation:
    """A posterior expectation E[g].

    Args:
        name: What it is called in student files and tables.
        g: From log-probabilities (inputs, classes) to one value, or one value per class, for each input.
        head: How a student expresses it, and the loss that goes with it. An absolute error with U_s, which shows single
            draws, leads to the median of g over the posterior; with U_o, or as a squared error, to its mean.
    """

    name: str
    g: Callable[[Tensor], Tensor]
    head: Head

    def __call__(self, log_probabilities: Tensor) -> Tensor:
        """The values of g, shape (inputs, values)."""
        # A copy, because readings are shared and a g may work in place; its type, so that counts can be averaged.
        values = self.g(log_probabilities.clone()).to(log_probabilities.dtype)
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
