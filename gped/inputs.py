"""Images that stay in memory, and how their pixels enter a network."""

from dataclasses import dataclass

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
        if len(self.mean) != len(self.std):
            raise ValueError(f"the scaling has {len(self.mean)} means and {len(self.std)} standard deviations.")
        if any(not value > 0 for value in self.std):
            raise ValueError(f"the scaling's standard deviations {self.std} must all be positive.")

    @classmethod
    def standardising(cls, images: Tensor) -> "Scaling":
        """The scaling that gives these images mean 0 and variance 1 in each channel."""
        pixels = _unit(images, torch.float64).movedim(1, 0).flatten(1)
        return cls(tuple(pixels.mean(1).tolist()), tuple(pixels.std(1, correction=0).tolist()))

    def __call__(self, images: Tensor) -> Tensor:
        """Scale images, bytes or already in [0, 1], with channels as the second dimension."""
        pixels = _unit(images)
        if self == Scaling():
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


def _unit(images: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    if images.dtype == torch.uint8:
        return images.to(dtype).div_(255)
    return images if images.is_floating_point() else images.to(dtype)


class Inputs:
    """A set of inputs, kept as they are stored (bytes stay bytes) and scaled when some are taken out.

    Args:
        images: First dimension counts the inputs. Bytes are images; floating point numbers enter as they are
            apart from the scaling.
        scaling: How pixels enter the network.
    """

    def __init__(self, images: Tensor, scaling: Scaling | None = None) -> None:
        if len(images) == 0:
            raise ValueError("there are no inputs: the first dimension of the images is 0.")
        self.images = images
        self.scaling = scaling or Scaling()

    @classmethod
    def of(cls, images: "Tensor | Inputs") -> "Inputs":
        """Plain tensors become inputs without further scaling."""
        return images if isinstance(images, Inputs) else cls(images)

    def to(self, device: torch.device | str) -> "Inputs":
        """The same inputs on another device."""
        return Inputs(self.images.to(device), self.scaling)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, which: Tensor | slice) -> Tensor:
        inputs = self.scaling(self.images[which])
        if inputs.dim() == 4:  # convolutions are 1.4 to 2.1 times faster on channels-last memory
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return inputs
