"""What is distilled: expectations E[g] over the posterior, and how they are estimated from single draws.

An expectation is a plain function of a reading's log-probabilities, shape (inputs, classes), with the head
that can learn it:

    confidence = Expectation("confidence", lambda log_p: log_p.exp().amax(1), head=Exponential())
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gped import functions
from gped.checkpoint import State
from gped.heads import Dirichlet, Exponential, Head, Softmax


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
"""The expected entropy E[−Σ p log p], also called expected data uncertainty; never negative."""

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


class Stochastic:
    """U_s: the newest draw alone, ĝ ← g(θ_t). It remembers nothing, so it costs nothing per input."""

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        """The estimate for these inputs, given g under the newest draw."""
        return values

    def state(self) -> State:
        """Nothing; see `Checkpoint`."""
        return {}

    def restore(self, state: State) -> None:
        """Nothing to do."""


class Online:
    """U_o: the running mean over all draws that an input has met, ĝ ← (m ĝ + g(θ_t)) / (m + 1).

    An input drawn twice in one minibatch met one draw, and is counted once.

    Args:
        inputs: Number of inputs in D'. The table of means is what U_o costs.
        device: Where to keep it.
    """

    def __init__(self, inputs: int, device: torch.device | str = "cpu") -> None:
        self.counts = torch.zeros(inputs, dtype=torch.int64, device=device)
        self.means = torch.zeros(inputs, 0, dtype=torch.float64, device=device)

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        """Update the means of these inputs with g under the newest draw, and return them."""
        if not self.means.shape[1]:  # the first values tell how many there are for each input
            self.means = self.means.new_zeros(len(self.counts), values.shape[1])
        counts = self.counts[indices] + 1
        means = self.means[indices]
        # Duplicates write the same count and mean twice, hence once.
        self.counts[indices] = counts
        self.means[indices] = means + (values - means) / counts.unsqueeze(1)
        return self.means[indices].to(values.dtype)

    def state(self) -> State:
        """The table; see `Checkpoint`."""
        return {"counts": self.counts, "means": self.means}

    def restore(self, state: State) -> None:
        """Go on from this table."""
        self.counts, self.means = (state[name].to(self.counts.device) for name in ("counts", "means"))


Estimator = Stochastic | Online


def estimator(name: str, inputs: int, device: torch.device | str = "cpu") -> Estimator:
    """U_s for "us", U_o for "uo", over this many inputs."""
    return Stochastic() if name == "us" else Online(inputs, device)
