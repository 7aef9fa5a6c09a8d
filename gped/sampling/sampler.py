"""What a sampler of θ is: a rule that moves the parameters, given a gradient and noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from gped.sampling.noise import Noise
from gped.support.checkpoint import State
from gped.support.checks import real

StepSize = Callable[[int], float]


class Sampler(Protocol):
    """The update rule of a chain: `gped.SGLD`, `gped.SGHMC`, or your own."""

    step_size: StepSize

    def update(self, theta: Sequence[Tensor], gradient: Sequence[Tensor], t: int, noise: Noise) -> None:
        """Move θ in place.

        Args:
            theta: The parameters, one tensor for each.
            gradient: Of the log-likelihood of all the data, as estimated from a minibatch.
            t: Number of this step, from 1.
            noise: `noise()` gives standard normal numbers, one tensor for each parameter.
        """
        ...

    def state(self) -> State:
        """What a step leaves behind for the next, besides θ; see `Checkpoint`."""
        ...

    def restore(self, state: State) -> None:
        """Go on from there."""
        ...


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


def step_sizes(step_size: float | StepSize) -> StepSize:
    """A constant step size as a function of t; functions stay what they are."""
    if callable(step_size):
        return step_size
    constant = real("the step size", step_size, above=True)
    return lambda t: constant
