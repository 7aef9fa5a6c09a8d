"""Images that stay in memory, and how their pixels enter a network."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Scaling:
    """Pixels in [0, 1], then standardised per channel: (pixel − mean) / std. The default leaves [0, 1].

    It is stored with every student, because a network means nothing without it.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        if len(self.mean) != len(self.std):
            raise ValueError(f"the scaling has {len(self.mean)} means and {len(self.std)} standard deviations.")
        if any(not value > 0 for value in self.std):
            raise ValueError(f"the scaling's standard deviations {self.std} must all be positive.")

    @classmethod
    def standardising(cls, images: Tensor) -> "Scaling":
        """The scaling that gives these images mean 0 and variance 1 in each channel."""
        images = Inputs(images).images
        axes = [axis for axis in range(images.dim()) if axis != 1]
        total, squares = torch.zeros(2, images.shape[1], dtype=torch.float64)
        for part in images.split(1000):  # in parts, because double precision takes eight times the memory of bytes
            pixels = _unit(part).double()
            total += pixels.sum(axes)
            squares += pixels.square().sum(axes)
        count = images.numel() // images.shape[1]
        mean = total / count
        std = (squares / count - mean.square()).sqrt()
        return cls(tuple(mean.tolist()), tuple(std.tolist()))

    def __call__(self, images: Tensor) -> Tensor:
        """Scale images, bytes or already in [0, 1], with channels as the second dimension."""
        pixels = _unit(images)
        if self == _NONE:
            return pixels
        mean, std = self._like(pixels)
        return (pixels - mean) / std

    def noisy(self, scaled: Tensor, std: float, generator: torch.Generator) -> Tensor:
        """Scaled inputs with Gaussian noise of this standard deviation in pixel units, clamped to [0, 1]."""
        mean, scale = self._like(scaled)
        noise = torch.empty_like(scaled).normal_(generator=generator)
        return ((scaled * scale + mean + std * noise).clamp(0, 1) - mean) / scale

    def _like(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        shape = (-1, *[1] * (pixels.dim() - 2))
        return pixels.new_tensor(self.mean).view(shape), pixels.new_tensor(self.std).view(shape)


_NONE = Scaling()


def _unit(images: Tensor) -> Tensor:
    return images.float().div_(255) if images.dtype == torch.uint8 else images


class Inputs:
    """A set of inputs, kept as they are stored (bytes stay bytes) and scaled when some are taken out.

    Args:
        images: First dimension counts the inputs. Bytes are pixels and become numbers in [0, 1]; a single channel may
            be left out. Floating point numbers, in single precision, enter as they are.
        scaling: What else is done to them.
    """

    def __init__(self, images: Tensor | np.ndarray, scaling: Scaling | None = None) -> None:
        images = torch.as_tensor(images)
        if images.dtype == torch.uint8:
            images = images.unsqueeze(1) if images.dim() == 3 else images
        elif images.is_floating_point():
            images = images.float()
        else:
            raise ValueError(f"inputs are {images.dtype}: convert them to bytes (torch.uint8) or to floating point.")
        if images.dim() < 2 or len(images) == 0:
            raise ValueError(f"inputs have the shape {tuple(images.shape)}: there must be at least one, each an array.")
        if images.is_floating_point() and not (finite := images.flatten(1).isfinite().all(1)).all():
            first = int(finite.int().argmin())
            raise ValueError(f"input {first} has values that are not finite: mend it or leave it out.")
        self.images = images
        self.scaling = scaling or Scaling()
        if len(self.scaling.mean) not in (1, images.shape[1]):
            raise ValueError(
                f"the scaling has {len(self.scaling.mean)} means, but the inputs have {images.shape[1]} channels: "
                "there must be one for each, or one for all."
            )

    @classmethod
    def of(cls, images: "Tensor | np.ndarray | Inputs") -> "Inputs":
        """Plain tensors become inputs without further scaling."""
        return images if isinstance(images, Inputs) else cls(images)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.images.shape[1:])

    @cached_property
    def are_pixels(self) -> bool:
        """Whether they are bytes, or numbers as bytes become: in [0, 1]."""
        return self.images.dtype == torch.uint8 or bool(0 <= self.images.min() <= self.images.max() <= 1)

    @cached_property
    def digest(self) -> str:
        """Changes with any pixel, their order, or the scaling."""
        content = hashlib.sha256(f"{self.images.dtype} {tuple(self.images.shape)} {self.scaling}".encode())
        content.update(self.images.cpu().contiguous().numpy().data)
        return content.hexdigest()

    def to(self, device: torch.device | str) -> "Inputs":
        """The same inputs on another device."""
        return Inputs(self.images.to(device), self.scaling)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, which: Tensor | slice) -> Tensor:
        if isinstance(which, Tensor):  # index_select takes rows of bytes fifteen times faster than indexing
            images = self.images.index_select(0, which.to(self.images.device))
        else:
            images = self.images[which].clone()  # a network that works in place must not change what is kept
        inputs = self.scaling(images)
        if inputs.dim() == 4:  # convolutions are 1.4 to 2.1 times faster on channels-last memory
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return inputs
