"""Stochastic gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin, 2014): Langevin dynamics with a memory."""

from collections.abc import Sequence
from math import sqrt

import torch
from torch import Tensor

from gped.sampling.sampler import Noise, StepSize, step_sizes
from gped.support.checkpoint import State
from gped.support.checks import real


class SGHMC:
    """One step of the chain, with a spherical Gaussian prior N(0, 1/τ) and a velocity v of θ.

        v_t = (1 − α) v_{t−1} + η_t/2 (∇ log p(θ) + N/|S| Σ_{i∈S} ∇ log p(y_i|x_i, θ)) + z_t,   z_t ~ N(0, α η_t I)
        θ_t = θ_{t−1} + v_t

    With friction 1 it forgets its velocity at once and is SGLD of the same step size. With less it moves about as far
    in a step as SGLD with the step size η/α.

    Args:
        step_size: η, a constant or a function of t such as `PolynomialDecay`.
        prior_precision: τ.
        friction: α, the part of the velocity that is lost in a step.
    """

    def __init__(self, step_size: float | StepSize, prior_precision: float = 10.0, friction: float = 0.1) -> None:
        self.step_size = step_sizes(step_size)
        self.prior_precision = real("the prior precision", prior_precision)
        self.friction = real("the friction", friction, above=True)
        if friction > 1:
            raise ValueError(f"the friction is {friction}: it must be above 0 and at most 1.")
        self._velocity: list[Tensor] = []
        self._restored: list[Tensor] = []

    def update(self, theta: Sequence[Tensor], gradient: Sequence[Tensor], t: int, noise: Noise) -> None:
        """Move θ in place; see `Sampler`."""
        eta = self.step_size(t)
        if not self._velocity:
            self._velocity = [torch.zeros_like(parameter) for parameter in theta]
            for velocity, restored in zip(self._velocity, self._restored, strict=False):
                velocity.copy_(restored)  # into the memory layout and onto the device of θ
        noise.move(self._velocity, 1 - self.friction, gradient, eta / 2, sqrt(self.friction * eta))
        for parameter, velocity in zip(theta, self._velocity, strict=True):
            velocity.add_(parameter, alpha=-eta / 2 * self.prior_precision)
            parameter.add_(velocity)

    def state(self) -> State:
        """The velocity; see `Checkpoint`."""
        return {"velocity": self._velocity or self._restored}

    def restore(self, state: State) -> None:
        """Go on from a velocity."""
        self._velocity, self._restored = [], [velocity.clone() for velocity in state["velocity"]]
