"""Stochastic gradient Langevin dynamics (Welling and Teh, 2011), the paper's sampler."""

from collections.abc import Sequence
from math import sqrt

from torch import Tensor

from gped.sampling.sampler import Noise, StepSize, step_sizes
from gped.support.checkpoint import State
from gped.support.checks import real


class SGLD:
    """One step of the chain, with a spherical Gaussian prior N(0, 1/τ).

        θ_t = θ_{t−1} + η_t/2 (∇ log p(θ) + N/|S| Σ_{i∈S} ∇ log p(y_i|x_i, θ)) + z_t,   z_t ~ N(0, η_t I)

    Args:
        step_size: η, a constant as in the paper, or a function of t such as `PolynomialDecay`.
        prior_precision: τ.
    """

    def __init__(self, step_size: float | StepSize, prior_precision: float = 10.0) -> None:
        self.step_size = step_sizes(step_size)
        self.prior_precision = real("the prior precision", prior_precision)

    def update(self, theta: Sequence[Tensor], gradient: Sequence[Tensor], t: int, noise: Noise) -> None:
        """Move θ in place; see `Sampler`."""
        eta = self.step_size(t)
        decay = 1 - eta / 2 * self.prior_precision  # the prior's gradient −τθ needs no place in the loss
        noise.move(theta, decay, gradient, eta / 2, sqrt(eta))

    def state(self) -> State:
        """What a step leaves behind for the next, besides θ: nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Nothing to do: a step of SGLD depends on θ alone."""
