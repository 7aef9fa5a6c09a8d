"""What a sampler of θ is: a rule that moves the parameters, given a gradient and noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from gped.checkpoint import State
from gped.checks import real
from gped.native import NativeGenerator

StepSize = Callable[[int], float]
Generator = torch.Generator | NativeGenerator


class Noise:
    """Standard normal numbers in the shapes of the parameters, drawn as one vector and in memory that is used again.

    Args:
        parameters: Whose shapes they have.
        generator: Where they come from.
    """

    def __init__(self, parameters: Sequence[Tensor], generator: Generator) -> None:
        self.generator = generator
        self._vector, self._parts = flat(parameters)

    def __call__(self) -> list[Tensor]:
        """New numbers, in the place of the last."""
        if isinstance(self.generator, NativeGenerator):
            self.generator.normal_(self._vector)
        else:
            self._vector.normal_(generator=self.generator)
        return self._parts

    def move(
        self, values: Sequence[Tensor], keep: float, slopes: Sequence[Tensor], rate: float, deviation: float
    ) -> None:
        """values ← keep · values + rate · slopes + deviation · noise, in place: the step that samplers are made of.

        Native noise does it in one pass over the memory, with other numbers than a call would give.
        """
        if isinstance(self.generator, NativeGenerator):
            for value, slope in zip(values, slopes, strict=True):
                self.generator.move_(value, keep, slope, rate, deviation)
        else:
            for value, slope, z in zip(values, slopes, self(), strict=True):
                value.mul_(keep).add_(slope, alpha=rate).add_(z, alpha=deviation)


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


def flat(parameters: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """One empty vector with room for all parameters, and a view of it in the shape of each.

    Filters are laid out channels-last, the order in which convolutions are fastest.
    """
    first = parameters[0]
    vector = torch.empty(sum(p.numel() for p in parameters), dtype=first.dtype, device=first.device)
    views = []
    for parameter, part in zip(parameters, vector.split([p.numel() for p in parameters]), strict=True):
        if parameter.dim() == 4:
            out, depth, height, width = parameter.shape
            views.append(part.view(out, height, width, depth).permute(0, 3, 1, 2))
        else:
            views.append(part.view(parameter.shape))
    return vector, views
