"""Stochastic gradient Langevin dynamics (Welling and Teh, 2011), the paper's sampler."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from gped.checkpoint import State
from gped.checks import real
from gped.randomness import Generator, normal_

StepSize = Callable[[int], float]


@dataclass(frozen=True)
class PolynomialDecay:
    """η_t = scale · (offset + t)^(−power), the decreasing step sizes under which SGLD is exact in the limit."""

    scale: float
    offset: float = 1.0
    power: float = 0.55

    def __post_init__(self) -> None:
        real("the scale of the step sizes", self.scale, above=True)
        real("the offset of the step sizes", self.offset)
        real("the power of the step sizes", self.power, above=True)

    def __call__(self, t: int) -> float:
        """The step size of step t, counted from 1."""
        return self.scale * (self.offset + t) ** -self.power


class SGLD:
    """One step of the chain, with a spherical Gaussian prior N(0, 1/τ).

        θ_t = θ_{t−1} + η_t/2 (∇ log p(θ) + N/|S| Σ_{i∈S} ∇ log p(y_i|x_i, θ)) + z_t,   z_t ~ N(0, η_t I)

    Args:
        step_size: η, a constant as in the paper, or a function of t such as `PolynomialDecay`.
        prior_precision: τ.
    """

    def __init__(self, step_size: float | StepSize, prior_precision: float = 10.0) -> None:
        if callable(step_size):
            self.step_size = step_size
        else:
            constant = real("the step size", step_size, above=True)
            self.step_size = lambda t: constant
        self.prior_precision = real("the prior precision", prior_precision)
        self._noise = torch.empty(0)

    def update(self, theta: Tensor, gradient: Tensor, t: int, generator: Generator) -> None:
        """Move θ in place.

        Args:
            theta: All parameters, as one vector.
            gradient: Of the log-likelihood of all the data, as estimated from a minibatch.
            t: Number of this step, from 1.
            generator: Source of the noise.
        """
        eta = self.step_size(t)
        if self._noise.shape != theta.shape or self._noise.device != theta.device or self._noise.dtype != theta.dtype:
            self._noise = torch.empty_like(theta)
        # The prior's gradient −τθ is a decay of θ: it needs no place in the loss.
        theta.mul_(1 - eta / 2 * self.prior_precision)
        theta.add_(gradient, alpha=eta / 2)
        theta.add_(normal_(self._noise, generator), alpha=sqrt(eta))

    def state(self) -> State:
        """What a step leaves behind for the next, besides θ: nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Nothing to do: a step of SGLD depends on θ alone."""
