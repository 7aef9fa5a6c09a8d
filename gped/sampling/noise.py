"""Where a sampler's noise comes from: torch, or a compiled kernel."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gped.sampling.native import NativeGenerator
from gped.support.memory import flat
from gped.support.randomness import stream


class Noise:
    """Standard normal numbers in the shapes of the parameters, drawn as one vector and in memory that is used again.

    Args:
        parameters: Whose shapes they have.
        generator: Where they come from.
    """

    def __init__(self, parameters: Sequence[Tensor], generator: torch.Generator) -> None:
        self.generator: Any = generator
        self._vector, self._parts = flat(parameters)

    def __call__(self) -> list[Tensor]:
        """New numbers, one tensor for each parameter, in the place of the last."""
        self._vector.normal_(generator=self.generator)
        return self._parts

    def move(
        self, values: Sequence[Tensor], keep: float, slopes: Sequence[Tensor], rate: float, deviation: float
    ) -> None:
        """values ← keep · values + rate · slopes + deviation · noise, in place: the step that samplers are made of."""
        for value, slope, z in zip(values, slopes, self(), strict=True):
            value.mul_(keep).add_(slope, alpha=rate).add_(z, alpha=deviation)


class NativeNoise(Noise):
    """The same from the compiled kernel, which moves values in one pass, with other numbers than a call would give."""

    def __init__(self, parameters: Sequence[Tensor], generator: NativeGenerator) -> None:
        self.generator = generator
        self._vector, self._parts = flat(parameters)

    def __call__(self) -> list[Tensor]:
        """New numbers; see `Noise`."""
        self.generator.normal_(self._vector)
        return self._parts

    def move(
        self, values: Sequence[Tensor], keep: float, slopes: Sequence[Tensor], rate: float, deviation: float
    ) -> None:
        """Move the values; see `Noise`."""
        for value, slope in zip(values, slopes, strict=True):
            self.generator.move_(value, keep, slope, rate, deviation)


def noise_from(source: str, parameters: Sequence[Tensor], seed: int, device: torch.device) -> Noise:
    """The noise of a chain: from "torch", or from the "native" kernel."""
    if source == "torch":
        return Noise(parameters, stream(seed, "noise", device))
    if source == "native":
        if device.type != "cpu":
            raise ValueError(f"noise is 'native', which is for the CPU, but the device is {device}. Use noise='torch'.")
        return NativeNoise(parameters, NativeGenerator(f"{seed}/noise"))
    raise ValueError(f"noise is {source!r}: it must be 'torch' or 'native'.")
